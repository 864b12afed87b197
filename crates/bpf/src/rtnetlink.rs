//! The rtnetlink requests for attachments: query the programs of an interface, and manage clsact filters.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

const NLMSG_NOOP: u16 = libc::NLMSG_NOOP as u16;
const NLMSG_ERROR: u16 = libc::NLMSG_ERROR as u16;
const NLMSG_DONE: u16 = libc::NLMSG_DONE as u16;
/// Flags of requests.
pub const NLM_F_ECHO: u16 = libc::NLM_F_ECHO as u16;
pub const NLM_F_DUMP: u16 = libc::NLM_F_DUMP as u16;
pub const NLM_F_EXCL: u16 = libc::NLM_F_EXCL as u16;
pub const NLM_F_CREATE: u16 = libc::NLM_F_CREATE as u16;
const NLM_F_REQUEST: u16 = libc::NLM_F_REQUEST as u16;
const NLM_F_ACK: u16 = libc::NLM_F_ACK as u16;
/// Flags in an attribute's type: nested, network byte order.
const NLA_FLAGS: u16 = 0xc000;

const HEADER_BYTES: usize = 16;
const ALIGN: usize = 4;
/// The kernel sends at most 32 KiB of a dump at once; a link without its virtual functions is smaller.
const DATAGRAM_BYTES: usize = 64 << 10;
/// The kernel answers before `sendto` returns, so a timeout means that the answer was lost.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest number of messages in one answer.
const MAX_MESSAGES: usize = 65_536;

/// A request under construction.
pub struct Request {
    flags: u16,
    bytes: Vec<u8>,
}

impl Request {
    /// A request of type `kind` with the fixed header `header`. The kernel acknowledges it.
    pub fn new(kind: u16, flags: u16, header: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(header);
        Self { flags, bytes }
    }

    /// Adds an attribute.
    pub fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        self.begin(kind, ALIGN + value.len());
        self.bytes.extend_from_slice(value);
        let padded = self.bytes.len().next_multiple_of(ALIGN);
        self.bytes.resize(padded, 0);
        self
    }

    /// Adds a nested attribute.
    pub fn nested(mut self, kind: u16, fill: impl FnOnce(Self) -> Self) -> Self {
        let at = self.bytes.len();
        self.begin(kind, 0);
        let mut filled = fill(self);
        let bytes = filled.bytes.len() - at;
        filled.bytes[at..at + 2].copy_from_slice(&(bytes as u16).to_ne_bytes());
        filled
    }

    fn begin(&mut self, kind: u16, bytes: usize) {
        self.bytes.extend((bytes as u16).to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
    }

    fn finish(mut self, sequence: u32) -> Vec<u8> {
        let bytes = self.bytes.len() as u32;
        let flags = self.flags | NLM_F_REQUEST | NLM_F_ACK;
        self.bytes[..4].copy_from_slice(&bytes.to_ne_bytes());
        self.bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

/// A netlink socket, in the network namespace where it was opened.
#[derive(Debug)]
pub struct Rtnetlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Rtnetlink {
    /// Opens a socket in the calling thread's network namespace.
    pub fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        // NETLINK_ROUTE is protocol 0.
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_TIMEOUT))?;
        Ok(Self {
            socket,
            sequence: 0,
        })
    }

    /// Sends `request` and returns the payload of each message of the answer.
    pub fn exchange(&mut self, request: Request) -> io::Result<Vec<Vec<u8>>> {
        self.sequence = self.sequence.wrapping_add(1);
        let bytes = request.finish(self.sequence);
        let kernel = SocketAddrNetlink::new(0, 0);
        retry_on_intr(|| sendto(&self.socket, &bytes, SendFlags::empty(), &kernel))?;
        let mut datagram = vec![0; DATAGRAM_BYTES];
        let mut answer = Vec::new();
        while answer.len() < MAX_MESSAGES {
            let (_, bytes) =
                retry_on_intr(|| recv(&self.socket, datagram.as_mut_slice(), RecvFlags::TRUNC))?;
            let received = datagram
                .get(..bytes)
                .ok_or(io::Error::from(io::ErrorKind::InvalidData))?;
            for (kind, sequence, body) in messages(received) {
                if sequence != self.sequence {
                    continue;
                }
                match kind {
                    NLMSG_NOOP => {}
                    NLMSG_ERROR | NLMSG_DONE => return errno(body).map(|()| answer),
                    _ => answer.push(body.to_vec()),
                }
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }
}

/// Type, sequence number and payload of each message of a datagram, up to the first truncated one.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, u32, &[u8])> {
    std::iter::from_fn(move || {
        let (len, rest) = bytes.split_first_chunk()?;
        let (kind, rest) = rest.split_first_chunk()?;
        let (_flags, rest) = rest.split_first_chunk::<2>()?;
        let (sequence, _) = rest.split_first_chunk()?;
        let len = u32::from_ne_bytes(*len) as usize;
        let (kind, sequence) = (u16::from_ne_bytes(*kind), u32::from_ne_bytes(*sequence));
        let message = bytes.get(HEADER_BYTES..len)?;
        bytes = bytes.get(len.next_multiple_of(ALIGN)..).unwrap_or_default();
        Some((kind, sequence, message))
    })
}

/// Result in an acknowledgement or at the end of a dump: 0 or a negative errno.
fn errno(body: &[u8]) -> io::Result<()> {
    match body.first_chunk().map(|code| i32::from_ne_bytes(*code)) {
        Some(0) => Ok(()),
        Some(code) if code < 0 => Err(io::Error::from_raw_os_error(code.wrapping_neg())),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Type and value of each attribute, up to the first truncated one.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let header = bytes.first_chunk::<ALIGN>()?;
        let len = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let kind = u16::from_ne_bytes([header[2], header[3]]) & !NLA_FLAGS;
        let value = bytes.get(ALIGN..len)?;
        bytes = bytes.get(len.next_multiple_of(ALIGN)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// Value of the first attribute of type `kind`.
pub fn find(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    let mut all = attributes(bytes);
    all.find_map(|(at, value)| (at == kind).then_some(value))
}

/// Decodes a 32-bit number.
pub fn number(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// Decodes a string, with or without a terminating zero.
pub fn text(value: &[u8]) -> String {
    let bytes = value.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}
