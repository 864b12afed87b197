//! Reports wrong usage in one line.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::{Args, find_command, from_ip_syntax};
use crate::failure::{Exit, Failure};

/// The failure for wrong arguments. If help or the version was requested, prints it and exits.
pub fn failure(error: &clap::Error) -> Failure {
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if !error.use_stderr() || is_help {
        error.exit();
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    // The first paragraph is the error; usage and advice follow.
    let lines = text.lines().take_while(|line| !line.trim().is_empty());
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let advice = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(similar)) => format!("did you mean '{similar}'?"),
        _ => format!("see '{} --help'", command()),
    };
    Failure::new(Exit::Usage, format!("{} ({advice})", words.join(" ")))
}

/// The command on the command line, if it is known.
fn command() -> String {
    let known = Args::command();
    let given = from_ip_syntax(std::env::args_os()).into_iter().nth(1);
    match given.and_then(|word| find_command(&known, &word)) {
        Some(command) => format!("tapline {}", command.get_name()),
        None => "tapline".into(),
    }
}
