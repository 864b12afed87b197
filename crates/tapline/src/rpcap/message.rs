//! Requests and replies as bytes. All numbers are big-endian.
//!
//! ```text
//!  0        1        2                 4                                   8
//! +--------+--------+-----------------+-----------------------------------+---------
//! | version|  type  |      value      |         payload, in bytes         | payload
//! +--------+--------+-----------------+-----------------------------------+---------
//! ```
//!
//! # Source
//! `struct rpcap_header` and the structures behind it, `rpcap-protocol.h` of libpcap.

use std::fmt;

use filter::classic::Instruction;

use super::error::MessageError;
use super::fields::Fields;
use super::interface_list::{self, RemoteInterface};
use super::start::{StartReply, StartRequest, filter_instructions, put_filter};

/// Numbers of message types.
mod kind {
    pub const ERROR: u8 = 1;
    pub const LIST: u8 = 2;
    pub const OPEN: u8 = 3;
    pub const START: u8 = 4;
    pub const UPDATE_FILTER: u8 = 5;
    pub const CLOSE: u8 = 6;
    pub const AUTHENTICATE: u8 = 8;
    pub const STATISTICS: u8 = 9;
    pub const END: u8 = 10;
    pub const SET_SAMPLING: u8 = 11;
    /// Marks the reply to a request.
    pub const REPLY: u8 = 0x80;
}

/// `RPCAP_BYTE_ORDER_MAGIC`, in the byte order of the server.
const BYTE_ORDER: u32 = 0xa1b2_c3d4;

/// `RPCAP_RMTAUTH_NULL` and `RPCAP_RMTAUTH_PWD`.
const WITHOUT_PASSWORD: u16 = 0;
const BY_PASSWORD: u16 = 1;

/// The header of each message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Version of the protocol.
    pub version: u8,
    /// Type of the message.
    pub kind: u8,
    /// The number of an error; else unused.
    pub value: u16,
    /// Length of the payload.
    pub payload_bytes: u32,
}

impl Header {
    /// Length of a header.
    pub const BYTES: usize = 8;

    /// Reads a header.
    pub fn parse(bytes: [u8; Self::BYTES]) -> Self {
        let [version, kind, v1, v0, p3, p2, p1, p0] = bytes;
        Self {
            version,
            kind,
            value: u16::from_be_bytes([v1, v0]),
            payload_bytes: u32::from_be_bytes([p3, p2, p1, p0]),
        }
    }

    /// The header as bytes.
    pub fn bytes(self) -> [u8; Self::BYTES] {
        let [v1, v0] = self.value.to_be_bytes();
        let [p3, p2, p1, p0] = self.payload_bytes.to_be_bytes();
        [self.version, self.kind, v1, v0, p3, p2, p1, p0]
    }
}

/// A message of version 0.
fn message(kind: u8, value: u16, payload: &[u8]) -> Vec<u8> {
    let header = Header {
        version: 0,
        kind,
        value,
        payload_bytes: u32::try_from(payload.len()).unwrap_or(u32::MAX),
    };
    [&header.bytes(), payload].concat()
}

/// User and password of a client. `Debug` shows neither.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// Name of the user; may be empty.
    pub user: Vec<u8>,
    /// Password.
    pub password: Vec<u8>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

/// Which of the accepted packets a server sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteSampling {
    /// All.
    None,
    /// Every N-th.
    EveryNth(u32),
    /// The first after this time, ms.
    FirstAfter(u32),
}

/// The counters of a server, which have 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemoteStatistics {
    /// Packets that passed the filter (`ifrecv`).
    pub received: u32,
    /// Packets that the interface dropped (`ifdrop`).
    pub dropped_by_interface: u32,
    /// Packets that passed the filter and were dropped because the buffer was full (`krnldrop`).
    pub dropped_by_kernel: u32,
    /// Packets that were sent to the client (`svrcapt`).
    pub sent: u32,
}

