//! Opens what a session captures from: the only part of a server that needs privileges. It reads nothing that a client has sent,
//! only what the session has understood of it.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use filter::classic::{Ancillary, ClassicProgram, Instruction, opcode};
use netlink::{Addr, Link, Netlink};

use super::super::interface_list::{RemoteAddress, RemoteInterface};
use super::super::link_type;
use crate::capture::{Capture, CaptureOptions, DirectionFilter};

/// Ring of a capture, bytes.
const BUFFER_BYTES: usize = 8 << 20;

/// How many bytes of a packet a filter sees at least.
const FILTER_BYTES: u32 = 512;

/// Longest time for a connection to a client.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// `SKF_AD_VLAN_TAG_PRESENT`, include/uapi/linux/filter.h.
const VLAN_TAG_PRESENT: u32 = Ancillary::BASE + 48;

/// The side that opens, for a thread with the privileges of a capture.
pub struct Opener {
    requests: Receiver<OpenRequest>,
    opened: SyncSender<Opened>,
}

/// Sends requests to the [`Opener`], for a [`Session`](super::Session).
pub struct OpenerClient {
    requests: SyncSender<OpenRequest>,
    opened: Receiver<Opened>,
}

/// A request of a session.
pub(super) enum OpenRequest {
    Interfaces,
    /// The link type of an interface.
    LinkType(String),
    Capture(CaptureRequest),
}

/// A capture for a client.
pub(super) struct CaptureRequest {
    pub interface: String,
    pub snaplen: u32,
    pub promiscuous: bool,
    pub direction: DirectionFilter,
    pub filter: Option<ClassicProgram>,
    pub channel: ChannelRequest,
}

/// How packets are to leave.
#[derive(Clone, Copy)]
pub(super) enum ChannelRequest {
    /// The client connects to a port of this address.
    Accept(IpAddr),
    /// By a connection to the client.
    Connect(SocketAddr),
    /// By datagrams from this address to the client.
    Datagrams(IpAddr, SocketAddr),
}

/// How packets leave.
pub(super) enum OpenChannel {
    Listener(TcpListener),
    Stream(TcpStream),
    Datagrams(UdpSocket),
}

/// What was opened, or why it was not.
pub(super) enum Opened {
    Interfaces(Result<Vec<RemoteInterface>, String>),
    LinkType(Result<i32, String>),
    Capture(Result<Box<OpenCapture>, String>),
}

impl OpenChannel {
    /// The port to which the client connects; 0 if it does not.
    pub fn port(&self) -> io::Result<u16> {
        match self {
            Self::Listener(listener) => Ok(listener.local_addr()?.port()),
            Self::Stream(_) | Self::Datagrams(_) => Ok(0),
        }
    }
}

pub(super) struct OpenCapture {
    pub capture: Capture,
    pub channel: OpenChannel,
    pub buffer_bytes: u32,
}

impl Opener {
    /// Both sides. They belong to one session.
    pub fn pair() -> (Self, OpenerClient) {
        // The session waits for each answer.
        let (ask, requests) = sync_channel(1);
        let (answer, opened) = sync_channel(1);
        let opener = Self {
            requests,
            opened: answer,
        };
        let client = OpenerClient {
            requests: ask,
            opened,
        };
        (opener, client)
    }

    /// Opens what the session asks for, until the session has ended.
    ///
    /// # Privileges
    /// Those of a [`Capture`], and `CAP_NET_ADMIN` for promiscuous mode of some devices.
    pub fn run(self) {
        for request in &self.requests {
            let opened = match request {
                OpenRequest::Interfaces => Opened::Interfaces(interfaces().map_err(words)),
                OpenRequest::LinkType(name) => Opened::LinkType(link_type(&name).map_err(words)),
                OpenRequest::Capture(request) => Opened::Capture(open(request).map_err(words)),
            };
            if self.opened.send(opened).is_err() {
                return;
            }
        }
    }
}

impl OpenerClient {
    /// Sends a request and waits for the reply; `None` if the opener has ended.
    pub(super) fn ask(&self, request: OpenRequest) -> Option<Opened> {
        self.requests.send(request).ok()?;
        self.opened.recv().ok()
    }
}

type Failed = Box<dyn Error>;

/// An error and its sources, for a client.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn words(error: Failed) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

