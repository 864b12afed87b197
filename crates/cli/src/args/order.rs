//! Flags before the command, as ip(8) has them: `tapline -n NAME --json link show`.

use std::ffi::{OsStr, OsString};

use clap::{Command, CommandFactory};

use super::Args;

/// Flags in the words of ip(8), and ours.
const WORDS: [(&str, &str); 12] = [
    ("-compressvlans", "--compressvlans"),
    ("-br", "--brief"),
    ("-brief", "--brief"),
    ("-details", "--details"),
    ("-json", "--json"),
    ("-netns", "--netns"),
    ("-oneline", "--oneline"),
    ("-pretty", "--pretty"),
    ("-statistics", "--statistics"),
    ("-stats", "--statistics"),
    ("-family", FAMILY),
    ("-force", "--force"),
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
    let at = 1 + typed.get(1..).map_or(0, leading_flags);
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
    ordered.extend(in_our_words(typed[1..at].iter().chain(&typed[behind..])));
    ordered.extend_from_slice(&typed[at + 1..behind.max(at + 1)]);
    ordered
}

/// `-color` or its beginning as ours; `-c` is one already, and means something else in some commands.
fn color(word: &OsStr) -> Option<OsString> {
    let word = word.to_str()?;
    let (name, when) = match word.split_once('=') {
        Some((name, when)) => (name, format!("={when}")),
        None => (word, String::new()),
    };
    let is_color = name.len() > 2 && "-color".starts_with(name);
    let is_short = name == "-c" && ["=always", "=auto", "=never"].contains(&when.as_str());
    (is_color || is_short).then(|| format!("--color{when}").into())
}

/// How many words of `typed` are flags and their values before another word.
pub fn leading_flags<W: AsRef<OsStr>>(typed: &[W]) -> usize {
    let mut at = 0;
    while let Some(word) = typed.get(at).map(AsRef::as_ref)
        && word.as_encoded_bytes().starts_with(b"-")
    {
        at += if takes_value(word) { 2 } else { 1 };
    }
    at.min(typed.len())
}

/// `typed` with the flags of ip(8) as ours.
pub fn in_our_words<W: AsRef<OsStr>>(typed: impl IntoIterator<Item = W>) -> Vec<OsString> {
    let mut words = typed.into_iter();
    let mut ordered = Vec::new();
    while let Some(word) = words.next() {
        match ours(word.as_ref()) {
            Some(FAMILY) => {
                let family = words.next();
                let is_v6 = family.is_some_and(|family| family.as_ref() == "inet6");
                ordered.push(if is_v6 { "-6" } else { "-4" }.into());
            }
            Some(ours) => ordered.push(ours.into()),
            None => {
                let color = color(word.as_ref());
                ordered.push(color.unwrap_or_else(|| word.as_ref().to_owned()));
            }
        }
    }
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
            ("tapline -c link", "tapline link -c"),
            ("tapline -col=auto link", "tapline link --color=auto"),
            (
                "tapline -c=never -p -j link",
                "tapline link --color=never -p -j",
            ),
            ("tapline monitor -c 5", "tapline monitor -c 5"),
            ("tapline --version", "tapline --version"),
            ("tapline -n x capture", "tapline -n x capture"),
            ("tapline capture -br", "tapline capture -br"),
            ("tapline -n", "tapline -n"),
        ] {
            assert_eq!(ordered(typed), wanted);
        }
    }
}