/// A message from a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Let me in; without credentials if `None`.
    Authenticate(Option<Credentials>),
    /// List the interfaces.
    List,
    /// Choose an interface by name.
    Open(Vec<u8>),
    /// Start the capture.
    Start(StartRequest),
    /// Change the filter.
    UpdateFilter(Vec<Instruction>),
    /// Read the counters.
    Statistics,
    /// End the capture.
    End,
    /// Set which packets are sent.
    SetSampling(RemoteSampling),
    /// The connection ends. There is no reply.
    Close,
    /// The client reports an error. There is no reply.
    Error(u16, Vec<u8>),
}

impl Request {
    /// Reads the request of a header and its payload.
    ///
    /// # Errors
    /// [`MessageError::Unknown`] if the type is no request; else the payload is damaged.
    pub fn parse(header: Header, payload: &[u8]) -> Result<Self, MessageError> {
        let mut fields = Fields::new(payload);
        let request = match header.kind {
            kind::ERROR => return Ok(Self::Error(header.value, payload.to_vec())),
            kind::AUTHENTICATE => Self::Authenticate(credentials(&mut fields)?),
            kind::LIST => Self::List,
            kind::OPEN => return Ok(Self::Open(payload.to_vec())),
            kind::START => return StartRequest::parse(payload).map(Self::Start),
            kind::UPDATE_FILTER => Self::UpdateFilter(filter_instructions(&mut fields)?),
            kind::CLOSE => Self::Close,
            kind::STATISTICS => Self::Statistics,
            kind::END => Self::End,
            kind::SET_SAMPLING => Self::SetSampling(sampling(&mut fields)?),
            kind => return Err(MessageError::Unknown { kind }),
        };
        fields.end()?;
        Ok(request)
    }

    /// The message as bytes, in version 0.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Error(code, text) => message(kind::ERROR, *code, text),
            Self::Authenticate(credentials) => {
                let mut bytes = Vec::new();
                let (way, user, password) = match credentials {
                    None => (WITHOUT_PASSWORD, &[][..], &[][..]),
                    Some(one) => (BY_PASSWORD, &one.user[..], &one.password[..]),
                };
                let length = |text: &[u8]| u16::try_from(text.len()).unwrap_or(u16::MAX);
                for field in [way, 0, length(user), length(password)] {
                    bytes.extend(field.to_be_bytes());
                }
                bytes.extend_from_slice(&user[..length(user).into()]);
                bytes.extend_from_slice(&password[..length(password).into()]);
                message(kind::AUTHENTICATE, 0, &bytes)
            }
            Self::List => message(kind::LIST, 0, &[]),
            Self::Open(name) => message(kind::OPEN, 0, name),
            Self::Start(start) => message(kind::START, 0, &start.payload()),
            Self::UpdateFilter(filter) => {
                let mut bytes = Vec::new();
                put_filter(&mut bytes, filter);
                message(kind::UPDATE_FILTER, 0, &bytes)
            }
            Self::Statistics => message(kind::STATISTICS, 0, &[]),
            Self::End => message(kind::END, 0, &[]),
            Self::SetSampling(sampling) => {
                let (method, value) = match *sampling {
                    RemoteSampling::None => (0, 0),
                    RemoteSampling::EveryNth(packets) => (1, packets),
                    RemoteSampling::FirstAfter(ms) => (2, ms),
                };
                let mut bytes = vec![method, 0, 0, 0];
                bytes.extend(u32::to_be_bytes(value));
                message(kind::SET_SAMPLING, 0, &bytes)
            }
            Self::Close => message(kind::CLOSE, 0, &[]),
        }
    }
}

/// The versions that a server has, and its byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The oldest.
    pub min: u8,
    /// The newest.
    pub max: u8,
    /// The byte order of the server; `None` if it does not say.
    pub is_big_endian: Option<bool>,
}

