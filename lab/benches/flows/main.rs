//! Cost of flows, and of packets as columns: compares `tapline flows` with nfpcapd, softflowd, pmacctd and argus in one run.
//!
//! `cargo bench -p tapline-lab --bench flows -- [--rounds N | --quick] [--only flows|live|columns] [--tapline FILE]...` requires a release
//! build of tapline, the peers that `tools/flow-peers.sh target/flow-peers` unpacks, 1 GB in /dev/shm, and an otherwise idle machine.
//!
//! Each program reads the same capture file: 100 000 flows in turn, whose times are those of 1 Mpps. The file is in memory. Each
//! writes or sends its flows as it does by itself: nfpcapd and argus to a file of their own format, pmacctd as CSV, softflowd by
//! NetFlow to a port where nobody listens. A run is measured from the start of the process to its exit, which has a time limit. Then
//! each reads from an interface, into which `tapline send` sends as many flows at 1 Mpps; beside them is what a table of sums in the
//! kernel takes.

#![forbid(unsafe_code)]

#[path = "../harness/mod.rs"]
mod harness;
mod kernel_table;
mod live;

use std::env::consts::ARCH;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use harness::{BenchOptions, Column, Report, Running, column, ratios, repository};
use store::read::Reader as CaptureReader;
use tapline_lab::{Host, Net};

const PACKETS: u64 = 2_000_000;
const FLOWS: u64 = 100_000;

/// Packets of 1000 bytes that are written as columns, through a pipe: 10 GB.
const LARGE_PACKETS: u64 = 10_000_000;

/// Packets of 64 bytes: with their headers in the file, almost 10 GB. Each takes a row, whatever its size, and the metadata of rows stays
/// in memory until the file is complete.
const SHORT_PACKETS: u64 = 100_000_000;

/// How long a program may take for them.
const LONGEST: Duration = Duration::from_mins(10);

/// What memory columns may take.
const MOST_BYTES: f64 = (512 << 20) as f64;

const FLOW_COLUMNS: [Column; 3] = [
    column("CPU, ns/packet", 1e-9, 0),
    column("wall, ms", 1e-3, 0),
    column("memory, MiB", (1 << 20) as f64, 1),
];

const ROW_COLUMNS: [Column; 3] = [
    column("M rows/s of CPU time", 1e6, 2),
    column("M rows/s", 1e6, 2),
    column("memory, MiB", (1 << 20) as f64, 1),
];

/// Titles of the tables.
const FLOW_TITLE: &str = "Flows of a file";
const ROW_TITLE: &str = "Headers of packets to Parquet";

fn main() -> ExitCode {
    harness::run(5, &["flows", "live", "columns"], measure)
}

fn measure(options: &BenchOptions, report: &mut Report) {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in /dev/shm");
    let [host, _] = Net::new().pair();
    let trace = write_trace(&options.tapline()[0], folder.path());
    let bench = Bench {
        host,
        folder: folder.path().to_owned(),
        trace,
        own: options.tapline(),
    };
    if options.has("flows") {
        bench.flows(report);
    }
    if options.has("live") {
        live::measure(&bench, report);
    }
    if options.has("columns") {
        bench.columns(report, !options.quick);
    }
}

/// What `tapline send` sends: packets of all flows in turn.
fn generated(packets: u64, bytes: u64) -> String {
    format!(
        "--udp --src 10.1.0.1-10.1.255.254 --sport 1024-60000 --dst 10.9.0.1 --dport 443 --flows {FLOWS} -c {packets} --size {bytes} --rate 1Mpps"
    )
}

/// The trace, with the generator of `tapline`: libpcap's own format, which all peers read.
fn write_trace(tapline: &Path, folder: &Path) -> PathBuf {
    let [whole, trace] = ["trace.pcapng", "trace.pcap"].map(|name| folder.join(name));
    let run = |words: String, path: &Path| {
        let mut command = Command::new(tapline);
        command.args(words.split(' ')).arg(path);
        let output = command.output().expect("it starts");
        assert!(output.status.success(), "{output:?}");
    };
    run(format!("send {} -w", generated(PACKETS, 64)), &whole);
    run(format!("read -q {} -w", whole.display()), &trace);
    fs::remove_file(whole).expect("it was written");
    trace
}

