//! A flow out of a large set of files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use store::index::index_path;
use tapline_lab::tool;

use crate::harness::{Column, Report, column};
use crate::{Used, length, trace};

/// Files of the set.
const FILES: usize = 1000;

/// Files of the set whose indexes are links, too.
const MANY_FILES: usize = 10_000;

/// Files that the others are names of, and the one with the flow.
const GENERATED: u8 = 16;

const FILE_BYTES: u64 = 100_000_000;

/// The flow, in the middle of its file.
const FLOW: u64 = 9000;

/// Files that programs without an index read.
const READ_FILES: usize = 10;

/// Most of the set that a search may read, of the space that indexes may take, and seconds.
const READ_MOST: f64 = 0.01;
const INDEX_MOST: f64 = 0.0025;
const SECONDS_MOST: f64 = 2.0;

const TITLE: &str = "Packets of one flow, from files in the page cache";

const COLUMNS: [Column; 4] = [
    column("wall, s", 1.0, 3),
    column("CPU, s", 1.0, 3),
    column("read, % of the files", 1e-2, 3),
    column("wall, s/TB", 1.0, 1),
];

const SHARES: [Column; 1] = [column("index, % of the files", 1e-2, 3)];

/// A set of files of a folder.
struct Set {
    folder: PathBuf,
    files: Vec<String>,
    bytes: u64,
}

pub fn measure(tapline: &Path, folder: &Path, report: &mut Report) {
    let folder = folder.join("set");
    fs::create_dir(&folder).expect("a folder");
    for file in 0..=GENERATED {
        trace::write(&base(&folder, file), file, trace::MIXED, FILE_BYTES);
    }
    let needle = base(&folder, GENERATED);
    assert!(trace::has_right_index(&needle));
    let set = Set::linked(&folder, "a", FILES, false);
    let many = Set::linked(&folder, "b", MANY_FILES, true);
    let flow = trace::flow(GENERATED, FLOW);
    let filter = trace::filter(&flow);
    let host = format!("host {}", flow.source);
    let expected = expected(&needle, &filter);
    report.note(format!(
        "The files have {FILE_BYTES} bytes, frames of 523 bytes on average and 500 TCP connections at a time, of 10 packets each. The searched connection has \
         {expected} packets. The {FILES} files are names (hard links) of {} files, each with a copy of the index; those of the {MANY_FILES} files share the indexes",
        GENERATED + 1
    ));
    report.note(
        "Read is `rchar` of `/proc/PID/io`: what the program asked the kernel for, with the indexes and its libraries",
    );
    let part = Set::part(&set, READ_FILES);
    let one = Set::part(&set, 1);
    for _ in report.rounds("search") {
        let mut add = |name: &str, set: &Set, command: Command| {
            let used = Used::by(command);
            let bytes = set.bytes as f64;
            let figures = [
                used.wall_s,
                used.cpu_s,
                used.read_bytes / bytes,
                used.wall_s / bytes * 1e12,
            ];
            report.table(TITLE, &COLUMNS).add(name, &figures);
            used
        };
        let by_index = |set: &Set, filter: &str| {
            let mut command = set.at(tapline);
            command.args(["read", "--index", "--json", "-w", "/dev/null"]);
            command.args(&set.files).arg(filter);
            command
        };
        for (name, set, filter) in [
            (&*own(FILES), &set, &*filter),
            (&*own(MANY_FILES), &many, &*filter),
            ("tapline read --index, its client, 1000 files", &set, &*host),
        ] {
            let used = add(name, set, by_index(set, filter));
            let summary = used.text.lines().last().expect("a summary");
            let summary: serde_json::Value = serde_json::from_str(summary).expect("JSON");
            assert_eq!(summary["delivered"], expected, "{summary}");
        }
        let mut whole = part.at(tapline);
        whole.args(["read", "-q", "-w", "/dev/null"]);
        whole.args(&part.files).arg(&filter);
        add("tapline read without an index, 10 files", &part, whole);
        let list = part.folder.join("list");
        fs::write(&list, part.files.join("\n") + "\n").expect("a list");
        let mut tcpdump = part.at(&tool::path("tcpdump"));
        tcpdump
            .args(["-Z", "root", "-w", "/dev/null", "-V"])
            .arg(&list)
            .arg(&filter);
        add("tcpdump -V, 10 files", &part, tcpdump);
        let mut tshark = one.at(&tool::path("tshark"));
        let display = format!(
            "ip.addr == {} && tcp.port == {}",
            flow.source, flow.ports[0]
        );
        tshark
            .args(["-n", "-Q", "-w", "/dev/null", "-Y", &display, "-r"])
            .args(&one.files);
        add("tshark -Y, 1 file", &one, tshark);
    }
    let short = folder.join("short.pcapng");
    trace::write(&short, 0, trace::SHORT, FILE_BYTES);
    assert!(trace::has_right_index(&short));
    targets(&set, &short, report);
    fs::remove_dir_all(&folder).expect("removed");
}