/// A message from a server, other than a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The request was not carried out.
    Error(u16, Vec<u8>),
    /// The client is in. Old servers do not state their versions: they have version 0.
    Authenticated(Option<Versions>),
    /// The interfaces.
    Interfaces(Vec<RemoteInterface>),
    /// The interface was chosen: link type of its packets (`DLT_…`).
    Opened(i32),
    /// The capture runs.
    Started(StartReply),
    /// The filter was changed.
    FilterUpdated,
    /// The counters.
    Statistics(RemoteStatistics),
    /// The capture has ended.
    Ended,
    /// The sampling was set.
    SamplingSet,
}

impl Reply {
    /// Reads the reply of a header and its payload.
    ///
    /// # Errors
    /// As [`Request::parse`].
    pub fn parse(header: Header, payload: &[u8]) -> Result<Self, MessageError> {
        const REPLY: u8 = kind::REPLY;
        let mut fields = Fields::new(payload);
        // Newer servers may append fields.
        match header.kind {
            kind::ERROR => Ok(Self::Error(header.value, payload.to_vec())),
            kind if kind == kind::AUTHENTICATE | REPLY => {
                versions(&mut fields).map(Self::Authenticated)
            }
            kind if kind == kind::LIST | REPLY => {
                let interfaces = interface_list::parse(&mut fields, header.value)?;
                Ok(Self::Interfaces(interfaces))
            }
            kind if kind == kind::OPEN | REPLY => Ok(Self::Opened(fields.u32()?.cast_signed())),
            kind if kind == kind::START | REPLY => Ok(Self::Started(StartReply {
                buffer_bytes: fields.u32()?,
                port: fields.u16()?,
            })),
            kind if kind == kind::UPDATE_FILTER | REPLY => Ok(Self::FilterUpdated),
            kind if kind == kind::STATISTICS | REPLY => Ok(Self::Statistics(RemoteStatistics {
                received: fields.u32()?,
                dropped_by_interface: fields.u32()?,
                dropped_by_kernel: fields.u32()?,
                sent: fields.u32()?,
            })),
            kind if kind == kind::END | REPLY => Ok(Self::Ended),
            kind if kind == kind::SET_SAMPLING | REPLY => Ok(Self::SamplingSet),
            kind => Err(MessageError::Unknown { kind }),
        }
    }

    /// The message as bytes, in version 0.
    pub fn bytes(&self) -> Vec<u8> {
        let reply = |kind, payload: &[u8]| message(kind | kind::REPLY, 0, payload);
        match self {
            Self::Error(code, text) => message(kind::ERROR, *code, text),
            Self::Authenticated(None) => reply(kind::AUTHENTICATE, &[]),
            Self::Authenticated(Some(versions)) => {
                let mut bytes = vec![versions.min, versions.max];
                if let Some(is_big_endian) = versions.is_big_endian {
                    bytes.extend([0, 0]);
                    bytes.extend(if is_big_endian {
                        BYTE_ORDER.to_be_bytes()
                    } else {
                        BYTE_ORDER.to_le_bytes()
                    });
                }
                reply(kind::AUTHENTICATE, &bytes)
            }
            Self::Interfaces(interfaces) => {
                let count = u16::try_from(interfaces.len()).unwrap_or(u16::MAX);
                let bytes = interface_list::payload(&interfaces[..count.into()]);
                message(kind::LIST | kind::REPLY, count, &bytes)
            }
            Self::Opened(link_type) => {
                let bytes = [link_type.to_be_bytes(), [0; 4]].concat();
                reply(kind::OPEN, &bytes)
            }
            Self::Started(start) => {
                let mut bytes = start.buffer_bytes.to_be_bytes().to_vec();
                bytes.extend(start.port.to_be_bytes());
                bytes.extend([0, 0]);
                reply(kind::START, &bytes)
            }
            Self::FilterUpdated => reply(kind::UPDATE_FILTER, &[]),
            Self::Statistics(statistics) => {
                let fields = [
                    statistics.received,
                    statistics.dropped_by_interface,
                    statistics.dropped_by_kernel,
                    statistics.sent,
                ];
                reply(kind::STATISTICS, &fields.map(u32::to_be_bytes).concat())
            }
            Self::Ended => reply(kind::END, &[]),
            Self::SamplingSet => reply(kind::SET_SAMPLING, &[]),
        }
    }
}