struct Bench {
    host: Host,
    folder: PathBuf,
    trace: PathBuf,
    own: Vec<PathBuf>,
}

/// A program to compare with.
struct Peer {
    /// Below the folder `usr` of what was unpacked.
    program: &'static str,
    words: String,
    /// What it prints if it found all flows.
    printed: &'static str,
}

/// What a run used.
struct Used {
    cpu_s: f64,
    wall_s: f64,
    memory_bytes: f64,
}

impl Bench {
    fn flows(&self, report: &mut Report) {
        self.check_own();
        let trace = self.trace.display();
        let folder = self.folder.display();
        let settings = format!("pcap_savefile: {trace}\n{}", self.pmacct_settings());
        fs::write(self.folder.join("pmacct.conf"), settings).expect("a file");
        fs::create_dir(self.folder.join("nfdump")).expect("a folder");
        let peers = [
            Peer {
                program: "bin/nfpcapd",
                words: format!("-r {trace} -w {folder}/nfdump"),
                printed: "Flows: 100000, Packets: 2000000",
            },
            Peer {
                program: "sbin/softflowd",
                // With a control socket it waits for a connection to that.
                words: format!("-d -r {trace} -m 200000 -n 127.0.0.1:9 -p {folder}/pid -c none"),
                printed: "flushed =    100000",
            },
            Peer {
                program: "sbin/pmacctd",
                words: format!("-f {folder}/pmacct.conf"),
                printed: "QN: 100000/100000",
            },
            Peer {
                program: "sbin/argus",
                words: format!("-r {trace} -w {folder}/argus"),
                // Its client counts what is in the file.
                printed: "",
            },
        ];
        let own = format!("flows -q {trace} -w {folder}/flows.parquet");
        report.note(format!(
            "`tapline flows -w flows.parquet`, `nfpcapd -r`, `softflowd -r`, `pmacctd` with its print plug-in and `argus -r`: {PACKETS} packets \
             of {FLOWS} flows, in /dev/shm. pmacctd sleeps before it reads: its wall time says nothing. Memory is that of the process, without pmacctd's plug-in"
        ));
        for _ in report.rounds("flows") {
            let table = report.table(FLOW_TITLE, &FLOW_COLUMNS);
            for Peer {
                program,
                words,
                printed,
            } in &peers
            {
                let (used, text) = run(self.peer(program), words);
                assert!(text.contains(printed), "{program}: {text}");
                table.add(name_of(program), &used.per_packet());
                if *program == "sbin/argus" {
                    let file = self.folder.join("argus");
                    assert_eq!(self.racount(&file), [FLOWS, PACKETS]);
                }
            }
            for program in &self.own {
                let (used, _) = run(self.at(program), &own);
                table.add(name_of(program), &used.per_packet());
            }
        }
        let rivals = peers.iter().map(|peer| name_of(peer.program));
        self.compare(report, FLOW_TITLE, rivals, "CPU time for each packet");
    }

    /// Settings of pmacctd, without where packets come from.
    fn pmacct_settings(&self) -> String {
        let folder = self.folder.display();
        format!(
            "plugins: print\naggregate: src_host,dst_host,src_port,dst_port,proto\n\
             plugin_pipe_size: 102400000\nplugin_buffer_size: 1024000\nprint_cache_entries: 262147\nprint_output: csv\n\
             print_output_file: {folder}/pmacct.csv\nprint_refresh_time: 60\n"
        )
    }

