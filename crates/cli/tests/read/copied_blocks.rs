//! Copies of capture files keep every block and option. Compared with editcap and mergecap.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::support::blocks::{Build, Line, SECTION, lines};
use crate::support::files::{corpus, pcap};
use crate::support::run::{events, printed, run};
use crate::support::text;

/// Where editcap's copies differ, with reasons. The test below finds each of them, and no other.
const DIFFERENCES: &str = include_str!("../../../../docs/guide/coming-from-editcap.md");

fn public_files() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/corpus/pcapng");
    let mut files = Vec::new();
    for order in ["le", "be"] {
        let entries = std::fs::read_dir(folder.join(order)).expect("the test files");
        files.extend(entries.map(|entry| text(&entry.expect("an entry").path())));
    }
    files.sort();
    assert_eq!(files.len(), 48);
    files
}

/// A file with every block and option, in either byte order. editcap refuses those that only others copy.
#[expect(clippy::too_many_lines, reason = "a list of blocks")]
fn rich(is_big: bool, is_for_editcap: bool) -> Vec<u8> {
    let bytes = Vec::new();
    let mut file = Build { is_big, bytes };
    let magic = [
        file.u32(0x1a2b_3c4d),
        file.u16(1),
        file.u16(0),
        vec![0xff; 8],
    ];
    let custom = [file.u32(32_473), b"more".to_vec()].concat();
    file.block(
        SECTION,
        &magic,
        &[
            (2, b"board".to_vec()),
            (1, b"first".to_vec()),
            (1, b"second".to_vec()),
            (2988, custom.clone()),
            (777, b"unknown".to_vec()),
        ],
    );
    let secrets = b"CLIENT_RANDOM 00 11\n".to_vec();
    let fixed = [file.u32(0x544c_534b), file.u32(20), secrets];
    file.block(10, &fixed, &[(1, b"keys".to_vec())]);
    let fixed = [file.u16(1), file.u16(0), file.u32(0)];
    let speed = file.u64(10_000_000_000);
    let zone = file.u32(7200);
    file.block(
        1,
        &fixed,
        &[
            (1, b"one".to_vec()),
            (2, b"eth0".to_vec()),
            (4, vec![10, 0, 0, 1, 255, 0, 0, 0]),
            (8, speed.clone()),
            (9, vec![6]),
            (10, zone),
            (16, speed.clone()),
            (17, speed),
            (1, b"two".to_vec()),
            (777, vec![1, 2, 3]),
        ],
    );
    let name = [
        file.u16(1),
        file.u16(9),
        vec![10, 0, 0, 1, b'h', b'o', b's', b't', 0, 0, 0, 0],
    ];
    let fixed = [name.concat(), file.u32(0)];
    file.block(4, &fixed, &[(2, b"dns.example".to_vec())]);
    let frame = vec![0x55; 61];
    let head = |file: &Build| {
        let words = [0, 0x0006_0a00, 7, 61, 99].map(|word| file.u32(word));
        [words.concat(), frame.clone()].concat()
    };
    let fixed = [head(&file)];
    let options = [
        (1, b"a comment".to_vec()),
        (1, b"another".to_vec()),
        (2, file.u32(0x1234_0005)),
        (3, [vec![5], file.u32(0xdead_beef)].concat()),
        (3, vec![2, 9, 8, 7, 6]),
        (4, file.u64(3)),
        (5, file.u64(0x0102_0304_0506_0708)),
        (6, file.u32(4)),
        (7, [vec![2], file.u64(2)].concat()),
        (7, vec![0, 1, 2]),
        (8, [file.u32(100), file.u32(101)].concat()),
        (19372, custom.clone()),
        (777, b"odd".to_vec()),
    ];
    file.block(6, &fixed, &options);
    if !is_for_editcap {
        file.block(9, &[b"MESSAGE=hello\n".to_vec()], &[]);
    }
    let fixed = [head(&file)];
    file.block(6, &fixed, &[]);
    let fixed = [file.u32(61), frame.clone()];
    file.block(3, &fixed, &[]);
    let words = [
        [file.u16(0), file.u16(5)].concat(),
        file.u32(0x0006_0a00),
        file.u32(9),
    ];
    let fixed = [words.concat(), file.u32(61), file.u32(61), frame];
    let options = [(2, file.u32(1))];
    file.block(2, &fixed, &options);
    file.block(0x0bad, std::slice::from_ref(&custom), &[]);
    if !is_for_editcap {
        file.block(0x4000_0bad, &[custom], &[]);
        // A process event of macOS, which no specification describes: its contents are bytes.
        file.block(0x8000_0001, &[b"event!".to_vec()], &[]);
    }
    let fixed = [0, 0x0006_0a00, 11].map(|word| file.u32(word));
    let time = [file.u32(0x0006_0a00), file.u32(1)].concat();
    let options = [
        (2, time.clone()),
        (3, time),
        (4, file.u64(1 << 40)),
        (8, file.u64(2)),
        (777, vec![1]),
    ];
    file.block(5, &fixed, &options);
    file.bytes
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self, name: &str) -> String {
        text(&self.0.path().join(name))
    }

    /// Rich files in both byte orders, and both in one.
    fn rich_files(&self) -> Vec<String> {
        let [little, big] = [false, true].map(|is_big| rich(is_big, false));
        let both = [big.clone(), little.clone()].concat();
        [("little", little), ("big", big), ("both", both)]
            .map(|(name, bytes)| {
                let file = self.file(&format!("{name}.pcapng"));
                std::fs::write(&file, bytes).expect("written");
                file
            })
            .to_vec()
    }
}

