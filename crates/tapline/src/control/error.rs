//! Why a job could not be controlled.

use std::io;
use std::path::PathBuf;

/// Why a control socket could not be opened, or a request not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// The name contains something other than letters, digits, `.`, `_`, `-` and `+`, begins with a dot, or is
    /// empty or longer than 64 bytes.
    #[error(
        "{name:?} is not a valid name for a control socket (use up to 64 letters, digits, '.', '_', '-', '+')"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// A user other than root has no folder for sockets: `XDG_RUNTIME_DIR` is not set.
    #[error("no folder for control sockets: XDG_RUNTIME_DIR is not set")]
    NoDirectory,
    /// A job of this name is running.
    #[error("a capture named {name} is running")]
    InUse {
        /// The name.
        name: String,
    },
    /// No job of this name listens.
    #[error("no capture named {name} is running")]
    NotRunning {
        /// The name.
        name: String,
    },
    /// A file or socket could not be used.
    #[error("cannot use control socket {}", path.display())]
    Socket {
        /// The file.
        path: PathBuf,
        /// The answer of the kernel.
        source: io::Error,
    },
    /// A line is too long.
    #[error("a line of more than {bytes_max} bytes")]
    TooLong {
        /// The longest line, bytes.
        bytes_max: usize,
    },
    /// A line is not what the protocol says.
    #[error("not a message of the control protocol")]
    Malformed {
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The transfer of a line took longer than [`TRANSFER_TIME`](super::TRANSFER_TIME), or a reply did not come within a minute.
    #[error("the other side was silent for too long")]
    Slow,
    /// The connection failed.
    #[error("the connection failed")]
    Connection {
        /// The answer of the kernel.
        source: io::Error,
    },
}
