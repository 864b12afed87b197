use std::error::Error;
use std::fmt;
use std::io;

/// Why there is no native code for a filter. Its other back ends are not concerned.
#[derive(Debug)]
#[non_exhaustive]
pub enum NativeError {
    /// Native code is made for x86-64 and aarch64 only, and not for this processor.
    Unsupported {
        /// The architecture this program was built for.
        architecture: &'static str,
    },
    /// The filter is larger than native code is made for.
    TooLarge {
        /// Nodes of its graph.
        nodes: usize,
        /// How many there may be.
        most: usize,
    },
    /// A set's keys collide more than a search in bounded time allows.
    Set {
        /// Keys in the set.
        keys: usize,
    },
    /// Cranelift refused what was written for it.
    Code {
        /// What it said.
        source: Box<dyn Error + Send + Sync>,
    },
    /// There was no executable memory.
    Memory {
        /// The kernel's answer.
        source: io::Error,
    },
}

impl fmt::Display for NativeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported { architecture } => {
                write!(f, "no native code for this {architecture} processor")
            }
            Self::TooLarge { nodes, most } => {
                write!(
                    f,
                    "a graph of {nodes} nodes is too large for native code, at most {most}"
                )
            }
            Self::Set { keys } => write!(f, "a set of {keys} keys cannot be hashed"),
            Self::Code { .. } => f.write_str("native code could not be made"),
            Self::Memory { .. } => f.write_str("no executable memory"),
        }
    }
}

impl Error for NativeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Code { source } => Some(&**source),
            Self::Memory { source } => Some(source),
            Self::Unsupported { .. } | Self::TooLarge { .. } | Self::Set { .. } => None,
        }
    }
}