/// The pcapng files of the corpus that are whole.
fn pcapng_corpus() -> Vec<String> {
    let is_pcapng = |file: &String| {
        let bytes = std::fs::read(file).expect("read");
        bytes.starts_with(&SECTION.to_be_bytes())
            && run(&format!("read --json --summary {file}"))
                .status
                .success()
    };
    corpus().into_iter().filter(is_pcapng).collect()
}

#[test]
fn a_copy_keeps_every_block_and_option_in_its_place() {
    let folder = Folder::new();
    let files = [pcapng_corpus(), public_files(), folder.rich_files()].concat();
    let mut seen = BTreeSet::new();
    for file in &files {
        let copy = folder.file("copy.pcapng");
        assert_eq!(printed(&format!("read -q -w {copy} {file}")), [""; 0]);
        let (mut expected, found) = (lines(file), lines(&copy));
        for line in &mut expected {
            seen.insert(line.what);
        }
        assert_eq!(found, expected, "{file}");
    }
    assert_eq!(seen.len(), 10, "{seen:?}");
    assert!(files.len() > 60, "{}", files.len());
}

#[test]
fn filters_and_cuts_leave_out_packets_only() {
    let folder = Folder::new();
    for file in folder.rich_files() {
        let copy = folder.file("copy.pcapng");
        let is_packet = |line: &Line| line.what.contains("packet");
        printed(&format!("read -q -w {copy} {file} less 10"));
        let expected: Vec<_> = lines(&file)
            .into_iter()
            .filter(|line| !is_packet(line))
            .collect();
        assert_eq!(lines(&copy), expected);
        printed(&format!("read -q -s 20 -w {copy} {file}"));
        for (found, line) in lines(&copy).iter().zip(lines(&file)) {
            assert_eq!((found.what, &found.options), (line.what, &line.options));
        }
    }
}

#[test]
fn each_file_of_a_rotation_begins_with_names_and_secrets() {
    let folder = Folder::new();
    let file = &folder.rich_files()[0];
    let report = events(&format!(
        "read --rotate-packets 1 -w {} {file}",
        folder.file("part.pcapng")
    ));
    let files = report.last().expect("a summary")["files"]
        .as_array()
        .expect("files")
        .clone();
    assert_eq!(files.len(), 4);
    for file in files {
        let found: Vec<_> = lines(file.as_str().expect("a name"))
            .iter()
            .map(|line| line.what)
            .collect();
        assert_eq!(found[..4], ["section", "secrets", "interface", "names"]);
    }
}