fn credentials(fields: &mut Fields<'_>) -> Result<Option<Credentials>, MessageError> {
    let (way, _, user, password) = (fields.u16()?, fields.u16()?, fields.u16()?, fields.u16()?);
    let user = fields.bytes(user.into())?.to_vec();
    let password = fields.bytes(password.into())?.to_vec();
    match way {
        WITHOUT_PASSWORD => Ok(None),
        BY_PASSWORD => Ok(Some(Credentials { user, password })),
        way => Err(MessageError::Authentication { way }),
    }
}

fn sampling(fields: &mut Fields<'_>) -> Result<RemoteSampling, MessageError> {
    let [method, ..] = fields.array::<4>()?;
    match (method, fields.u32()?) {
        (0, _) => Ok(RemoteSampling::None),
        (1, packets) => Ok(RemoteSampling::EveryNth(packets)),
        (2, ms) => Ok(RemoteSampling::FirstAfter(ms)),
        (method, _) => Err(MessageError::Sampling { method }),
    }
}

fn versions(fields: &mut Fields<'_>) -> Result<Option<Versions>, MessageError> {
    if fields.is_over() {
        return Ok(None);
    }
    let [min, max] = fields.array()?;
    let is_big_endian = if fields.is_over() {
        None
    } else {
        fields.u16()?;
        match fields.array()? {
            bytes if bytes == BYTE_ORDER.to_be_bytes() => Some(true),
            bytes if bytes == BYTE_ORDER.to_le_bytes() => Some(false),
            _ => return Err(MessageError::ByteOrder),
        }
    };
    Ok(Some(Versions {
        min,
        max,
        is_big_endian,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written down by hand from the structures of `rpcap-protocol.h`.
    #[test]
    fn requests_have_the_layout_of_the_protocol() {
        let credentials = Credentials {
            user: b"user".to_vec(),
            password: b"secret".to_vec(),
        };
        assert_eq!(
            Request::Authenticate(Some(credentials)).bytes(),
            b"\0\x08\0\0\0\0\0\x12\0\x01\0\0\0\x04\0\x06usersecret"
        );
        assert_eq!(
            Request::Open(b"eth0".to_vec()).bytes(),
            b"\0\x03\0\0\0\0\0\x04eth0"
        );
        let start = StartRequest {
            snaplen: 96,
            read_timeout_ms: 500,
            promiscuous: true,
            datagrams: true,
            server_connects: false,
            inbound: false,
            outbound: false,
            port: 40_000,
            filter: vec![Instruction::new(6, 0x40000)],
        };
        assert_eq!(
            Request::Start(start).bytes(),
            b"\0\x04\0\0\0\0\0\x1c\0\0\0\x60\0\0\x01\xf4\0\x03\x9c\x40\0\x01\0\0\0\0\0\x01\0\x06\0\0\0\x04\0\0"
        );
    }

    #[test]
    fn secrets_are_not_shown() {
        let credentials = Credentials {
            user: b"user".to_vec(),
            password: b"secret".to_vec(),
        };
        let shown = format!("{:?}", Request::Authenticate(Some(credentials)));
        assert!(
            !shown.contains("secret") && !shown.contains("115"),
            "{shown}"
        );
    }

    #[test]
    fn a_filter_that_claims_more_instructions_than_there_are_is_refused_without_memory_for_them() {
        let payload = b"\0\x01\0\0\xff\xff\xff\xff\0\x06\0\0\0\0\0\0";
        let header = Header {
            version: 0,
            kind: kind::UPDATE_FILTER,
            value: 0,
            payload_bytes: payload.len() as u32,
        };
        let refused = Request::parse(header, payload).unwrap_err();
        assert!(
            matches!(refused, MessageError::Short { at: 8, have: 8, .. }),
            "{refused}"
        );
    }
}
