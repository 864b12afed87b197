//! How drop mode fails, and what copying packets by a program has in common with it.

use std::io;

use ring::{BufferError, XdpOpenError, XdpSetupError, XdpStep};
use rustix::thread::CapabilitySet;
use tapline::bpf::{LoadError, RedirectError, XdpAttachError, XdpMode};
use tapline::capture::{Backend, CaptureError, MirrorLimit, ModeError};

use super::{Exit, NO_LINK, innermost};
use crate::privilege;

/// Exit status, and advice where the error's own words have none.
pub(super) type Answer = (Exit, Option<&'static str>);

/// What was asked for and cannot be had in its mode.
pub(super) fn mode(error: ModeError) -> Answer {
    let exit = if error.is_unsupported() {
        Exit::Unsupported
    } else {
        Exit::Usage
    };
    let advice = match error {
        ModeError::Backend {
            backend: Backend::Xdp,
            ..
        } => Some("use --mode drop"),
        ModeError::Backend { .. } => Some("use --backend xdp or auto"),
        ModeError::Mirror(MirrorLimit::HardwareTime | MirrorLimit::ClassicProgram) => {
            Some("use --backend auto")
        }
        ModeError::Outgoing => Some("use --direction in, or --mode mirror"),
        ModeError::HardwareTime => Some("use --timestamp kernel, or --mode mirror"),
        ModeError::ClassicProgram => Some("give its expression, or use --mode mirror"),
        _ => None,
    };
    (exit, advice)
}

/// What XDP with sockets asks for, whatever the filter is.
const NEEDED: [(CapabilitySet, &str); 3] = [
    (CapabilitySet::NET_RAW, "CAP_NET_RAW"),
    (CapabilitySet::BPF, "CAP_BPF"),
    (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"),
];

/// Of what is asked for all that is missing, not what the kernel asked for first; `None` if it is
/// something else.
pub(super) fn privileges(error: &CaptureError) -> Option<String> {
    let (CaptureError::Steer { link, .. }
    | CaptureError::Copy { link, .. }
    | CaptureError::Buffer(BufferError::Setup { link, .. })
    | CaptureError::Xdp(XdpOpenError::Setup(XdpSetupError { link, .. }))) = error
    else {
        return None;
    };
    let needed = privilege::missing_words(&NEEDED)?;
    let answer = innermost(error);
    Some(format!(
        "cannot capture from {link} by XDP: {answer} (needs {needed}; run with sudo or setcap)"
    ))
}

/// A ring over AF_XDP that was not opened.
pub(super) fn ring(error: &XdpOpenError) -> Answer {
    match error {
        XdpOpenError::Option(_) => (Exit::Usage, None),
        XdpOpenError::Setup(error) => setup(error),
        _ => (Exit::Unsupported, Some("use --mode mirror")),
    }
}

fn setup(error: &XdpSetupError) -> Answer {
    match (error.step, code(&error.source)) {
        (_, libc::EPERM | libc::EACCES) | (XdpStep::Memory, libc::ENOBUFS) => {
            (Exit::Privilege, None)
        }
        (XdpStep::Link, libc::ENODEV) => (Exit::Failed, Some(NO_LINK)),
        (XdpStep::Socket, libc::EAFNOSUPPORT) | (XdpStep::Bind, libc::EOPNOTSUPP) => {
            (Exit::Unsupported, Some("use --mode mirror"))
        }
        _ => (Exit::Failed, None),
    }
}

/// Packets that were not steered into the rings.
pub(super) fn steering(error: &RedirectError) -> Answer {
    match error {
        RedirectError::Map(error) => map(&error.source, "use --mode mirror"),
        RedirectError::Load(error) => loading(
            error,
            "the filter is too much for XDP here: a shorter one, or --mode mirror",
        ),
        RedirectError::Attach { refusal, .. } => attaching(refusal, "use --mode mirror"),
        _ => (Exit::Failed, None),
    }
}

/// An XDP program that was not attached; `instead` is what helps where XDP does not work at all.
pub(super) fn attaching(refusal: &XdpAttachError, instead: &'static str) -> Answer {
    match code(&refusal.source) {
        libc::EPERM | libc::EACCES => (Exit::Privilege, None),
        // The refusal tells what to do.
        _ if refusal.mtu.as_ref().is_some_and(|mtu| mtu.is_certain) => (Exit::Unsupported, None),
        libc::EOPNOTSUPP | libc::EINVAL | libc::ERANGE if refusal.mode == XdpMode::Native => {
            (Exit::Unsupported, Some("use --xdp auto or generic"))
        }
        libc::EOPNOTSUPP | libc::EINVAL | libc::ERANGE => (Exit::Unsupported, Some(instead)),
        _ => (Exit::Failed, None),
    }
}

/// The verifier writes a log also when it is only a privilege that it misses.
pub(super) fn loading(error: &LoadError, instead: &'static str) -> Answer {
    match error {
        LoadError::Refused { source, .. } if code(source) == libc::EPERM => (Exit::Privilege, None),
        LoadError::Refused { log, .. } if log.whole().contains("prohibited for !root") => (
            Exit::Privilege,
            Some("needs CAP_PERFMON; run with sudo or setcap"),
        ),
        LoadError::Refused { .. } => (Exit::Unsupported, Some(instead)),
        _ => (Exit::Failed, None),
    }
}

/// A map that was not made; `instead` is what helps where the kernel does not know such maps.
pub(super) fn map(error: &io::Error, instead: &'static str) -> Answer {
    match code(error) {
        libc::EPERM | libc::EACCES => (Exit::Privilege, None),
        libc::EINVAL | libc::ENOSYS => (Exit::Unsupported, Some(instead)),
        _ => (Exit::Failed, None),
    }
}

pub(super) fn code(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(0)
}