#[test]
fn a_pcap_file_says_what_it_cannot_hold() {
    let folder = Folder::new();
    let file = &folder.rich_files()[1];
    let copy = folder.file("copy.pcap");
    let told = printed(&format!("read -w {copy} {file}"));
    assert_eq!(
        told.last().map(String::as_str),
        Some(
            "left out, since pcap cannot hold it: packets with options (2), packets without a time (1), \
             interfaces with options (1), sections with options (1), blocks of statistics (1), blocks of names (1), \
             blocks of secrets (1), journal entries (1), other blocks (3)"
        )
    );
    let summary = &events(&format!("read -w {copy} {file}"))[0];
    assert_eq!(summary["left_out"]["secrets"], 1);
    std::fs::write(folder.file("in.pcap"), pcap(&[1, 2])).expect("written");
    let told = printed(&format!("read -w {copy} {}", folder.file("in.pcap")));
    assert_eq!(told.len(), 2, "{told:?}");
    // Of times, 1 ns and 2 ns after 1970.
    let input = folder.file("in.pcap");
    let told = printed(&format!("read --format pcap -w {copy} {input}"));
    let line = "2 time stamps truncated to microseconds (use --format pcap-ns)";
    assert_eq!(told.last().map(String::as_str), Some(line));
    let other = folder.file("copy.pcapng");
    let told = printed(&format!("read -w {other} {file}"));
    let line = "1 blocks of unknown types keep the other byte order of their file";
    assert_eq!(told.last().map(String::as_str), Some(line));
}

/// editcap's copy, unless it refuses the file.
fn editcap(file: &str, copy: &str) -> Option<Vec<Line>> {
    let output = lab::tool::command("editcap").args([file, copy]).output();
    let output = output.expect("editcap runs");
    output.status.success().then(|| lines(copy))
}

/// The reasons for the differences between our copy and editcap's.
fn differences(ours: &[Line], theirs: &[Line]) -> Vec<&'static str> {
    let mut reasons = Vec::new();
    let mut theirs: Vec<_> = theirs.iter().collect();
    let sections = ours.iter().filter(|line| line.what == "section").count();
    let mut take = |is_it: &dyn Fn(&Line) -> bool| {
        let index = theirs.iter().position(|line| is_it(line))?;
        Some((index, theirs.remove(index)))
    };
    for (number, line) in ours.iter().enumerate() {
        if let Some((index, _)) = take(&|other| other == line) {
            if index > 0 {
                reasons.push("order");
            }
            continue;
        }
        let base = |other: &Line| other.what == line.what && other.text == line.text;
        let reason = match line.what {
            "names" => "names",
            "statistics" => "statistics",
            "custom" => "custom blocks",
            "unknown" | "journal" => "other blocks",
            "section" if number > 0 => "sections",
            "simple packet" => {
                let bytes = line.text.split(' ').next_back().unwrap_or_default();
                let simple = |other: &Line| {
                    let end = other.text.split(' ').next_back().unwrap_or_default();
                    other.what == "packet"
                        && other.text.starts_with("time 0 ")
                        && bytes.starts_with(end)
                };
                if take(&simple).is_some() {
                    "simple packets"
                } else {
                    "lost packets"
                }
            }
            _ => {
                let rounded = |other: &Line| {
                    let split = |line: &Line| {
                        let (time, rest) = line.text.strip_prefix("time ")?.split_once(' ')?;
                        Some((time.parse::<i128>().ok()?, rest.to_owned()))
                    };
                    let times = split(other).zip(split(line));
                    times.is_some_and(|(one, two)| one.1 == two.1 && (one.0 - two.0).abs() <= 1000)
                };
                let exact = take(&base);
                if exact.is_none() && line.what == "packet" {
                    reasons.push("rounded times");
                }
                let Some((_, other)) = exact.or_else(|| take(&rounded)) else {
                    reasons.push(if line.what == "interface" {
                        "unused interfaces"
                    } else {
                        "unexplained"
                    });
                    continue;
                };
                if other.interface != line.interface {
                    reasons.push(if sections > 1 {
                        "interface numbers"
                    } else {
                        "unexplained"
                    });
                }
                let rest: Vec<_> = line
                    .options
                    .iter()
                    .filter(|it| !other.options.contains(it))
                    .collect();
                let added = other.options.iter().any(|it| !line.options.contains(it));
                match (rest.is_empty(), added) {
                    _ if added => "changed options",
                    (false, _) => "options",
                    (true, _) if line.options != other.options => "order of options",
                    _ => continue,
                }
            }
        };
        reasons.push(reason);
    }
    reasons.extend(theirs.iter().map(|_| "unexplained"));
    reasons
}