    /// The best of the rivals takes at least twice the CPU time of tapline.
    fn compare<'p>(
        &self,
        report: &mut Report,
        title: &str,
        rivals: impl Iterator<Item = &'p str>,
        what: &str,
    ) {
        let cpu = |name: &str| report.of(title, name, "CPU, ns/packet");
        let own = cpu(name_of(&self.own[0]));
        let median = |values: &[f64]| {
            let mut values = values.to_vec();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let rivals = rivals.map(|name| (name, cpu(name)));
        let best = rivals.min_by(|(_, one), (_, other)| median(one).total_cmp(&median(other)));
        let (name, best) = best.expect("peers");
        let what = format!("{what}, {name} (the best peer) / tapline flows");
        report.at_least(&what, &ratios(&best, &own), 2.0);
    }

    /// Records and packets of the UDP flows in a file of argus, which is removed.
    fn racount(&self, file: &Path) -> [u64; 2] {
        let mut command = self.peer("bin/racount");
        command.args(["-M", "proto", "-r"]).arg(file);
        let output = command.output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines();
        let sum = lines.find_map(|line| line.trim().strip_prefix("udp"));
        let mut figures = sum.unwrap_or_default().split_whitespace();
        let mut next = || figures.next().and_then(|figure| figure.parse().ok());
        let figures = [next(), next()].map(|figure| figure.expect("two numbers"));
        fs::remove_file(file).expect("removed");
        figures
    }

    /// All packets are in flows, and none was evicted.
    fn check_own(&self) {
        let mut command = self.at(&self.own[0]);
        command.args(["flows", "--json"]).arg(&self.trace);
        let output = command.output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let summary = text.lines().last().expect("a summary");
        let summary: serde_json::Value = serde_json::from_str(summary).expect("JSON");
        let figures = ["in_flows", "flows"].map(|key| summary[key].as_u64());
        assert_eq!(figures, [Some(PACKETS), Some(FLOWS)], "{summary}");
    }

    /// `with_short` also writes [`SHORT_PACKETS`], in the first round.
    fn columns(&self, report: &mut Report, with_short: bool) {
        let parquet = self.folder.join("packets.parquet");
        let packets = CaptureReader::open(&self.trace).map(|mut reader| {
            let mut packets = 0_u64;
            while let Ok(Some(_)) = reader.next_packet() {
                packets += 1;
            }
            packets
        });
        assert_eq!(packets.expect("the trace"), PACKETS);
        report.note(format!(
            "`tapline read trace.pcap -w packets.parquet`, and `tapline send … -w - | tapline read - -w packets.parquet` of {LARGE_PACKETS} \
             packets of 1000 bytes, in the first round also of {SHORT_PACKETS} packets of 64 bytes; the CPU time is that of the program that writes Parquet"
        ));
        let words = format!("read -q {} -w {}", self.trace.display(), parquet.display());
        for round in report.rounds("columns") {
            for program in &self.own {
                let (file, _) = run(self.at(program), &words);
                let pipe = self.run_piped(program, &parquet, [LARGE_PACKETS, 1000]);
                let table = report.table(ROW_TITLE, &ROW_COLUMNS);
                let name = name_of(program);
                table.add(
                    &format!("{name}, file of {PACKETS} packets"),
                    &file.rates(PACKETS),
                );
                table.add(
                    &format!("{name}, 10 GB by a pipe"),
                    &pipe.rates(LARGE_PACKETS),
                );
                if with_short && round == 1 {
                    // Its memory counts, and not the file, which would take some GB of memory, too.
                    let nowhere = Path::new("/dev/null");
                    let short = self.run_piped(program, nowhere, [SHORT_PACKETS, 64]);
                    let row = format!("{name}, 10 GB of the shortest packets by a pipe");
                    table.add(&row, &short.rates(SHORT_PACKETS));
                }
            }
        }
        let name = name_of(&self.own[0]);
        let [file, pipe, short] = [
            format!("file of {PACKETS} packets"),
            "10 GB by a pipe".into(),
            "10 GB of the shortest packets by a pipe".into(),
        ]
        .map(|what| format!("{name}, {what}"));
        let rates = report.of(ROW_TITLE, &file, "M rows/s of CPU time");
        report.at_least(
            "Rows of Parquet per second of CPU time, millions",
            &millions(&rates),
            1.0,
        );
        for (row, of) in [(&pipe, "10 GB"), (&short, "10 GB of the shortest packets")] {
            let memory = report.of(ROW_TITLE, row, "memory, MiB");
            let shares: Vec<f64> = memory.iter().map(|bytes| bytes / MOST_BYTES).collect();
            let what = format!("Memory for {of} to Parquet / 512 MiB");
            report.at_most(&what, &shares, 1.0);
        }
    }

    fn at(&self, program: &Path) -> Command {
        self.host.command(program.to_str().expect("UTF-8"))
    }

    fn peer(&self, program: &str) -> Command {
        Self::peer_on(&self.host, program)
    }

    /// A peer, with the libraries that were unpacked with it.
    fn peer_on(host: &Host, program: &str) -> Command {
        let unpacked = repository().join("target/flow-peers/usr");
        let path = unpacked.join(program);
        assert!(
            path.is_file(),
            "{} is missing: tools/flow-peers.sh target/flow-peers",
            path.display()
        );
        let mut command = host.command(path.to_str().expect("UTF-8"));
        let libraries = unpacked.join(format!("lib/{ARCH}-linux-gnu"));
        command.env("LD_LIBRARY_PATH", libraries);
        command
    }

    /// Generated packets of this number and length, through a pipe.
    fn run_piped(&self, program: &Path, parquet: &Path, [packets, bytes]: [u64; 2]) -> Used {
        let mut source = self.at(program);
        let words = format!("send {} -w -", generated(packets, bytes));
        source.args(words.split(' '));
        let (source, pipe) = Running::start_piped(source);
        let mut command = self.at(program);
        command.args(["read", "-q", "-", "--format", "parquet", "-w"]);
        command.arg(parquet);
        let begin = Instant::now();
        let (used, _) = Used::of(Running::start_with_input(command, pipe), begin);
        assert!(source.finish().status.success());
        used
    }
}

