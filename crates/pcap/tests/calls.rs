//! Every call on every kind of handle: statuses, texts and files equal libpcap's, except for the differences listed
//! here.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use lab::{Host, Net};

use crate::support::{BOTH, Library, compile, start};

/// A line that may differ: parts of it, and why.
type Exception = (&'static [&'static str], &'static str);

/// Runs a program with both libraries and compares line by line. Each exception has to be needed.
#[track_caller]
fn prints_the_same(
    program: &Path,
    arguments: impl Fn(&Host) -> Vec<String>,
    exceptions: &[Exception],
) {
    let [libpcap, tapline] = BOTH.map(|library| run(library, program, &arguments));
    let mut unexpected = Vec::new();
    let mut needed = BTreeSet::new();
    for (theirs, ours) in libpcap.iter().zip(&tapline) {
        let is_of = |(parts, _): &Exception| {
            parts
                .iter()
                .all(|&part| format!("{theirs}\n").contains(part))
        };
        match exceptions.iter().position(is_of) {
            _ if theirs == ours => {}
            Some(place) => {
                needed.insert(place);
            }
            None => unexpected.push([theirs, ours]),
        }
    }
    assert!(unexpected.is_empty(), "{unexpected:#?}");
    assert_eq!(libpcap.len(), tapline.len());
    let unneeded: Vec<_> = (0..exceptions.len())
        .filter(|place| !needed.contains(place))
        .map(|place| exceptions[place])
        .collect();
    assert!(unneeded.is_empty(), "{unneeded:#?}");
}

fn run(library: Library, program: &Path, arguments: &impl Fn(&Host) -> Vec<String>) -> Vec<String> {
    let [_left, right] = Net::new().pair();
    right.ip("link add down0 type veth peer name down1");
    let arguments = arguments(&right);
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    start(&right, library, program, &arguments).finish()
}

#[test]
fn every_call_on_every_kind_of_handle_has_libpcaps_status_and_text() {
    let exceptions: [Exception; 5] = [
        (
            &[": Success\n"],
            "libpcap appends the text of an error number that no call has set",
        ),
        (
            &["created", "pcap_sendpacket", " = 0 This handle hasn't"],
            "libpcap says that it has sent what it has not",
        ),
        (
            &["immediate: pcap_bufsize"],
            "the size of a frame in libpcap's ring",
        ),
        (
            &["dead", "pcap_fileno"],
            "the descriptor of standard input, which libpcap never sets",
        ),
        (&["dead", "pcap_get_selectable_fd"], "as above"),
    ];
    let program = compile("calls", &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = |host: &Host| {
        // Files of the run before.
        for entry in fs::read_dir(&folder).expect("the folder") {
            fs::remove_file(entry.expect("an entry").path()).expect("its file");
        }
        let folder = folder.path().to_str().expect("a path of text");
        vec![host.interface().name.to_string(), folder.to_owned()]
    };
    prints_the_same(&program, arguments, &exceptions);
}

#[test]
fn what_opening_says_without_privileges_is_libpcaps() {
    let exceptions: [Exception; 1] = [(
        &["down: pcap_activate"],
        "the state of the interface is checked before the socket is opened",
    )];
    let program = compile("calls", &[]);
    let arguments = |host: &Host| vec![host.interface().name.to_string(), "nobody".to_owned()];
    prints_the_same(&program, arguments, &exceptions);
}

#[test]
fn good_and_damaged_files_are_read_alike() {
    let exceptions: [Exception; 4] = [
        (
            &["tried to read 24 file header bytes"],
            "libpcap does not count the magic number among the bytes that it got",
        ),
        (
            &["  end -1 invalid packet capture length"],
            "the text has the length in regular files, not in pipes",
        ),
        (
            &["a packet arrived on interface 7"],
            "texts about damaged pcapng files name the block and its place",
        ),
        (&["block total length in header and trailer"], "as above"),
    ];
    let program = compile("savefiles", &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = |_: &Host| vec![folder.path().to_str().expect("a path of text").to_owned()];
    prints_the_same(&program, arguments, &exceptions);
}

#[test]
fn names_and_programs_without_a_handle_are_treated_alike() {
    let exceptions: [Exception; 7] = [
        (
            &["(007) unimp    0x81"],
            "libpcap does not list an operation that it runs: the length to X",
        ),
        (
            &["nametoport 65536: 1 0"],
            "libpcap takes the lower 16 bits of a number that is no port",
        ),
        (&["nametoport : 1 0"], "libpcap takes no name for port 0"),
        (&["nametoportrange 1-: "], "as above"),
        (&["nametoportrange -1: "], "as above"),
        (
            &["nametoportrange 1-2-3: "],
            "libpcap ignores what follows two numbers",
        ),
        (
            &["jump back: valid 1"],
            "libpcap lets the place wrap, and the kernel refuses the program",
        ),
    ];
    let program = compile("helpers", &[]);
    prints_the_same(&program, |_| Vec::new(), &exceptions);
}
