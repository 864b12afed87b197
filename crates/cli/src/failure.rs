//! How the program fails: one line, and an exit status.

mod drop_mode;
mod mirror;
mod netlink;

use std::error::Error;
use std::io;

use ring::{OpenError, SetupError, Step};
use store::write::WriteError;
use tapline::bpf::socket_filter::CountingFilterError;
use tapline::bpf::{LoadError, XdpAttachError};
use tapline::capture::CaptureError;

use crate::output::STDOUT;

/// Exit statuses of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// The job failed, or found what it was asked to find failing.
    Failed = 1,
    /// Wrong usage.
    Usage = 2,
    /// A privilege is missing.
    Privilege = 3,
    /// Not supported by this kernel, driver or build.
    Unsupported = 4,
}

/// What is printed behind `tapline: `, and how the program ends.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub line: String,
    /// Lines that show the place, printed below; often none.
    pub below: String,
}

impl Failure {
    pub fn new(exit: Exit, line: impl Into<String>) -> Self {
        Self {
            exit,
            line: line.into(),
            below: String::new(),
        }
    }

    /// A failed job, in the words of its error and all its sources.
    pub fn job(error: &dyn Error) -> Self {
        Self::new(Exit::Failed, chain(error))
    }

    /// As [`Failure::job`], about `what`.
    pub fn job_on(what: impl std::fmt::Display, error: &dyn Error) -> Self {
        Self::new(Exit::Failed, format!("{what}: {}", chain(error)))
    }

    /// Nobody reads standard output any more: an end in order, of which there is nothing to say.
    pub fn closed() -> Self {
        Self::new(Exit::Done, "")
    }

    /// What could not be written to standard output.
    pub fn output(what: &str, error: &io::Error) -> Self {
        if is_closed_output(error) {
            Self::closed()
        } else {
            Self::job_on(what, error)
        }
    }

    /// As [`Failure::output`], of whatever the job tells.
    pub fn stdout(error: &io::Error) -> Self {
        Self::output("cannot write to standard output", error)
    }
}

/// Whether an error of writing, to whatever may be standard output, says that nobody reads that.
pub fn is_closed_output(error: &(dyn Error + 'static)) -> bool {
    let source = match error.downcast_ref::<WriteError>() {
        Some(WriteError::Write { file, source, .. }) if file.as_os_str() == STDOUT => Some(source),
        Some(_) => None,
        None => error.downcast_ref::<io::Error>(),
    };
    source.is_some_and(|source| source.kind() == io::ErrorKind::BrokenPipe)
}

/// An error and its sources in one line; the number that Rust appends to the system's words is left out.
pub fn chain(error: &dyn Error) -> String {
    let mut line = words(error);
    let mut next = error.source();
    while let Some(source) = next {
        let text = words(source);
        if !line.ends_with(&text) {
            line = format!("{line}: {text}");
        }
        next = source.source();
    }
    line
}

/// The last of the reasons alone.
pub fn innermost(error: &dyn Error) -> String {
    error.source().map_or_else(|| chain(error), innermost)
}

fn words(error: &dyn Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) if text.ends_with(')') => text[..end].to_owned(),
        _ => text,
    }
}

/// Why XDP was refused, in a few words: what is in the way, or else the kernel's answer.
pub fn xdp_refusal(refusal: &XdpAttachError) -> String {
    match (&refusal.holder, &refusal.mtu) {
        (Some(holder), _) => holder.to_string(),
        (None, Some(mtu)) => mtu.to_string(),
        (None, None) => chain(&refusal.source),
    }
}

/// What helps where there is no such interface.
pub const NO_LINK: &str = "'ip link' lists the interfaces";

