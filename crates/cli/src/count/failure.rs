//! How a count fails: exit status and advice.

use std::error::Error;
use std::io;

use bpf::{LoadError, XdpMode};
use rustix::thread::CapabilitySet;
use tapline::count::CountError;

use crate::args::CountArgs;
use crate::failure::{Exit, Failure, NO_LINK, chain, innermost};
use crate::privilege;

/// A class whose filter is wrong, with the place shown `below`.
pub fn of_filter(args: &CountArgs, error: &CountError, below: String) -> Failure {
    let mut line = chain(error);
    if args.classes.len() > 1 {
        // Words of a filter that are not quoted become classes of their own.
        line += " (a class is one argument: 'NAME=FILTER')";
    } else if args.classes.iter().any(|class| is_like_a_name(&class.name)) {
        line += " (the NAME of 'NAME=FILTER' has no blanks)";
    }
    Failure {
        below,
        ..Failure::new(Exit::Usage, line)
    }
}

/// Whether words before an `=` were taken for a comparison, and do not look like one.
fn is_like_a_name(expression: &str) -> bool {
    let before = expression.split_once('=').map(|(before, _)| before);
    before.is_some_and(|name| name.contains(' ') && !name.contains(['[', '&', '<', '>', '!']))
}

/// A count that cannot begin. Of missing privileges all are told at once, not the one that the kernel
/// asked for first.
pub fn of_opening(args: &CountArgs, error: CountError) -> Failure {
    if advice(&error).0 != Exit::Privilege {
        return error.into();
    }
    let Some(needed) = privilege::missing_words(&NEEDED) else {
        return error.into();
    };
    let (links, source) = (args.interface.join(", "), innermost(&error));
    Failure::new(
        Exit::Privilege,
        format!("cannot count on {links}: {source} (needs {needed}; run with sudo or setcap)"),
    )
}

/// What counting asks for.
const NEEDED: [(CapabilitySet, &str); 3] = [
    (CapabilitySet::BPF, "CAP_BPF"),
    (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"),
    (CapabilitySet::PERFMON, "CAP_PERFMON"),
];

impl From<CountError> for Failure {
    fn from(error: CountError) -> Self {
        let line = chain(&error);
        let (exit, advice) = advice(&error);
        // The error may say itself what is needed.
        if advice.is_empty() || line.contains("(needs ") {
            Self::new(exit, line)
        } else {
            Self::new(exit, format!("{line} ({advice})"))
        }
    }
}

fn advice(error: &CountError) -> (Exit, &'static str) {
    match error {
        CountError::NoLink
        | CountError::LinkTwice { .. }
        | CountError::ClassTwice { .. }
        | CountError::NoClass { .. }
        | CountError::TooManyClasses { .. }
        | CountError::Options { .. }
        | CountError::Filter { .. } => return (Exit::Usage, ""),
        CountError::TooManyGroups { .. } => return (Exit::Usage, "use a smaller --groups"),
        CountError::LinkLayer { is_known: true, .. } => {
            return (Exit::Usage, "use --layer l2");
        }
        CountError::LinkLayer { .. } => return (Exit::Unsupported, ""),
        CountError::Load {
            error: LoadError::Refused { log, source, .. },
            ..
        } if !log.whole().is_empty() || is_too_much(source) => return by_verifier(source),
        // The driver's; what else is in the way is said with a way out.
        CountError::Xdp { error, .. }
            if error.mode == XdpMode::Native
                && error.source.raw_os_error() == Some(libc::EOPNOTSUPP) =>
        {
            return (Exit::Unsupported, "use --ingress auto");
        }
        _ => {}
    }
    match answer(error) {
        Some(libc::EPERM | libc::EACCES) => (
            Exit::Privilege,
            "needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON; run with sudo or setcap",
        ),
        Some(libc::ENODEV) => (Exit::Failed, NO_LINK),
        Some(libc::E2BIG | libc::ENOMEM) if matches!(error, CountError::Map(_)) => (
            Exit::Failed,
            "use a smaller --groups, or shorter lists in filters",
        ),
        Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::ERANGE) => (Exit::Unsupported, ""),
        Some(libc::EINVAL) => match error {
            CountError::Tc { .. } => (Exit::Unsupported, "needs Linux 6.6"),
            CountError::Xdp { .. } | CountError::Load { .. } | CountError::Map(_) => {
                (Exit::Unsupported, "")
            }
            _ => (Exit::Failed, ""),
        },
        _ => (Exit::Failed, ""),
    }
}

/// The verifier refuses what is wrong or too much, and with the first one's number what it allows to
/// the privileged.
fn by_verifier(answer: &io::Error) -> (Exit, &'static str) {
    if is_too_much(answer) {
        let advice = "the program of all classes is too long; use fewer, or two counts";
        return (Exit::Unsupported, advice);
    }
    if privilege::missing(&NEEDED).is_empty() {
        (Exit::Unsupported, "")
    } else {
        (
            Exit::Privilege,
            "needs CAP_PERFMON too; run with sudo or setcap",
        )
    }
}

/// Whether a program is longer than the kernel takes, or has more ways through it than the verifier
/// follows.
///
/// # Source
/// `push_stack` and `do_check`, kernel/bpf/verifier.c; `bpf_prog_load`, kernel/bpf/syscall.c.
fn is_too_much(answer: &io::Error) -> bool {
    const ANSWERS: [i32; 3] = [libc::ENOMEM, libc::E2BIG, libc::EFAULT];
    answer
        .raw_os_error()
        .is_some_and(|answer| ANSWERS.contains(&answer))
}

/// What the kernel answered, if it is the reason.
fn answer(error: &CountError) -> Option<i32> {
    if let CountError::Link(error) = error {
        return error.errno();
    }
    let mut next = error.source();
    while let Some(source) = next {
        if let Some(error) = source.downcast_ref::<io::Error>() {
            return error.raw_os_error();
        }
        next = source.source();
    }
    None
}
