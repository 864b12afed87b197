//! Exit status and advice for errors of a count.

use std::error::Error;
use std::io;

use rustix::thread::CapabilitySet;
use tapline::count::{CountError, LoadError, XdpMode};

use crate::args::CountArgs;
use crate::failure::{Exit, Failure, NO_LINK, chain, innermost};
use crate::process::privilege;

/// The failure for an invalid filter of a class, with the position in the text `below`.
pub fn of_filter(args: &CountArgs, error: &CountError, below: String) -> Failure {
    let mut line = chain(error);
    if args.classes.len() > 1 {
        // The words of an unquoted filter become classes of their own.
        line += " (a class is one argument: 'NAME=FILTER')";
    } else if args.classes.iter().any(|class| is_like_a_name(&class.name)) {
        line += " (the NAME of 'NAME=FILTER' has no blanks)";
    }
    Failure {
        below,
        ..Failure::new(Exit::Usage, line)
    }
}

/// Whether the text before `=` looks like a name with blanks, not like a comparison.
fn is_like_a_name(expression: &str) -> bool {
    let before = expression.split_once('=').map(|(before, _)| before);
    before.is_some_and(|name| name.contains(' ') && !name.contains(['[', '&', '<', '>', '!']))
}

/// The failure to open a count. Reports all missing privileges at once, not only the first one.
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

/// The required privileges.
const NEEDED: [(CapabilitySet, &str); 3] = [
    (CapabilitySet::BPF, "CAP_BPF"),
    (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"),
    (CapabilitySet::PERFMON, "CAP_PERFMON"),
];

impl From<CountError> for Failure {
    fn from(error: CountError) -> Self {
        let line = chain(&error);
        let (exit, advice) = advice(&error);
        // The error may have its own advice.
        if advice.is_empty() || line.contains("(needs ") {
            Self::new(exit, line)
        } else {
            Self::new(exit, format!("{line} ({advice})"))
        }
    }
}

fn advice(error: &CountError) -> (Exit, &'static str) {
    match error {
        CountError::NoInterface
        | CountError::DuplicateInterface { .. }
        | CountError::DuplicateClass { .. }
        | CountError::UnknownClass { .. }
        | CountError::TooManyClasses { .. }
        | CountError::InvalidOptions { .. }
        | CountError::ProgramFilter { .. }
        | CountError::Filter { .. } => return (Exit::Usage, ""),
        CountError::TooManyGroups { .. } => return (Exit::Usage, "use a smaller --groups"),
        CountError::LinkLayer { is_known: true, .. } => {
            return (Exit::Usage, "use --layer l2");
        }
        CountError::LinkLayer { .. } => return (Exit::Unsupported, ""),
        CountError::Load { error, .. } if error.is_privilege() => {
            return (
                Exit::Privilege,
                "needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON; run with sudo or setcap",
            );
        }
        CountError::Load {
            error: LoadError::Refused { source, .. },
            ..
        } if is_too_much(source) => {
            let advice = "the filters are too long for the kernel: use shorter or fewer ones";
            return (Exit::Unsupported, advice);
        }
        CountError::Load { error, .. } if error.is_kernel_older_than((6, 6)) => {
            let advice = "the programs of all filters and keys need Linux 5.18, long ones 6.6";
            return (Exit::Unsupported, advice);
        }
        CountError::Load {
            error: LoadError::Refused { log, .. },
            ..
        } if !log.whole().is_empty() => return (Exit::Unsupported, ""),
        // The driver does not support it. Other errors have their own advice.
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

/// Whether a program is longer than the kernel allows, or has more paths than the verifier follows.
///
/// # Source
/// `push_stack` and `do_check`, kernel/bpf/verifier.c; `bpf_prog_load`, kernel/bpf/syscall.c.
fn is_too_much(answer: &io::Error) -> bool {
    const ANSWERS: [i32; 3] = [libc::ENOMEM, libc::E2BIG, libc::EFAULT];
    answer
        .raw_os_error()
        .is_some_and(|answer| ANSWERS.contains(&answer))
}

/// The error number of the kernel, if it is the cause.
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
