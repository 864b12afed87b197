//! The binary interface: the symbols of libpcap, and the name that programs ask for.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::support::{libpcap, library, repository, succeed};

/// The defined dynamic symbols of a library: whether each is a function or an object, with the bytes of objects.
fn symbols(library: &Path) -> BTreeMap<String, (String, Option<u64>)> {
    let output = succeed(
        Command::new("readelf")
            .args(["--dyn-syms", "-W"])
            .arg(library),
    );
    let text = String::from_utf8(output.stdout).expect("text");
    let rows = text.lines().filter_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [_, _, size, kind @ ("FUNC" | "OBJECT"), _, _, section, name] = words[..] else {
            return None;
        };
        let size = size.parse().expect("a number");
        let size = (kind == "OBJECT").then_some(size);
        (section != "UND").then(|| (name.to_owned(), (kind.to_owned(), size)))
    });
    rows.collect()
}

#[test]
fn every_symbol_of_libpcap_is_there_with_its_type_and_one_more() {
    let (theirs, ours) = (symbols(&libpcap()), symbols(library()));
    assert!(theirs.len() > 80, "{theirs:?}");
    assert!(theirs.contains_key("pcap_version"), "{theirs:?}");
    // A program has a copy of an object, so its size counts, too.
    let other: Vec<_> = theirs
        .iter()
        .filter(|(name, theirs)| ours.get(*name) != Some(theirs))
        .collect();
    assert!(other.is_empty(), "{other:?}");
    let more: Vec<_> = ours
        .keys()
        .filter(|&name| !theirs.contains_key(name))
        .collect();
    assert_eq!(more, ["tapline_pcap_account_read"]);
}

#[test]
fn an_installed_library_is_found_under_the_name_of_libpcap() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = repository().join("packaging/pcap-library.sh");
    succeed(Command::new(script).arg(library()).arg(folder.path()));
    let mut tcpdump = lab::tool::command("tcpdump");
    tcpdump.env_remove("LD_PRELOAD").arg("--version");
    let output = succeed(tcpdump.env("LD_LIBRARY_PATH", folder.path().join("lib/tapline")));
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("\ntapline "), "{text}");
}

#[test]
fn the_library_has_its_name_and_needs_only_the_c_library() {
    let output = succeed(Command::new("readelf").arg("-dW").arg(library()));
    let text = String::from_utf8(output.stdout).expect("text");
    let words = |tag: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.contains(tag));
        let names = lines.filter_map(|line| line.split(['[', ']']).nth(1));
        names.map(str::to_owned).collect()
    };
    assert_eq!(words("(SONAME)"), ["libtapline_pcap.so.1"]);
    let known = ["libc.so", "libgcc_s.so", "ld-linux", "libm.so"];
    let unknown = |name: &String| !known.iter().any(|known| name.starts_with(known));
    assert!(!words("(NEEDED)").iter().any(unknown), "{text}");
}

/// The limits name the version of glibc that a library of Debian 12 needs.
#[test]
fn the_library_needs_the_glibc_that_the_limits_name() {
    let output = succeed(Command::new("readelf").arg("-VW").arg(library()));
    let text = String::from_utf8(output.stdout).expect("text");
    let versions = text.split("GLIBC_").skip(1);
    let newest = versions
        .filter_map(|rest| {
            let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
            let parts: Result<Vec<u32>, _> = rest[..end?].split('.').map(str::parse).collect();
            parts.ok()
        })
        .max();
    let newest = newest
        .expect("a version")
        .into_iter()
        .map(|part| part.to_string());
    let newest = newest.collect::<Vec<_>>().join(".");
    let limits = std::fs::read_to_string(repository().join("docs/limits.md")).expect("a page");
    let said = format!("Built on Debian 12, it needs glibc {newest};");
    assert!(limits.contains(&said), "{newest}");
}
