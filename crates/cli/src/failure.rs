//! Failures of the program: one line on standard error and an exit status. Exit statuses are decided here.

use std::error::Error;
use std::io;

use rustix::thread::CapabilitySet;
use tapline::NamespaceError;
use tapline::capture::{
    Backend, CaptureError, CaptureErrorKind, MirrorLimit, ModeError, XdpAttachError,
};
use tapline::file::write::WriteError;
use tapline::net::{Cause, NamespaceNameError, NetlinkError};

use crate::process::privilege;

/// Name of standard output where a file name would stand.
pub const STDOUT: &str = "standard output";

/// The program of `--decode`, and the name of the pipe into it.
pub const DECODER: &str = "tshark";

/// Exit statuses of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// The job failed, or a limit that the user set was exceeded.
    Failed = 1,
    /// Wrong usage.
    Usage = 2,
    /// A privilege is missing.
    Privilege = 3,
    /// Not supported by this kernel, driver or build.
    Unsupported = 4,
}

/// The message after `tapline: `, and the exit status.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub line: String,
    /// Lines printed below the message, such as a filter with the error marked. Often empty.
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

    /// A failed job: the error and all its sources.
    pub fn job(error: &(dyn Error + 'static)) -> Self {
        let line = chain(error);
        Self::new(
            Exit::Failed,
            match missing_folder(error) {
                Some(folder) => format!("{line} (create the directory {folder} first)"),
                None => line,
            },
        )
    }

    /// A failed job, prefixed with `what` failed.
    pub fn job_on(what: impl std::fmt::Display, error: &dyn Error) -> Self {
        Self::new(Exit::Failed, format!("{what}: {}", chain(error)))
    }

    /// The reader of standard output has gone away (`| head`): a normal end without a message.
    pub fn closed() -> Self {
        Self::new(Exit::Done, "")
    }

    /// Whether it is that normal end.
    pub fn is_closed(&self) -> bool {
        self.exit == Exit::Done
    }

    /// An error of writing to standard output.
    pub fn output(what: &str, error: &io::Error) -> Self {
        if is_closed_output(error) {
            Self::closed()
        } else {
            Self::job_on(what, error)
        }
    }

    /// An error of printing to standard output.
    pub fn stdout(error: &io::Error) -> Self {
        Self::output("cannot write to standard output", error)
    }
}