#[test]
fn editcaps_copies_differ_as_the_written_list_says() {
    let folder = Folder::new();
    let mut found: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut files = [pcapng_corpus(), public_files(), folder.rich_files()].concat();
    for is_big in [false, true] {
        files.push(folder.file(&format!("editcap-{is_big}.pcapng")));
        std::fs::write(&files[files.len() - 1], rich(is_big, true)).expect("written");
    }
    for file in files {
        let copy = folder.file("copy.pcapng");
        printed(&format!("read -q -w {copy} {file}"));
        let reasons = match editcap(&file, &folder.file("theirs.pcapng")) {
            Some(theirs) => differences(&lines(&copy), &theirs),
            None => vec!["refused"],
        };
        for reason in reasons {
            found.entry(reason).or_default().insert(file.clone());
        }
    }
    let written: BTreeSet<&str> = DIFFERENCES
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" |").next())
        .skip(1)
        .collect();
    assert_eq!(
        found.keys().copied().collect::<BTreeSet<_>>(),
        written,
        "{found:#?}"
    );
}

#[test]
fn merged_packets_are_mergecaps_with_their_interfaces() {
    let folder = Folder::new();
    let files = public_files();
    let mut rows: Vec<(String, String)> = Vec::new();
    for (one, other) in files.iter().zip(files.iter().skip(1)) {
        rows.push((one.clone(), other.clone()));
    }
    let mut compared = 0;
    for (one, other) in rows {
        let (copy, theirs) = (folder.file("ours.pcapng"), folder.file("theirs.pcapng"));
        let mergecap = lab::tool::command("mergecap")
            .args(["-I", "none", "-w", &theirs, &one, &other])
            .output()
            .expect("mergecap runs");
        let several = |file: &str| {
            lines(file)
                .iter()
                .filter(|line| line.what == "section")
                .count()
                > 1
        };
        // coming-from-editcap.md: it refuses custom blocks, and confuses the interfaces of several sections.
        if !mergecap.status.success() || several(&one) || several(&other) {
            continue;
        }
        printed(&format!("read -q -w {copy} {one} {other}"));
        let shown = |file: &str| {
            let all = lines(file);
            let interface = |line: &Line| {
                let number = line.interface;
                let of = |it: &&Line| it.what == "interface" && it.interface == number;
                // coming-from-editcap.md: it leaves out unknown options.
                let name = |it: &&String| it.starts_with("2 ");
                let found = all.iter().find(of)?;
                Some((found.text.clone(), found.options.iter().find(name).cloned()))
            };
            let mut packets: Vec<_> = all
                .iter()
                .filter(|line| line.what.contains("packet"))
                .map(|line| {
                    // A Simple Packet Block becomes a packet at time 0 in mergecap's file.
                    let text = line.text.strip_prefix("time 0 ").unwrap_or(&line.text);
                    (text.trim_end_matches('0').to_owned(), interface(line))
                })
                .collect();
            packets.sort();
            packets
        };
        assert_eq!(shown(&copy), shown(&theirs), "{one} {other}");
        let kept = |file: &str| {
            let mut all = lines(file);
            all.retain(|line| {
                !["section", "interface"].contains(&line.what) && !line.what.contains("packet")
            });
            let mut all: Vec<_> = all
                .into_iter()
                .map(|line| (line.what, line.text, line.options))
                .collect();
            all.sort();
            all
        };
        let mut both = [kept(&one), kept(&other)].concat();
        both.sort();
        assert_eq!(kept(&copy), both, "{one} {other}");
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}

/// A section with one interface and a packet.
fn section_with(is_big: bool, options: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let bytes = Vec::new();
    let mut file = Build { is_big, bytes };
    let magic = [
        file.u32(0x1a2b_3c4d),
        file.u16(1),
        file.u16(0),
        vec![0xff; 8],
    ];
    file.block(SECTION, &magic, options);
    let fixed = [file.u16(1), file.u16(0), file.u32(0)];
    file.block(1, &fixed, &[]);
    let words = [0, 0, 7, 4, 4].map(|word| file.u32(word));
    file.block(6, &[words.concat(), vec![0x55; 4]], &[]);
    file.bytes
}

/// A custom option begins with a number in the byte order of its file.
fn custom(is_big: bool) -> Vec<u8> {
    let number = 32_473_u32;
    let number = if is_big {
        number.to_be_bytes()
    } else {
        number.to_le_bytes()
    };
    [&number[..], b"more"].concat()
}

#[test]
fn merged_sections_keep_the_options_on_which_they_agree() {
    let folder = Folder::new();
    let write = |name: &str, bytes: Vec<u8>| {
        let file = folder.file(name);
        std::fs::write(&file, bytes).expect("written");
        file
    };
    let little = section_with(
        false,
        &[
            (1, b"both".to_vec()),
            (2, b"board".to_vec()),
            (3, b"Linux 6.1".to_vec()),
            (2988, custom(false)),
            (777, b"unknown".to_vec()),
            (1, b"little".to_vec()),
            (4, b"some program".to_vec()),
        ],
    );
    let big = section_with(
        true,
        &[
            (1, b"both".to_vec()),
            (2, b"board".to_vec()),
            (3, b"Linux 6.12".to_vec()),
            (2988, custom(true)),
            (777, b"unknown".to_vec()),
            (1, b"big".to_vec()),
        ],
    );
    let [one, other] = [
        ("one.pcapng", little.clone()),
        ("other.pcapng", big.clone()),
    ]
    .map(|(name, bytes)| write(name, bytes));
    let expected = section_with(
        false,
        &[
            (1, b"both".to_vec()),
            (1, b"little".to_vec()),
            (1, b"big".to_vec()),
            (2, b"board".to_vec()),
            (2988, custom(false)),
            (777, b"unknown".to_vec()),
        ],
    );
    let expected = lines(&write("expected.pcapng", expected))[0].clone();
    let copy = folder.file("copy.pcapng");
    let report = events(&format!("read -w {copy} {one} {other}"));
    assert_eq!(lines(&copy)[0], expected);
    // The operating systems.
    assert_eq!(report[0]["left_out"]["merged_options"], 2);
    let told = printed(&format!("read -w {copy} {one} {other}"));
    let line = "left out, since merged files have one section: options of section headers (2)";
    assert_eq!(told.last().map(String::as_str), Some(line));
    // The second section of the third file is lost, with six options; the name of the program is no loss.
    let third = write("third.pcapng", [little, big].concat());
    let report = events(&format!("read -w {copy} {one} {third}"));
    assert_eq!(report[0]["left_out"]["merged_options"], 6);
    // They agree.
    let report = events(&format!("read -w {copy} {one} {one}"));
    assert_eq!(report[0]["left_out"], serde_json::Value::Null);
}
