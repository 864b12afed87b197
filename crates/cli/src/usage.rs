//! Wrong usage in one line.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::{Args, named, reordered};
use crate::failure::{Exit, Failure};

/// What is wrong with the arguments. Where help or the version is the answer, prints it and ends
/// the program.
pub fn failure(error: &clap::Error) -> Failure {
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if !error.use_stderr() || is_help {
        error.exit();
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    // The first paragraph says what is wrong; usage and advice follow it.
    let lines = text.lines().take_while(|line| !line.trim().is_empty());
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let advice = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(similar)) => format!("did you mean '{similar}'?"),
        _ => format!("'{} --help' tells more", command()),
    };
    Failure::new(Exit::Usage, format!("{} ({advice})", words.join(" ")))
}

/// The command that was given, as far as it is known.
fn command() -> String {
    let known = Args::command();
    let given = reordered(std::env::args_os()).into_iter().nth(1);
    match given.and_then(|word| named(&known, &word)) {
        Some(command) => format!("tapline {}", command.get_name()),
        None => "tapline".into(),
    }
}