/// What a program used and printed.
fn run(mut command: Command, words: &str) -> (Used, String) {
    command.args(words.split(' '));
    let begin = Instant::now();
    Used::of(Running::start(command), begin)
}

/// The most memory of a process, which is read every 20 ms until it ends.
fn most_memory(status: &str) -> f64 {
    let mut most_kib = 0_u32;
    while let Ok(text) = fs::read_to_string(status) {
        let mut lines = text.lines();
        let Some(line) = lines.find_map(|line| line.strip_prefix("VmHWM:")) else {
            break;
        };
        let kib = line.trim().trim_end_matches(" kB").parse();
        most_kib = kib.unwrap_or(most_kib);
        harness::pause(Duration::from_millis(20));
    }
    f64::from(most_kib) * 1024.0
}

impl Used {
    /// What a program uses from its start until it exits, as it must within a time limit, and what it printed.
    fn of(running: Running, begin: Instant) -> (Self, String) {
        let status = format!("/proc/{}/status", running.id());
        let memory = thread::spawn(move || most_memory(&status));
        // Those that take minutes.
        running.has_ended(LONGEST);
        let ended = running.finish();
        let wall = begin.elapsed();
        assert!(ended.status.success(), "{}: {}", ended.status, ended.text);
        let used = Self {
            cpu_s: ended.used.cpu.as_secs_f64(),
            wall_s: wall.as_secs_f64(),
            memory_bytes: memory.join().expect("it reads"),
        };
        (used, ended.text)
    }

    fn per_packet(&self) -> [f64; 3] {
        [self.cpu_s / PACKETS as f64, self.wall_s, self.memory_bytes]
    }

    fn rates(&self, rows: u64) -> [f64; 3] {
        let rows = rows as f64;
        [rows / self.cpu_s, rows / self.wall_s, self.memory_bytes]
    }
}

fn millions(rates: &[f64]) -> Vec<f64> {
    rates.iter().map(|rate| rate / 1e6).collect()
}

fn name_of(program: &(impl AsRef<Path> + ?Sized)) -> &str {
    let name = program.as_ref().file_name().and_then(OsStr::to_str);
    name.expect("a name of UTF-8")
}