/// The directory that is missing, if a file could not be created for this reason.
fn missing_folder(error: &(dyn Error + 'static)) -> Option<String> {
    let Some(error) = error.downcast_ref::<WriteError>() else {
        return missing_folder(error.source()?);
    };
    let WriteError::Create { file, source } = error else {
        return None;
    };
    let folder = file.parent().filter(|folder| !folder.exists())?;
    (source.kind() == io::ErrorKind::NotFound).then(|| folder.display().to_string())
}

/// Whether a write error means that the reader of standard output, or of the decoder's, has gone away. If the decoder
/// failed, its exit status says so.
pub fn is_closed_output(error: &(dyn Error + 'static)) -> bool {
    let source = match error.downcast_ref::<WriteError>() {
        Some(WriteError::Write { file, source, .. })
            if file.as_os_str() == STDOUT || file.as_os_str() == DECODER =>
        {
            Some(source)
        }
        Some(_) => None,
        None if is_closed_table(error) => return true,
        None => error.downcast_ref::<io::Error>(),
    };
    source.is_some_and(|source| source.kind() == io::ErrorKind::BrokenPipe)
}

/// The same of columns.
#[cfg(feature = "columns")]
fn is_closed_table(error: &(dyn Error + 'static)) -> bool {
    let error = error.downcast_ref::<tapline::columns::TableError>();
    error.is_some_and(|error| {
        error.path.as_os_str() == STDOUT && error.source.kind() == io::ErrorKind::BrokenPipe
    })
}

#[cfg(not(feature = "columns"))]
fn is_closed_table(_error: &(dyn Error + 'static)) -> bool {
    false
}

/// Advice if the disk is full. Standard output and the decoder have no options against that.
pub fn full_disk(error: &WriteError, advice: &'static str) -> Option<&'static str> {
    match error {
        WriteError::Write { file, source, .. } => {
            let is_stream = file.as_os_str() == STDOUT || file.as_os_str() == DECODER;
            (source.kind() == io::ErrorKind::StorageFull && !is_stream).then_some(advice)
        }
        _ => None,
    }
}

/// An error and its sources in one line, without the number that Rust appends to the system's message.
pub fn chain(error: &dyn Error) -> String {
    let mut line = message(error);
    let mut next = error.source();
    while let Some(source) = next {
        let text = message(source);
        if !line.ends_with(&text) {
            line = format!("{line}: {text}");
        }
        next = source.source();
    }
    line
}

/// The innermost source of an error.
pub fn innermost(error: &dyn Error) -> String {
    error.source().map_or_else(|| chain(error), innermost)
}

fn message(error: &dyn Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) if text.ends_with(')') => text[..end].to_owned(),
        _ => text,
    }
}

/// Why an XDP program could not be attached: the program or MTU in the way, or else the kernel's error.
pub fn xdp_refusal(refusal: &XdpAttachError) -> String {
    match (&refusal.holder, &refusal.mtu) {
        (Some(holder), _) => holder.to_string(),
        (None, Some(mtu)) => mtu.to_string(),
        (None, None) => chain(&refusal.source),
    }
}

/// Advice if an interface does not exist.
pub const NO_LINK: &str = "'ip link' lists the interfaces";

impl From<CaptureError> for Failure {
    fn from(error: CaptureError) -> Self {
        if let CaptureError::Namespace(error) = error {
            return error.into();
        }
        let (exit, advice) = capture_advice(&error);
        if exit == Exit::Privilege
            && let Some(line) = missing_for_xdp(&error)
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

/// Exit status of a capture error, and advice where its own text has none.
fn capture_advice(error: &CaptureError) -> (Exit, Option<String>) {
    use CaptureErrorKind as Kind;
    let without_xdp = match error {
        CaptureError::Copy { .. } => "use --backend auto",
        _ => "use --mode mirror",
    };
    let (exit, advice) = match error.kind() {
        Kind::InvalidOptions => (Exit::Usage, mode_advice(error)),
        Kind::Unsupported => (Exit::Unsupported, None),
        Kind::MissingPrivilege { capability } => {
            let advice = capability.map(|name| format!("needs {name}; run with sudo or setcap"));
            return (Exit::Privilege, advice);
        }
        Kind::InterfaceDown => {
            let up = |link| format!("bring it up with 'ip link set {link} up'");
            return (Exit::Failed, error.interface().map(up));
        }
        Kind::NoSuchInterface => (Exit::Failed, Some(NO_LINK)),
        Kind::NoMemoryForRing => (Exit::Failed, Some("try a smaller --buffer")),
        Kind::NoMemoryForStall => (Exit::Failed, Some("try a shorter --stall, or a smaller -s")),
        Kind::NoHardwareTimestamps => (Exit::Unsupported, Some("use --timestamp auto or software")),
        Kind::OldKernel => (Exit::Unsupported, Some("needs Linux 4.20")),
        Kind::NoXdp => (Exit::Unsupported, Some(without_xdp)),
        Kind::NoNativeXdp => (Exit::Unsupported, Some("use --xdp auto or generic")),
        Kind::XdpProgramRefused => (
            Exit::Unsupported,
            Some(match error {
                CaptureError::Copy { .. } => {
                    "needs Linux 5.18, and a filter that is not too long: use --backend auto"
                }
                _ => "the filter is too long for XDP here: use a shorter one, or --mode mirror",
            }),
        ),
        Kind::FilterTooLongToSample => (
            Exit::Unsupported,
            Some("use a shorter filter, or --mode drop"),
        ),
        _ => (Exit::Failed, None),
    };
    (exit, advice.map(str::to_owned))
}

/// What to use instead of an option that the mode does not support.
fn mode_advice(error: &CaptureError) -> Option<&'static str> {
    let CaptureError::Mode(error) = error else {
        return None;
    };
    match error {
        ModeError::Backend {
            backend: Backend::Xdp,
            ..
        } => Some("use --mode drop"),
        ModeError::Backend { .. } => Some("use --backend xdp or auto"),
        ModeError::Mirror(MirrorLimit::Direction) => Some("use --direction in"),
        ModeError::Mirror(MirrorLimit::Snaplen { .. }) => Some("use -s"),
        ModeError::Mirror(MirrorLimit::ClassicProgram) => Some("use --backend auto"),
        ModeError::Outgoing => Some("use --direction in, or --mode mirror"),
        ModeError::SocketPorts => Some("use --mode mirror and --backend auto"),
        ModeError::ClassicProgram => Some("give its expression, or use --mode mirror"),
        _ => None,
    }
}

/// The privileges that a capture by XDP requires.
const XDP_PRIVILEGES: [(CapabilitySet, &str); 3] = [
    (CapabilitySet::NET_RAW, "CAP_NET_RAW"),
    (CapabilitySet::BPF, "CAP_BPF"),
    (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"),
];

/// Names all privileges that a capture by XDP lacks, not only the first one that the kernel checked. `None` if
/// the error is another one.
fn missing_for_xdp(error: &CaptureError) -> Option<String> {
    use CaptureError::{Buffer, Copy, Steer, Xdp};
    let (Steer { .. } | Copy { .. } | Buffer(_) | Xdp(_)) = error else {
        return None;
    };
    let link = error.interface()?;
    let needed = privilege::missing_words(&XDP_PRIVILEGES)?;
    let answer = innermost(error);
    Some(format!(
        "cannot capture from {link} by XDP: {answer} (needs {needed}; run with sudo or setcap)"
    ))
}

impl From<NetlinkError> for Failure {
    fn from(error: NetlinkError) -> Self {
        Self::from(&error)
    }
}

impl From<&NetlinkError> for Failure {
    fn from(error: &NetlinkError) -> Self {
        let needed = [(CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN")];
        let line = Failure::job(error).line;
        match (error.errno(), &error.cause) {
            (_, Cause::Invalid(_)) => Self::new(Exit::Usage, line),
            // A process that has the privilege is refused for another reason.
            (Some(libc::EPERM | libc::EACCES), _) if !privilege::missing(&needed).is_empty() => {
                Self::new(Exit::Privilege, line + "; run with sudo or setcap")
            }
            (Some(libc::EOPNOTSUPP), Cause::Refused(refusal)) if refusal.message.is_none() => {
                let advice = "this kernel lacks the feature, or the module for it";
                Self::new(Exit::Unsupported, format!("{line} ({advice})"))
            }
            (Some(libc::EOPNOTSUPP), _) => Self::new(Exit::Unsupported, line),
            _ => Self::new(Exit::Failed, line),
        }
    }
}

impl From<NamespaceNameError> for Failure {
    fn from(error: NamespaceNameError) -> Self {
        namespace_failure(&error, &error.source)
    }
}

impl From<NamespaceError> for Failure {
    fn from(error: NamespaceError) -> Self {
        namespace_failure(&error, &error.source)
    }
}

/// Advice if a network namespace does not exist: those that do.
pub fn named_namespaces() -> String {
    let entries = std::fs::read_dir("/run/netns").into_iter().flatten();
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().display().to_string()));
    let mut names: Vec<_> = names.collect();
    names.sort();
    match &names[..] {
        [] => "none has a name: 'tapline netns add NAME' creates one".to_owned(),
        [.., _] if names.len() <= MOST_NAMES => format!("there are: {}", names.join(", ")),
        _ => "'tapline netns' lists those that exist".to_owned(),
    }
}

/// More names would make a message unreadable.
const MOST_NAMES: usize = 8;

/// The failure of an operation on a namespace or on its name.
fn namespace_failure(error: &(dyn Error + 'static), source: &io::Error) -> Failure {
    let needed = [(CapabilitySet::SYS_ADMIN, "CAP_SYS_ADMIN")];
    let mut failure = Failure::job(error);
    match source.kind() {
        io::ErrorKind::NotFound => {
            failure.line = format!("{} ({})", failure.line, named_namespaces());
        }
        io::ErrorKind::InvalidInput => failure.line += " (a name has no / and is not empty)",
        _ => {}
    }
    if source.kind() == io::ErrorKind::PermissionDenied && !privilege::missing(&needed).is_empty() {
        failure.exit = Exit::Privilege;
        failure.line += " (needs CAP_SYS_ADMIN; run with sudo or setcap)";
    }
    failure
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
