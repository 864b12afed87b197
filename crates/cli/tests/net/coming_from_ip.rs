//! The page for users of ip(8) lists everything in the help of iproute2 that tapline lacks.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::stack::refused;
use lab::Host;

/// Commands that take the words of `ip OBJECT help`.
const COMMANDS: [(&str, &[&str]); 5] = [
    ("link", &["link set lo", "link show"]),
    (
        "address",
        &["addr add 192.0.2.1/32 dev lo", "addr show dev lo"],
    ),
    (
        "route",
        &[
            "route add 192.0.2.0/24 dev lo",
            "route add 192.0.2.0/24 nexthop",
            "route show",
            "route get 192.0.2.1",
        ],
    ),
    ("neigh", &["neigh add 192.0.2.1 dev lo", "neigh show"]),
    ("rule", &["rule add from 192.0.2.1", "rule list"]),
];

/// Words in brackets that are no keywords: values, verbs, and words behind another word.
const NO_KEYWORDS: [&str; 26] = [
    "cleanup",
    "count",
    "get",
    "hmac",
    "host",
    "inet",
    "kernel",
    "link_dev",
    "list",
    "local",
    "low",
    "mac",
    "max_tx_rate",
    "min_tx_rate",
    "mode",
    "mpls",
    "node_guid",
    "port_guid",
    "proto",
    "qos",
    "query_rss",
    "rate",
    "show",
    "spoofchk",
    "trust",
    "verbose",
];

fn help(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
}

/// The words in code on the page.
fn page() -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/coming-from-ip.md");
    let page = fs::read_to_string(path).expect("the page");
    let code = page.split('`').skip(1).step_by(2);
    let words = code.flat_map(|code| code.split([' ', '|']).map(str::to_owned));
    words.collect()
}

/// The words between `start` and the next `}`, separated by bars.
fn group<'t>(help: &'t str, start: &str) -> Vec<&'t str> {
    let (_, rest) = help.split_once(start).expect(start);
    let (inside, _) = rest.split_once('}').expect("a brace");
    let words = inside.split('|').map(str::trim);
    words.filter(|word| !word.is_empty()).collect()
}

#[test]
fn objects_and_options_of_ip_and_bridge_are_on_the_page() {
    let page = page();
    let mut missing = Vec::new();
    for (program, least) in [("ip", 30), ("bridge", 5)] {
        let help = help(program, &["help"]);
        let objects = group(&help, "OBJECT := {");
        assert!(objects.len() >= least, "{program}: {objects:?}");
        let (_, options) = help.split_once("OPTIONS := {").expect("options");
        // `-br[ief]` is short for `-brief`; `-n[etns] name` has a value.
        let options = options.split('|').filter_map(|option| {
            let word = option.trim().split([' ', '[', '}']).next()?;
            word.starts_with('-').then_some(word)
        });
        let all = objects.into_iter().chain(options);
        missing.extend(
            all.filter(|word| *word != "help" && !page.contains(*word))
                .map(|word| format!("{program} {word}")),
        );
    }
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn words_of_ip_are_known_or_on_the_page() {
    let host = Host::new("host");
    let page = page();
    let mut known = 0;
    let mut missing = Vec::new();
    for (object, commands) in COMMANDS {
        let help = help("ip", &[object, "help"]);
        let words: BTreeSet<&str> = help
            .split('[')
            .skip(1)
            .filter_map(|part| part.trim_start().split([' ', ']', '\n']).next())
            .filter(|word| {
                let is_letter = |letter: char| letter.is_ascii_lowercase() || "-_".contains(letter);
                word.len() > 1 && word.chars().all(is_letter)
            })
            .collect();
        for word in words {
            let is_known = commands.iter().any(|command| {
                // A network is the value of some words. For the others the line is refused, but not for the word.
                let (error, _) = refused(&host, &format!("{command} {word} 198.51.100.0/24"));
                !error.contains(&format!("\"{word}\" is not "))
            });
            known += usize::from(is_known);
            if !is_known && !NO_KEYWORDS.contains(&word) && !page.contains(word) {
                missing.push(format!("{object} {word}"));
            }
        }
    }
    assert!(known >= 100, "{known}");
    assert!(missing.is_empty(), "{missing:?}");
}
