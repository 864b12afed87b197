//! Capture files through tcpdump: the text is the same as with libpcap.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::{BOTH, Library, built, captures, repository};

fn tcpdump(library: Library, arguments: &[&str]) -> Command {
    let mut command = lab::tool::command("tcpdump");
    library.load(command.args(arguments)).env("TZ", "UTC");
    command
}

fn output(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

#[test]
fn tcpdump_prints_the_same_for_every_file_of_the_corpus() {
    let folders = [
        "captures",
        "made",
        "filters/captures",
        "pcapng/le",
        "pcapng/be",
    ];
    let files = folders.map(captures).concat();
    assert!(files.len() > 350, "{} files", files.len());
    let mut different = Vec::new();
    let mut complaints = Vec::new();
    let mut printed = 0;
    for file in &files {
        let path = file.to_str().expect("a path of text");
        let [libpcap, tapline] =
            BOTH.map(|library| output(&mut tcpdump(library, &["-nn", "-vvv", "-XX", "-r", path])));
        printed += libpcap.stdout.len();
        if (libpcap.status.code(), &libpcap.stdout) != (tapline.status.code(), &tapline.stdout) {
            different.push(file.file_name().expect("a name").to_owned());
        }
        let [theirs, ours] =
            [&libpcap, &tapline].map(|output| String::from_utf8_lossy(&output.stderr));
        if theirs != ours {
            complaints.push(format!("{}: {theirs} {ours}", file.display()));
        }
    }
    assert!(printed > 1 << 20, "{printed} bytes of text");
    assert!(different.is_empty(), "{different:?}");
    assert!(complaints.is_empty(), "{complaints:#?}");
}

/// One of the corpus with enough packets to filter.
fn sample() -> PathBuf {
    let files = captures("captures");
    let longest = files
        .into_iter()
        .filter(|file| file.extension().is_some_and(|end| end == "pcap"));
    longest
        .max_by_key(|file| file.metadata().expect("its metadata").len())
        .expect("a file")
}

#[test]
fn a_file_is_read_from_a_pipe_filtered_and_written_as_libpcap_writes_it() {
    let sample = sample();
    let [libpcap, tapline] = BOTH.map(|library| {
        let written = built().join(format!("{library:?}-{}.pcap", std::process::id()));
        let path = written.to_str().expect("a path of text");
        let arguments = ["-nn", "-r", "-", "-w", path, "not ip"];
        let mut command = tcpdump(library, &arguments);
        command.stdin(File::open(&sample).expect("the sample"));
        let status = command.status().expect("tcpdump runs");
        assert!(status.success(), "{status}");
        fs::read(written).expect("what it wrote")
    });
    assert!(libpcap.len() > 1000, "{} bytes", libpcap.len());
    assert!(
        libpcap == tapline,
        "{} and {} bytes",
        libpcap.len(),
        tapline.len()
    );
}

#[test]
fn nanoseconds_and_foreign_byte_order_are_kept() {
    for name in [
        "made/ns-big.pcap",
        "made/ns-little.pcap",
        "made/us-big.pcap",
    ] {
        let file = repository().join("lab/corpus").join(name);
        let path = file.to_str().expect("a path of text");
        let [libpcap, tapline] = BOTH.map(|library| {
            let arguments = ["-nn", "-tt", "--time-stamp-precision=nano", "-r", path];
            output(&mut tcpdump(library, &arguments)).stdout
        });
        assert!(!libpcap.is_empty(), "{name}");
        assert_eq!(libpcap, tapline, "{name}");
    }
}

/// A fraction of a second that is a second or more is given to the program as it is in the file.
#[test]
fn fractions_of_a_second_or_more_are_kept() {
    let file = repository().join("lab/corpus/captures/timestamp_invalid_micro.pcap");
    let path = file.to_str().expect("a path of text");
    for precision in ["micro", "nano"] {
        let [libpcap, tapline] = BOTH.map(|library| {
            let precision = format!("--time-stamp-precision={precision}");
            let printed = output(&mut tcpdump(
                library,
                &["-nn", "-tt", &precision, "-r", path],
            ));
            let written = output(&mut tcpdump(library, &[&precision, "-r", path, "-w", "-"]));
            (printed.stdout, written.stdout)
        });
        assert!(!libpcap.0.is_empty(), "{precision}");
        assert!(libpcap == tapline, "{precision}");
    }
}

#[test]
fn compressed_files_can_be_read_too() {
    let plain = repository().join("lab/corpus/made/sections.pcapng");
    let text = |library, path: &Path| {
        let path = path.to_str().expect("a path of text");
        output(&mut tcpdump(library, &["-nn", "-r", path])).stdout
    };
    let expected = text(Library::Libpcap, &plain);
    for end in ["pcapng.gz", "pcapng.zst"] {
        let packed = text(Library::Tapline, &plain.with_extension(end));
        assert_eq!(packed, expected, "{end}");
    }
}
