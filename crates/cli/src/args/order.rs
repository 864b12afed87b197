//! Flags before the command, as ip(8) has them: `tapline -n NAME --json link show`.

use std::ffi::{OsStr, OsString};

use clap::{Command, CommandFactory};

use super::Args;

/// Flags in the words of ip(8), and ours.
const WORDS: [(&str, &str); 10] = [
    ("-compressvlans", "--compressvlans"),
    ("-br", "--brief"),
    ("-brief", "--brief"),
    ("-details", "--details"),
    ("-json", "--json"),
    ("-netns", "--netns"),
    ("-oneline", "--oneline"),
    ("-statistics", "--statistics"),
    ("-stats", "--statistics"),
    ("-family", FAMILY),
];

/// A flag that is another one, as its value says.
const FAMILY: &str = "-f";

/// `typed` with the flags behind the command where it is one that configures the stack.
pub fn reordered(typed: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let typed: Vec<OsString> = typed.into_iter().collect();
    let is_flag = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    if !typed.iter().any(is_flag) {
        return typed;
    }
    let mut at = 1;
    while typed.get(at).is_some_and(is_flag) {
        at += if takes_value(&typed[at]) { 2 } else { 1 };
    }
    let known = Args::command();
    let command = typed.get(at).and_then(|word| named(&known, word));
    if !command.is_some_and(configures) {
        return typed;
    }
    let mut ordered = vec![typed[0].clone(), typed[at].clone()];
    // Behind that of namespaces may stand the words of any program.
    let behind = if command.is_some_and(|command| command.get_name() == "netns") {
        typed.len()
    } else {
        at + 1
    };
    let mut words = typed[1..at].iter().chain(&typed[behind..]);
    while let Some(word) = words.next() {
        match ours(word) {
            Some(FAMILY) => {
                let family = words.next().and_then(|family| family.to_str());
                ordered.push(if family == Some("inet6") { "-6" } else { "-4" }.into());
            }
            Some(ours) => ordered.push(ours.into()),
            None => ordered.push(word.clone()),
        }
    }
    ordered.extend_from_slice(&typed[at + 1..behind.max(at + 1)]);
    ordered
}

/// The command that `word` is, or alone begins.
pub fn named<'a>(known: &'a Command, word: &OsStr) -> Option<&'a Command> {
    known.find_subcommand(word).or_else(|| {
        let word = word.to_str().filter(|word| !word.is_empty())?;
        let begins = |command: &&Command| {
            let mut names = command.get_name_and_visible_aliases().into_iter();
            names.any(|name| name.starts_with(word))
        };
        let mut fitting = known.get_subcommands().filter(begins);
        fitting.next().filter(|_| fitting.next().is_none())
    })
}

/// Whether it does so in a namespace that can be given.
fn configures(command: &Command) -> bool {
    let mut flags = command.get_arguments();
    flags.any(|flag| flag.get_id() == "netns")
}

fn ours(word: &OsStr) -> Option<&'static str> {
    let found = WORDS.iter().find(|(theirs, _)| word == *theirs);
    found.map(|(_, ours)| *ours)
}

fn takes_value(word: &OsStr) -> bool {
    let values = ["-n", "-netns", "--netns", "-family"];
    values.iter().any(|value| word == *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(line: &str) -> String {
        let words = reordered(line.split(' ').map(OsString::from));
        words.join(OsStr::new(" ")).into_string().expect("text")
    }

    #[test]
    fn flags_go_behind_commands_that_configure() {
        for (typed, wanted) in [
            ("tapline -n x link show", "tapline link -n x show"),
            ("tapline -j -d route", "tapline route -j -d"),
            ("tapline -br a", "tapline a --brief"),
            (
                "tapline -json addr show dev x",
                "tapline addr --json show dev x",
            ),
            ("tapline -family inet6 route", "tapline route -6"),
            ("tapline link show -br", "tapline link show --brief"),
            ("tapline -netns x monitor", "tapline monitor --netns x"),
            ("tapline -6 batch -", "tapline batch -6 -"),
            (
                "tapline -json netns exec x ip -br link",
                "tapline netns --json exec x ip -br link",
            ),
            (
                "tapline -compressvlans vlan",
                "tapline vlan --compressvlans",
            ),
            ("tapline --version", "tapline --version"),
            ("tapline -n x capture", "tapline -n x capture"),
            ("tapline capture -br", "tapline capture -br"),
            ("tapline -n", "tapline -n"),
        ] {
            assert_eq!(ordered(typed), wanted);
        }
    }
}