impl From<CaptureError> for Failure {
    fn from(error: CaptureError) -> Self {
        let (exit, advice) = match &error {
            CaptureError::Ring(OpenError::Option(_))
            | CaptureError::Filter { .. }
            | CaptureError::NoLink
            | CaptureError::LinkTwice { .. } => (Exit::Usage, None),
            CaptureError::Ring(OpenError::Setup(error)) => setup(error),
            CaptureError::Ring(_) => (Exit::Unsupported, None),
            CaptureError::LinkDown { link } => (
                Exit::Failed,
                Some(format!("bring it up with 'ip link set {link} up'")),
            ),
            CaptureError::Mode(error) => owned(drop_mode::mode(*error)),
            CaptureError::Xdp(error) => owned(drop_mode::ring(error)),
            CaptureError::Steer { error, .. } => owned(drop_mode::steering(error)),
            CaptureError::Buffer(error) => owned(mirror::buffer(error)),
            CaptureError::Copy { error, .. } => owned(mirror::copying(error)),
            CaptureError::Sampling { error, .. } => sampling(error),
            CaptureError::SamplingSplit { .. } => (
                Exit::Unsupported,
                Some("use a shorter filter, or --mode drop".to_owned()),
            ),
            CaptureError::Link(error) if error.errno() == Some(libc::ENODEV) => {
                (Exit::Failed, Some(NO_LINK.to_owned()))
            }
            _ => (Exit::Failed, None),
        };
        if exit == Exit::Privilege
            && let Some(line) = drop_mode::privileges(&error)
        {
            return Self::new(exit, line);
        }
        let line = chain(&error);
        let line = match advice {
            Some(advice) => format!("{line} ({advice})"),
            None => line,
        };
        Self::new(exit, line)
    }
}

fn owned((exit, advice): drop_mode::Answer) -> (Exit, Option<String>) {
    (exit, advice.map(str::to_owned))
}

/// Exit status and advice where the kernel does not sample.
fn sampling(error: &CountingFilterError) -> (Exit, Option<String>) {
    let refusal = match error {
        CountingFilterError::Map(error) => Some(&error.source),
        CountingFilterError::Load(LoadError::Refused { source, .. }) => Some(source),
        _ => None,
    };
    match refusal.and_then(io::Error::raw_os_error) {
        Some(libc::EPERM | libc::EACCES) => (Exit::Privilege, None),
        _ => (Exit::Unsupported, None),
    }
}

/// Exit status and advice for a step of the set-up that the kernel refused.
fn setup(error: &SetupError) -> (Exit, Option<String>) {
    let errno = error.source.raw_os_error().unwrap_or(0);
    let advice = |text: &str| Some(text.to_owned());
    match (error.step, errno) {
        (Step::Timestamps, libc::EPERM | libc::EACCES) => (
            Exit::Privilege,
            advice("needs CAP_NET_ADMIN; run with sudo or setcap"),
        ),
        (_, libc::EPERM | libc::EACCES) => (
            Exit::Privilege,
            advice("needs CAP_NET_RAW; run with sudo or setcap"),
        ),
        (Step::Link, libc::ENODEV) => (Exit::Failed, advice(NO_LINK)),
        (Step::Bind, libc::ENETDOWN) => (
            Exit::Failed,
            Some(format!("bring it up with 'ip link set {} up'", error.link)),
        ),
        (Step::Ring, libc::ENOMEM) => (Exit::Failed, advice("try a smaller --buffer")),
        (Step::StallRing, libc::ENOMEM) => (
            Exit::Failed,
            advice("try a shorter --stall, or a smaller -s"),
        ),
        (Step::Timestamps, libc::EOPNOTSUPP | libc::ERANGE | libc::ENOTTY) => {
            (Exit::Unsupported, advice("use --timestamp kernel"))
        }
        (Step::Direction | Step::Version, libc::ENOPROTOOPT | libc::EINVAL) => {
            (Exit::Unsupported, advice("needs Linux 4.20"))
        }
        _ => (Exit::Failed, None),
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if is_closed_output(&error) {
            Self::closed()
        } else {
            Self::job(&error)
        }
    }
}