fn interfaces() -> Result<Vec<RemoteInterface>, Failed> {
    let mut netlink = Netlink::open()?;
    let links = netlink.list(&Link::default())?.items;
    let addresses = netlink.list(&Addr::new())?.items;
    let describe = |link: &Link| {
        let flags = link.flags.unwrap_or_default();
        let of_link = addresses.iter().filter(|one| one.dev == link.index);
        RemoteInterface {
            name: link.ifname().to_string(),
            description: link.alias.clone().unwrap_or_default(),
            is_loopback: flags.is_loopback(),
            is_up: flags.is_up(),
            is_running: flags.is_running(),
            addresses: of_link.filter_map(address).collect(),
        }
    };
    // tapline cannot capture from links whose link-layer header it does not know.
    let is_known = |link: &&Link| ring::link_type(link.hardware.unwrap_or_default()).is_some();
    Ok(links.iter().filter(is_known).map(describe).collect())
}

fn address(addr: &Addr) -> Option<RemoteAddress> {
    let address = addr.local.or(addr.peer)?;
    let ones = u32::from(addr.prefixlen.unwrap_or_default());
    let netmask: IpAddr = match address {
        IpAddr::V4(_) => {
            let mask = u32::MAX.checked_shl(32 - ones.min(32)).unwrap_or(0);
            std::net::Ipv4Addr::from(mask).into()
        }
        IpAddr::V6(_) => {
            let mask = u128::MAX.checked_shl(128 - ones.min(128)).unwrap_or(0);
            std::net::Ipv6Addr::from(mask).into()
        }
    };
    let broadcast = match addr.broadcast {
        Some(netlink::Broadcast::At(address)) => Some(address.into()),
        _ => None,
    };
    Some(RemoteAddress {
        address,
        netmask: Some(netmask),
        broadcast,
        peer: addr.peer.filter(|&peer| peer != address),
    })
}

/// The link type of an interface, as programs number it.
fn link_type(name: &str) -> Result<i32, Failed> {
    let link = Netlink::open()?.link_named(name)?;
    let number = ring::link_type(link.hardware.unwrap_or_default());
    let number = number.ok_or_else(|| format!("packets of {name} have an unknown link type"))?;
    Ok(link_type::from_file(number))
}

fn open(request: CaptureRequest) -> Result<Box<OpenCapture>, Failed> {
    let snaplen = match &request.filter {
        Some(_) => request.snaplen.max(FILTER_BYTES),
        None => request.snaplen,
    };
    let kernel = request.filter.as_ref().map(for_kernel);
    let options = CaptureOptions::default()
        .links(vec![request.interface])
        .promiscuous(request.promiscuous)
        .snaplen(snaplen)
        .direction(request.direction)
        .with_filter(kernel.map(Into::into))
        .buffer_bytes(BUFFER_BYTES)
        .threads(false);
    let capture = options.open()?;
    let buffer_bytes = capture.links().map(|link| link.buffer_bytes).sum::<usize>();
    Ok(Box::new(OpenCapture {
        channel: channel(request.channel)?,
        buffer_bytes: u32::try_from(buffer_bytes).unwrap_or(u32::MAX),
        capture,
    }))
}

fn channel(request: ChannelRequest) -> io::Result<OpenChannel> {
    match request {
        ChannelRequest::Accept(address) => {
            let listener = TcpListener::bind((address, 0))?;
            listener.set_nonblocking(true)?;
            Ok(OpenChannel::Listener(listener))
        }
        ChannelRequest::Connect(to) => {
            let stream = TcpStream::connect_timeout(&to, CONNECT_TIME)?;
            stream.set_nonblocking(true)?;
            Ok(OpenChannel::Stream(stream))
        }
        ChannelRequest::Datagrams(local, to) => {
            let socket = UdpSocket::bind((local, 0))?;
            socket.connect(to)?;
            socket.set_nonblocking(true)?;
            Ok(OpenChannel::Datagrams(socket))
        }
    }
}

/// The program of a client, for the kernel. The client's sees a VLAN tag in the bytes, and the kernel has taken the tag out of them:
/// it accepts all tagged packets, about which the session decides.
pub(super) fn for_kernel(program: &ClassicProgram) -> ClassicProgram {
    let keep_all = ClassicProgram::keep(filter::DEFAULT_SNAPLEN);
    let tag = [
        Instruction::new(opcode::LD_W_ABS, VLAN_TAG_PRESENT),
        Instruction::jump(opcode::JEQ_K, 0, 1, 0),
    ];
    // A is 0 behind it, as at the start of the client's program.
    let all = [&tag[..], keep_all.instructions(), program.instructions()].concat();
    // It is too long for the kernel: the session decides about all packets.
    ClassicProgram::new(all).unwrap_or(keep_all)
}
