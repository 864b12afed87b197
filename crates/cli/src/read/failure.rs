//! Exit status, advice and text for the errors of a read job.

use std::error::Error;

use tapline::file::write::WriteError;
use tapline::filter::{FilterError, FilterErrorReason, LinkType};
use tapline::read::ReadError;

use super::arguments::Arguments;
use crate::failure::{Exit, Failure, full_disk, is_closed_output};
use crate::filter::shown;

const CHOOSE_INTERFACES: &str = "choose interfaces with -i";

#[cold]
pub fn failure(error: &ReadError, arguments: &Arguments) -> Failure {
    match error {
        ReadError::Write(write) => write_failure(write),
        ReadError::Consumer(consumer) => output_failure(&**consumer),
        ReadError::Filter {
            interface,
            link,
            source,
        } => filter_failure(interface, *link, source, arguments),
        ReadError::ProgramLinkTypes { .. } => {
            with_advice(&Failure::job(error), CHOOSE_INTERFACES, Exit::Failed)
        }
        ReadError::UnknownInterfaces(_) => {
            with_advice(&Failure::job(error), "--summary lists them", Exit::Failed)
        }
        ReadError::EmptyTimeRange => Failure::new(Exit::Usage, "--from is not before --to"),
        ReadError::FilterRejectsAll => Failure::new(Exit::Usage, error.to_string()),
        _ => Failure::job(error),
    }
}

fn with_advice(failure: &Failure, advice: &str, exit: Exit) -> Failure {
    Failure::new(exit, format!("{} ({advice})", failure.line))
}

fn output_failure(error: &(dyn Error + 'static)) -> Failure {
    if is_closed_output(error) {
        Failure::closed()
    } else {
        Failure::job(error)
    }
}

fn write_failure(error: &WriteError) -> Failure {
    let failure = output_failure(error);
    match error {
        WriteError::TimeOutOfRange { .. } => {
            with_advice(&failure, "use --format pcapng", Exit::Failed)
        }
        WriteError::LinkTypeDiffers { .. } => {
            let advice = "use --format pcapng, or choose interfaces with -i";
            with_advice(&failure, advice, Exit::Failed)
        }
        error => match full_disk(error, "free space, or use --compress zstd") {
            Some(advice) => with_advice(&failure, advice, Exit::Failed),
            None => failure,
        },
    }
}

fn filter_failure(
    interface: &str,
    link: LinkType,
    error: &FilterError,
    arguments: &Arguments,
) -> Failure {
    if let Some(guess) = &arguments.guess
        && error.suggestion.is_none()
        && is_no_filter(&error.reason)
        && (error.span.start < guess.word.len() || guess.has_files)
    {
        let word = &guess.word;
        let line = format!("cannot open {word}: no such file, and not a valid filter: {error}");
        return Failure::new(Exit::Failed, line);
    }
    let line = format!("filter is invalid for interface {interface} (link type {link}): {error}");
    Failure {
        below: shown(arguments.filter.as_deref().unwrap_or_default(), error),
        ..Failure::new(Exit::Usage, line)
    }
}

/// Whether the words are no filter for any link type.
fn is_no_filter(reason: &FilterErrorReason) -> bool {
    matches!(
        reason,
        FilterErrorReason::Unknown { .. }
            | FilterErrorReason::Unexpected { .. }
            | FilterErrorReason::Character
            | FilterErrorReason::InvalidIpv4(_)
            | FilterErrorReason::InvalidIpv6(_)
            | FilterErrorReason::InvalidMac(_)
    )
}
