//! Requests and replies, one line of JSON each.

use serde::{Deserialize, Serialize};

use super::error::ControlError;
use super::{LINE_BYTES_MAX, REPLY_BYTES_MAX};
use crate::capture::Lost;

/// What a client wants of a running capture. Unknown fields are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "command", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ControlRequest {
    /// Its name, settings and counters.
    Stats,
    /// Change a setting.
    Set {
        /// The setting with its new value.
        setting: Setting,
    },
    /// Capture from another interface, too.
    Add {
        /// Its name.
        interface: String,
    },
    /// Capture from an interface no more.
    Remove {
        /// Its name.
        interface: String,
    },
    /// Start the next file of a rotation.
    Rotate,
    /// Write what the flight recorder holds to a file.
    Trigger,
    /// End in order.
    Stop,
}

/// A setting with its new value.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Setting {
    /// Filter expression; empty: every packet.
    Filter(String),
    /// Bytes captured per packet.
    Snaplen(u32),
    /// Size of the ring of each interface.
    BufferBytes(u64),
    /// Sampling as `1/N`, `p=P` or `first/TIME`; `off`: every packet.
    Sample(String),
    /// `in`, `out` or `both`.
    Direction(String),
    /// When packets are delivered: `immediate`, `batch` or `adaptive`.
    Delivery(String),
    /// With batches: size of a batch.
    MinBytes(u64),
    /// With batches: longest wait after the first packet.
    TimeoutNs(u64),
    /// How long the reader may be away.
    StallNs(u64),
    /// Whether the stack sees the captured packets.
    Mode {
        /// Name of the interface; without it, all interfaces.
        interface: Option<String>,
        /// `mirror` or `drop`.
        mode: String,
    },
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ControlReply {
    /// Done.
    Done,
    /// To [`ControlRequest::Stats`].
    Stats(Box<ControlStats>),
    /// Nothing has changed.
    Refused {
        /// Why.
        error: String,
    },
}

/// A running capture.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ControlStats {
    /// Its name.
    pub name: String,
    /// Process ID.
    pub pid: u32,
    /// User ID.
    pub uid: u32,
    /// When it began, nanoseconds since 1970 UTC.
    pub start_ns: u64,
    /// Filter expression; empty: every packet.
    pub filter: String,
    /// Its other settings. `None`: it ends.
    #[serde(default)]
    pub settings: Option<ControlledSettings>,
    /// The files that are being written, one for each reader that has its own. After a rotation this may take until the next
    /// statistics interval.
    pub files: Vec<String>,
    /// Its interfaces.
    pub interfaces: Vec<ControlledInterface>,
}

/// The settings that requests change, as they are now.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ControlledSettings {
    /// Bytes captured per packet.
    pub snaplen: u32,
    /// Bytes of the ring of each interface, as asked for.
    pub buffer_bytes: u64,
    /// As in [`Setting::Sample`].
    pub sample: String,
    /// As in [`Setting::Direction`].
    pub direction: String,
    /// As in [`Setting::Delivery`].
    pub delivery: String,
    /// With batches: size of a batch; `None`: the ring determines it.
    pub min_bytes: Option<u64>,
    /// With batches: longest wait after the first packet.
    pub timeout_ns: Option<u64>,
    /// With adaptive delivery: longest delay at high rates.
    pub latency_target_ns: Option<u64>,
    /// How long the reader may be away; `None`: the default of the delivery.
    pub stall_ns: Option<u64>,
}

/// Packets of one interface. `None` where the number cannot be known.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ControlledInterface {
    /// Its name.
    pub name: String,
    /// `mirror` or `drop`; `None` if it is captured no more.
    #[serde(default)]
    pub mode: Option<String>,
    /// Packets delivered.
    pub delivered: u64,
    /// Length on the wire of the delivered packets, bytes.
    pub bytes: u64,
    /// Packets refused by the filter or left out by sampling.
    pub filtered: Option<u64>,
    /// Packets lost, by place.
    pub lost: Lost,
}

impl ControlRequest {
    /// Reads a request from a line, with or without its line end.
    ///
    /// # Errors
    /// [`ControlError::TooLong`], [`ControlError::Malformed`].
    pub fn parse(line: &[u8]) -> Result<Self, ControlError> {
        parse(line, LINE_BYTES_MAX)
    }

    /// The request as a line, with its line end.
    pub fn line(&self) -> Vec<u8> {
        line(self)
    }
}

impl ControlReply {
    /// Reads a reply from a line, with or without its line end.
    ///
    /// # Errors
    /// [`ControlError::TooLong`], [`ControlError::Malformed`].
    pub fn parse(line: &[u8]) -> Result<Self, ControlError> {
        parse(line, REPLY_BYTES_MAX)
    }

    /// The reply as a line, with its line end.
    pub fn line(&self) -> Vec<u8> {
        line(self)
    }
}

fn parse<'l, T: Deserialize<'l>>(line: &'l [u8], bytes_max: usize) -> Result<T, ControlError> {
    if line.len() > bytes_max {
        return Err(ControlError::TooLong { bytes_max });
    }
    // The parser limits the depth.
    serde_json::from_slice(line).map_err(|source| ControlError::Malformed { source })
}

fn line(message: &impl Serialize) -> Vec<u8> {
    // Maps with keys that are no text, which messages do not have, are all that could fail.
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}
