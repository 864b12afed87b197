//! What can be wrong with messages, and why a remote capture fails.

use std::fmt;
use std::io;

use filter::{FilterError, LinkType};

use super::error_code;

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The payload ends before a field.
    #[error("message ends early: the field at byte {at} needs {need} bytes and has {have}")]
    Short {
        /// Place of the field in the payload.
        at: usize,
        /// Its length, bytes.
        need: usize,
        /// What is there of it, bytes.
        have: usize,
    },
    /// The payload goes on behind its last field.
    #[error("message has {bytes} bytes too many")]
    Long {
        /// How many.
        bytes: usize,
    },
    /// The type of the message is unknown, or not expected from this side.
    #[error("unknown message of type {kind}")]
    Unknown {
        /// Its number.
        kind: u8,
    },
    /// The header claims a payload that is too long.
    #[error("message of {bytes} bytes is longer than {max}")]
    TooLong {
        /// Its length.
        bytes: u32,
        /// The limit.
        max: usize,
    },
    /// Neither without nor by password.
    #[error("authentication of type {way} is not supported")]
    Authentication {
        /// Its number.
        way: u16,
    },
    /// No BPF filter.
    #[error("filter of type {kind} is not supported")]
    Filter {
        /// Its number.
        kind: u16,
    },
    /// An unknown way to sample.
    #[error("sampling by method {method} is not supported")]
    Sampling {
        /// Its number.
        method: u8,
    },
    /// The byte order of the server is none.
    #[error("byte order of the server is neither big nor little endian")]
    ByteOrder,
    /// A packet claims another length than its message has, or more bytes than it had.
    #[error("lengths of a packet contradict each other")]
    Packet,
}

/// Why a remote capture cannot begin, or why it failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The name of the host has no address, or no address can be connected to.
    #[error("cannot connect to {host}, port {port}")]
    Connect {
        /// Host as given.
        host: String,
        /// TCP port.
        port: u16,
        /// The system's error.
        source: io::Error,
    },
    /// The connection has failed, or the server is silent.
    #[error("connection to the rpcap server failed")]
    Connection(#[source] io::Error),
    /// The server closed the connection.
    #[error("the rpcap server closed the connection")]
    Closed,
    /// The channel of packets cannot be opened.
    #[error("cannot open the data channel to the rpcap server")]
    Data(#[source] io::Error),
    /// The server sent something that is not the protocol's.
    #[error("the rpcap server sent a damaged message")]
    Message(#[from] MessageError),
    /// The server sent another reply than that to the request.
    #[error("the rpcap server sent an unexpected reply")]
    Unexpected,
    /// The server and this client have no version in common.
    #[error("the rpcap server supports versions {min} to {max}, not 0")]
    Versions {
        /// Its oldest version.
        min: u8,
        /// Its newest version.
        max: u8,
    },
    /// The server refused.
    #[error("the rpcap server refused{}: {text}", about(*code))]
    Refused {
        /// Number of the error ([`error_code`]).
        code: u16,
        /// Its text, printable ASCII.
        text: String,
    },
    /// The filter is invalid for the link type of the interface.
    #[error("filter for {interface} is invalid")]
    Filter {
        /// Name of the interface.
        interface: String,
        /// Its link type.
        link_type: LinkType,
        /// What is wrong, and where in the text.
        #[source]
        error: FilterError,
    },
    /// The packets have a link type that files have no number for.
    #[error("packets of {interface} have an unknown link type ({number})")]
    LinkType {
        /// Name of the interface.
        interface: String,
        /// The number that the server sent.
        number: i32,
    },
}

impl RemoteError {
    /// Whether the server did not accept user and password.
    pub fn is_authentication(&self) -> bool {
        let codes = [
            error_code::AUTHENTICATION,
            error_code::AUTHENTICATION_TYPE,
            error_code::NOT_ALLOWED,
        ];
        matches!(self, Self::Refused { code, .. } if codes.contains(code))
    }

    /// The refusal of an error message. Its text is the server's: only printable ASCII of it is kept.
    pub(super) fn refused(code: u16, text: &[u8]) -> Self {
        Self::Refused {
            code,
            text: printable(text),
        }
    }
}

/// At most 500 characters of a text from the other side.
pub fn printable(text: &[u8]) -> String {
    let text = text.iter().take(500);
    let shown = |byte: &u8| match byte {
        b' '..=b'~' => char::from(*byte),
        _ => '?',
    };
    text.map(shown).collect()
}

fn about(code: u16) -> impl fmt::Display {
    match code {
        error_code::LIST => " to list interfaces",
        error_code::OPEN => " to open the interface",
        error_code::START => " to start the capture",
        error_code::UPDATE_FILTER => " the filter",
        error_code::AUTHENTICATION | error_code::AUTHENTICATION_TYPE => " the password",
        error_code::NOT_ALLOWED => " this host or user",
        error_code::TLS_REQUIRED => " a connection without TLS",
        _ => "",
    }
}
