//! ip(8)'s flags: spelled with one dash, and before the command (`tapline -n NAME -json link show`).

use std::ffi::{OsStr, OsString};

use clap::{Command, CommandFactory};

use super::Args;

/// iproute2's spelling of flags.
const SPELLINGS: [(&str, &str); 12] = [
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
    ("-color", "--color"),
    ("-force", "--force"),
];

/// Flags whose value is the next word.
const WITH_VALUE: [&str; 6] = ["-n", "-netns", "--netns", "-family", BATCH[0], BATCH[1]];

/// Reads commands from the file that follows.
const BATCH: [&str; 2] = ["-b", "-batch"];

/// The arguments with ip(8)'s flags translated, and moved behind the command. Other commands are left as they are.
pub fn from_ip_syntax(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let is_flag = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    if !arguments.iter().any(is_flag) {
        return arguments;
    }
    let flags = leading_flags(arguments.get(1..).unwrap_or_default());
    // `-batch FILE` is a command here.
    let is_batch = |word: &OsString| BATCH.iter().any(|spelling| word == spelling);
    let leading = arguments.iter().take(1 + flags);
    let batch = leading.enumerate().skip(1).find(|(_, word)| is_batch(word));
    if let Some((at, _)) = batch {
        arguments[at] = "batch".into();
        arguments[1..=at].rotate_right(1);
        return arguments[..2]
            .iter()
            .cloned()
            .chain(translate_flags(&arguments[2..]))
            .collect();
    }
    let known = Args::command();
    let command = arguments.get(1 + flags);
    let command = command.and_then(|word| find_command(&known, word));
    let Some(command) = command.filter(|command| has_namespace_flag(command)) else {
        return arguments;
    };
    arguments[1..2 + flags].rotate_right(1);
    let mut words = arguments.split_off(2);
    // The words of `netns exec` belong to another program.
    let others = if command.get_name() == "netns" {
        words.split_off(flags)
    } else {
        Vec::new()
    };
    arguments.extend(translate_flags(&words));
    arguments.extend(others);
    arguments
}

/// The number of leading words that are flags and their values.
pub fn leading_flags<W: AsRef<OsStr>>(words: &[W]) -> usize {
    let mut count = 0;
    while let Some(word) = words.get(count).map(AsRef::as_ref)
        && word.as_encoded_bytes().starts_with(b"-")
    {
        let has_value = WITH_VALUE.iter().any(|flag| word == *flag);
        count += if has_value { 2 } else { 1 };
    }
    count.min(words.len())
}

/// The words with ip(8)'s flags translated.
pub fn translate_flags<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> Vec<OsString> {
    let mut words = words.into_iter();
    let mut translated = Vec::new();
    while let Some(word) = words.next() {
        let word = word.as_ref();
        if word == "-family" {
            let is_v6 = words
                .next()
                .is_some_and(|family| family.as_ref() == "inet6");
            translated.push(if is_v6 { "-6" } else { "-4" }.into());
            continue;
        }
        let text = word.to_str().unwrap_or_default();
        let (name, value) = text.split_at(text.find('=').unwrap_or(text.len()));
        let spelling = SPELLINGS.iter().find(|(known, _)| *known == name);
        translated.push(match spelling {
            Some((_, name)) => format!("{name}{value}").into(),
            None => word.to_owned(),
        });
    }
    translated
}

/// The command with this name or unambiguous abbreviation.
pub fn find_command<'a>(known: &'a Command, word: &OsStr) -> Option<&'a Command> {
    known.find_subcommand(word).or_else(|| {
        let word = word.to_str().filter(|word| !word.is_empty())?;
        let matches = |command: &&Command| {
            let mut names = command.get_name_and_visible_aliases().into_iter();
            names.any(|name| name.starts_with(word))
        };
        let mut matching = known.get_subcommands().filter(matches);
        matching.next().filter(|_| matching.next().is_none())
    })
}

/// Whether the command configures the network: -n is ip(8)'s namespace.
fn has_namespace_flag(command: &Command) -> bool {
    let mut flags = command.get_arguments();
    flags.any(|flag| flag.get_id() == "netns" && flag.get_short() == Some('n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_move_behind_commands_that_configure() {
        for (typed, expected) in [
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
            ("tapline -color=auto link", "tapline link --color=auto"),
            ("tapline -c=never -p -j link", "tapline link -c=never -p -j"),
            ("tapline monitor -c 5", "tapline monitor -c 5"),
            ("tapline --version", "tapline --version"),
            ("tapline -n x capture", "tapline -n x capture"),
            ("tapline capture -br", "tapline capture -br"),
            ("tapline -n", "tapline -n"),
            ("tapline -b file", "tapline batch file"),
            (
                "tapline -n x -force -batch - -j",
                "tapline batch -n x --force - -j",
            ),
        ] {
            let words = from_ip_syntax(typed.split(' ').map(OsString::from));
            let words = words.join(OsStr::new(" ")).into_string().expect("text");
            assert_eq!(words, expected);
        }
    }
}
