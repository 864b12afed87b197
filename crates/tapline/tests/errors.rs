//! Every error has a text of one clause and keeps the error that caused it.

use std::convert::Infallible;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use lab::Host;
use tapline::doctor::{SystemPaths, examine};
use tapline::file::write::{CaptureFileOptions, Output};
use tapline::filter::classic::ClassicProgram;
use tapline::net::Link;

/// The texts of an error and of its sources.
fn chain(error: &dyn Error) -> Vec<String> {
    let mut texts = vec![error.to_string()];
    let mut next = error.source();
    while let Some(source) = next {
        texts.push(source.to_string());
        next = source.source();
    }
    texts
}

fn failed<T, E: Error + 'static>(result: Result<T, E>) -> Vec<String> {
    match result {
        Ok(_) => panic!("it succeeded"),
        Err(error) => chain(&error),
    }
}

const NO_DEVICE: &str = "No such device (os error 19)";
const NO_FILE: &str = "No such file or directory (os error 2)";
const FULL: &str = "No space left on device (os error 28)";

/// A capture file that ends within its last packet, and a file of another kind.
fn damaged(folder: &Path) -> [PathBuf; 2] {
    let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/corpus/captures/icmpv6.pcap");
    let bytes = fs::read(whole).expect("a capture");
    let [cut, text] = ["cut.pcap", "text"].map(|name| folder.join(name));
    fs::write(&cut, &bytes[..bytes.len() - 1]).expect("a file");
    fs::write(&text, "not a capture").expect("a file");
    [cut, text]
}

#[test]
fn errors_of_files_keep_the_place_and_the_cause() {
    let folder = tempfile::tempdir().expect("a folder");
    let [cut, text] = damaged(folder.path());
    let absent = folder.path().join("absent");
    assert_eq!(
        failed(tapline::read(&absent).open()),
        [format!("cannot open {}", absent.display()), NO_FILE.into()]
    );
    let ignore = |_: &tapline::Packet<'_>| Ok::<_, Infallible>(());
    let found = failed(tapline::read(&cut).open().expect("opened").run(ignore));
    let [first, name, place] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(first, "an input could not be read to the end");
    assert_eq!(*name, cut.display().to_string());
    assert!(
        place.starts_with("truncated packet") && place.contains(" at byte "),
        "{place}"
    );
    let found = failed(
        tapline::read(&text)
            .open()
            .and_then(|mut read| read.run(ignore)),
    );
    let last = found.last().expect("a text");
    assert!(last.starts_with("not a capture file: "), "{found:?}");
    let filter = tapline::read(&cut).filter("ip6 and tcp port 70000");
    let found = failed(
        filter
            .expect("parsed")
            .open()
            .and_then(|mut read| read.run(ignore)),
    );
    assert_eq!(
        found[1..],
        ["column 18: port number 70000 greater than maximum 65535"],
    );
    let full = CaptureFileOptions::new(Output::Path("/dev/full".into()), Vec::new());
    let found = failed(tapline::read(&cut).open().expect("opened").write_to(full));
    assert!(
        found[0].starts_with("cannot write to /dev/full after "),
        "{found:?}"
    );
    assert_eq!(found[1..], [FULL]);
}

#[test]
fn errors_of_interfaces_name_the_step_and_keep_the_kernels_answer() {
    let host = Host::new("errors");
    let link = |name: &str| Link::named(name.parse().expect("a name"));
    host.run(|| {
        let mut net = tapline::net().open().expect("a handle");
        let filtered = tapline::capture("lo").filter("ether proto 0x10000");
        let counted = tapline::count("lo").class("web", "tcp prot 80");
        let paths = SystemPaths::default();
        for (found, expected) in [
            (
                failed(tapline::capture("nowhere0").open()),
                vec!["cannot get link nowhere0", NO_DEVICE],
            ),
            (
                failed(filtered.expect("parsed").open()),
                vec![
                    "filter for lo is invalid",
                    "column 13: EtherType 65536 greater than maximum 65535",
                ],
            ),
            (
                failed(tapline::count("nowhere0").open()),
                vec!["cannot get link nowhere0", NO_DEVICE],
            ),
            (
                failed(counted),
                vec!["column 5: expected \"and\", \"or\" or the end, found \"prot\" (did you mean \"port\"?)"],
            ),
            (
                failed(tapline::latency("nowhere0").open()),
                vec!["cannot get link nowhere0", NO_DEVICE],
            ),
            (
                failed(examine(Some("nowhere0"), &paths)),
                vec!["cannot get link nowhere0", NO_DEVICE],
            ),
            (
                failed(net.get(&link("nowhere0"))),
                vec!["cannot get link nowhere0", NO_DEVICE],
            ),
            (
                failed(net.del(&link("nowhere0"))),
                vec!["cannot remove link nowhere0", NO_DEVICE],
            ),
        ] {
            assert_eq!(found, expected);
        }
    });
}

#[test]
fn a_wrong_program_is_located() {
    let found = failed("2\n40 0 0 12\n21 0 9 2048\n".parse::<ClassicProgram>());
    assert!(found[0].starts_with("line 3: "), "{found:?}");
}