fn own(files: usize) -> String {
    format!("tapline read --index, {files} files")
}

fn targets(set: &Set, short: &Path, report: &mut Report) {
    let index_bytes: u64 = set.paths().map(|path| length(&index_path(&path))).sum();
    let shares = [
        (
            "1000 files, frames of 523 bytes on average",
            index_bytes as f64 / set.bytes as f64,
        ),
        (
            "a file, frames of 66 bytes, 50 000 flows at a time",
            length(&index_path(short)) as f64 / length(short) as f64,
        ),
    ];
    for (files, share) in shares {
        report
            .table("Space of the indexes", &SHARES)
            .add(files, &[share]);
    }
    for files in [FILES, MANY_FILES] {
        let of = |head: &str| report.of(TITLE, &own(files), head);
        let (read, wall) = (of("read, % of the files"), of("wall, s"));
        let shares: Vec<f64> = read.iter().map(|share| share / READ_MOST).collect();
        let what = format!("Read of {files} files for a flow / 1 %");
        report.at_most(&what, &shares, 1.0);
        let what = format!("Seconds to find a flow in {files} files");
        report.at_most(&what, &wall, SECONDS_MOST);
    }
    for (files, share) in shares {
        let what = format!("Space of the indexes of {files} / 0.25 %");
        report.at_most(&what, &[share / INDEX_MOST], 1.0);
    }
}

fn base(folder: &Path, number: u8) -> PathBuf {
    folder.join(format!("base-{number:02}.pcapng"))
}

/// Packets that tcpdump selects.
fn expected(file: &Path, filter: &str) -> u64 {
    let mut command = Command::new(tool::path("tcpdump"));
    command.args(["-n", "--count", "-r"]).arg(file).arg(filter);
    let said = crate::harness::succeed(&mut command);
    let said = String::from_utf8_lossy(&said).into_owned();
    let count = said.split(' ').next().and_then(|count| count.parse().ok());
    let count = count.expect("a count");
    assert!(count > 0, "{filter}");
    count
}

impl Set {
    /// `count` names of the generated files; the file with the flow has one.
    fn linked(folder: &Path, prefix: &str, count: usize, links_indexes: bool) -> Self {
        let mut files = Vec::new();
        let mut bytes = 0;
        for number in 0..count {
            let source = if number == count / 2 {
                base(folder, GENERATED)
            } else {
                base(folder, (number % usize::from(GENERATED)) as u8)
            };
            let name = format!("{prefix}{number:05}.pcapng");
            let path = folder.join(&name);
            fs::hard_link(&source, &path).expect("a file system with links");
            let [from, to] = [&source, &path].map(|path| index_path(path));
            if links_indexes {
                fs::hard_link(from, to).expect("a file system with links");
            } else {
                fs::copy(from, to).expect("room for the indexes");
            }
            bytes += length(&path);
            files.push(name);
        }
        Self {
            folder: folder.to_owned(),
            files,
            bytes,
        }
    }

    /// The middle `count` files.
    fn part(&self, count: usize) -> Self {
        let first = self.files.len() / 2;
        let files = self.files[first..first + count].to_vec();
        let lengths = files.iter().map(|name| length(&self.folder.join(name)));
        Self {
            folder: self.folder.clone(),
            bytes: lengths.sum(),
            files,
        }
    }

    fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.files.iter().map(|name| self.folder.join(name))
    }

    /// A program in the folder.
    fn at(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder);
        command
    }
}
