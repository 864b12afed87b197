//! How copying packets by a program fails.

use ring::{BufferError, BufferStep};
use tapline::bpf::MirrorError;

use super::drop_mode::{Answer, attaching, code, loading, map};
use super::{Exit, NO_LINK};

/// A ring buffer that was not opened.
pub(super) fn buffer(error: &BufferError) -> Answer {
    match error {
        BufferError::Setup { step, source, .. } => match (step, code(source)) {
            (_, libc::EPERM | libc::EACCES) => (Exit::Privilege, None),
            (BufferStep::Link, libc::ENODEV) => (Exit::Failed, Some(NO_LINK)),
            _ => (Exit::Failed, None),
        },
        BufferError::SnaplenZero => (Exit::Usage, None),
        _ => (Exit::Unsupported, None),
    }
}

/// Packets that are not copied.
pub(super) fn copying(error: &MirrorError) -> Answer {
    match error {
        MirrorError::Snaplen { .. } => (Exit::Usage, None),
        MirrorError::Map(error) => map(&error.source, "use --backend auto"),
        MirrorError::Load(error) => loading(
            error,
            "needs Linux 5.18, and a filter that is not too long: use --backend auto",
        ),
        MirrorError::Attach { refusal, .. } => attaching(refusal, "use --backend auto"),
        _ => (Exit::Failed, None),
    }
}
