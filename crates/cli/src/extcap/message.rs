//! The messages between Wireshark's toolbar and a capture.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+-----------------------------------------------+
//! |      'T'      |          length of what follows               |
//! +---------------+---------------+-------------------------------+
//! |    control    |    command    |  value …
//! +---------------+---------------+--------------
//! ```
//!
//! # Source
//! Wireshark Developer's Guide, 8.2.5 Messages; `InterfaceToolbar::controlSend`, ui/qt/interface_toolbar.cpp.

use std::io::{self, ErrorKind, Read};

/// First byte of a message.
const SYNC: u8 = b'T';

/// Bytes of control and command, which the length includes.
const FIXED_BYTES: usize = 2;

/// Longest value.
pub const VALUE_BYTES_MAX: usize = 0xffff;

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The toolbar has sent the values that differ from the defaults.
    Initialized,
    /// The value of a control.
    Set,
    /// A further line or value of a control.
    Add,
    /// For the status bar.
    Status,
    /// For a dialog.
    Error,
    /// One that is ignored.
    Other(u8),
}

/// A message, in either direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Number of the control.
    pub control: u8,
    pub command: Command,
    pub value: Vec<u8>,
}

impl Command {
    fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Initialized,
            1 => Self::Set,
            2 => Self::Add,
            6 => Self::Status,
            9 => Self::Error,
            other => Self::Other(other),
        }
    }

    fn number(self) -> u8 {
        match self {
            Self::Initialized => 0,
            Self::Set => 1,
            Self::Add => 2,
            Self::Status => 6,
            Self::Error => 9,
            Self::Other(number) => number,
        }
    }
}

impl Message {
    /// Reads the next message; `None` at the end of the pipe.
    ///
    /// # Errors
    /// `InvalidData` if there is no message where one must begin, or if its length is out of bounds; `UnexpectedEof` within one.
    pub fn read(from: &mut impl Read) -> io::Result<Option<Self>> {
        let mut sync = [0];
        match from.read_exact(&mut sync) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let mut head = [0; 5];
        from.read_exact(&mut head)?;
        let [high, middle, low, control, command] = head;
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        let bytes = length.checked_sub(FIXED_BYTES);
        let Some(bytes) = bytes.filter(|&bytes| sync == [SYNC] && bytes <= VALUE_BYTES_MAX) else {
            let line = "the control pipe contains something other than a message of the toolbar";
            return Err(io::Error::new(ErrorKind::InvalidData, line));
        };
        let mut value = vec![0; bytes];
        from.read_exact(&mut value)?;
        Ok(Some(Self {
            control,
            command: Command::from_number(command),
            value,
        }))
    }

    /// The message as bytes; a value that is too long is truncated.
    pub fn bytes(&self) -> Vec<u8> {
        let value = &self.value[..self.value.len().min(VALUE_BYTES_MAX)];
        let length = (value.len() + FIXED_BYTES) as u32;
        let [_, high, middle, low] = length.to_be_bytes();
        let mut bytes = vec![SYNC, high, middle, low, self.control, self.command.number()];
        bytes.extend_from_slice(value);
        bytes
    }
}
