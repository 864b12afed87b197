//! Reports wrong usage in one line.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{Args, find_command, from_ip_syntax};
use crate::failure::{Exit, Failure};

/// The standard library's words about numbers, and ours.
const STANDARD_WORDS: [(&str, &str); 6] = [
    ("number would be zero for non-zero type", "must not be 0"),
    ("invalid digit found in string", "use a whole number"),
    (
        "cannot parse integer from empty string",
        "use a whole number",
    ),
    ("invalid float literal", "use a number"),
    (
        "number too large to fit in target type",
        "the number is too large",
    ),
    (
        "number too small to fit in target type",
        "the number is too small",
    ),
];

/// The failure for wrong arguments. If help or the version was requested, prints it and exits.
pub fn failure(error: &clap::Error) -> Failure {
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if !error.use_stderr() || is_help {
        error.exit();
    }
    let text = missing(error).unwrap_or_else(|| error.render().to_string());
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    // The first paragraph is the error; usage and advice follow.
    let lines = text.lines().take_while(|line| !line.trim().is_empty());
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let line = STANDARD_WORDS
        .iter()
        .fold(words.join(" "), |line, (from, to)| line.replace(from, to));
    let advice = match (advice(error), similar(error), beginning(error)) {
        (Some(advice), ..) => advice.to_owned(),
        (None, Some(similar), _) => format!("did you mean '{similar}'?"),
        (None, None, Some(names)) => format!("short for {names}"),
        _ => format!("see '{} --help'", command()),
    };
    Failure::new(Exit::Usage, format!("{line} ({advice})"))
}

/// The arguments that are missing, without the marks of their syntax: `FILE... [FILTER]` of `<FILE... [FILTER]>...`.
fn missing(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::Strings(names)) = error
        .get(ContextKind::InvalidArg)
        .filter(|_| error.kind() == ErrorKind::MissingRequiredArgument)
    else {
        return None;
    };
    let plain = |name: &String| {
        let inside = name
            .strip_prefix('<')
            .map(|name| name.trim_end_matches('.'));
        let inside = inside.and_then(|name| name.strip_suffix('>'));
        inside.unwrap_or(name).to_owned()
    };
    let names: Vec<String> = names.iter().map(plain).collect();
    let s = if names.len() == 1 { "" } else { "s" };
    Some(format!("missing argument{s}: {}", names.join(", ")))
}

/// The flag or command that resembles the unknown one most.
fn similar(error: &clap::Error) -> Option<&str> {
    // A letter or two begin several commands.
    let is_short = matches!(error.get(ContextKind::InvalidSubcommand), Some(ContextValue::String(word)) if word.len() < 3);
    if is_short {
        return None;
    }
    let flag = error.get(ContextKind::SuggestedArg);
    match flag.or_else(|| error.get(ContextKind::SuggestedSubcommand))? {
        ContextValue::String(similar) => Some(similar),
        // The most similar is the last one.
        ContextValue::Strings(all) => all.last().map(String::as_str),
        _ => None,
    }
}

/// The commands that begin with the given word, if there are several.
fn beginning(error: &clap::Error) -> Option<String> {
    let ContextValue::String(word) = error.get(ContextKind::InvalidSubcommand)? else {
        return None;
    };
    let known = Args::command();
    let names = known.get_subcommands().map(clap::Command::get_name);
    let names: Vec<_> = names.filter(|name| name.starts_with(word)).collect();
    (command_name().is_none() && !names.is_empty()).then(|| names.join(" or "))
}

/// What to use instead of a flag that the command does not know, but other commands, tcpdump or dumpcap do.
fn advice(error: &clap::Error) -> Option<&'static str> {
    let ContextValue::String(flag) = error.get(ContextKind::InvalidArg)? else {
        return None;
    };
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let is_negative = |flag: &str| {
        let digits = flag.strip_prefix('-');
        digits.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit()))
    };
    match (command_name()?.as_str(), flag.as_str()) {
        // An IP version is a flag of some commands.
        (_, flag) if is_negative(flag) && !matches!(flag, "-4" | "-6") => {
            Some("numbers are not negative here")
        }
        ("ping", flag) => ping_name(flag),
        ("capture" | "read", flag) => other_name(flag),
        ("ctl", word) if !word.starts_with('-') => Some("-n NAME selects a capture"),
        ("count" | "latency", "-r") => Some("for files use 'tapline read FILE'"),
        _ => None,
    }
}

/// Advice for flags of tcpdump and dumpcap that have another name here.
fn other_name(flag: &str) -> Option<&'static str> {
    Some(match flag {
        "-a" => "use --duration TIME or -c N",
        "-b" => "use --rotate-size, --rotate-interval, --rotate-packets and --keep",
        "-B" => "use --buffer SIZE",
        "-C" => "use --rotate-size SIZE",
        "-d" | "-O" => "'tapline filter' shows how a filter is compiled",
        "-E" | "-M" | "-T" | "-H" | "-m" | "-u" => "use --decode tshark",
        "-f" => "the filter is the last argument",
        "-G" => "use --rotate-interval TIME",
        "-I" | "-y" => "the link type of the interface is used",
        "-j" => "use --timestamp auto, hardware, driver or software",
        "-J" | "-L" => "'tapline doctor -i IF' shows what the interface can do",
        "-K" => "checksums are verified with -v only",
        "-N" => "names are never looked up",
        "-P" | "--micro" => "use --format pcap",
        "-r" => "files are arguments: 'tapline read FILE'",
        "-V" => "files are arguments: 'tapline read FILE FILE'",
        "-W" => "use --keep N",
        "-z" => "use --compress zstd",
        "-Z" => "privileges are dropped as soon as the capture is open",
        "--immediate-mode" => "use --delivery immediate",
        "--nano" => "use --format pcap-ns",
        "--print" => "use '-w - | tee FILE | tapline read -'",
        "--version" => "use 'tapline --version'",
        _ => return None,
    })
}

/// Advice for flags of fping and ping(8) that have another name here, or none.
fn ping_name(flag: &str) -> Option<&'static str> {
    Some(match flag {
        "-a" | "-u" => "use --csv and select rows by the columns received and lost",
        "-A" => "use -n to print addresses instead of names",
        "-b" => "use -s BYTES",
        "-B" | "-r" => "a lost probe is not sent again: -c N sends N probes",
        "-C" => "use -c N --json -v",
        "-d" => "names are printed unless -n is given",
        "-e" => "use -v",
        "-g" => "a prefix or a range is a target: 192.0.2.0/24, 192.0.2.1-192.0.2.9",
        "-H" | "-T" => "use -t TTL",
        "-l" | "-L" => "without -c and -w it pings until Ctrl-C",
        "-M" => "use --dont-fragment",
        "-O" => "use -Q TOS, or -v for lost probes",
        "-o" => "use --json or --csv: longest_outage",
        "-p" => "use -i TIME for the interval between probes to a target, such as -i 20ms",
        "-R" => "the payload is pseudo-random anyway",
        "-S" => "use -I ADDRESS",
        "-x" | "-X" => "use --fail-loss N",
        _ => return None,
    })
}

/// `tapline`, and the command on the command line if it is known.
fn command() -> String {
    match command_name() {
        Some(name) => format!("tapline {name}"),
        None => "tapline".into(),
    }
}

/// The command on the command line, if it is known.
fn command_name() -> Option<String> {
    let known = Args::command();
    let given = from_ip_syntax(std::env::args_os()).into_iter().nth(1)?;
    let command = find_command(&known, &given)?;
    Some(command.get_name().to_owned())
}
