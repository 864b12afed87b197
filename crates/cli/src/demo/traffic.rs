//! The traffic of the demo: one kind after another, with what the sending interface counted for it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::num::NonZeroU32;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, connect, ipproto, recv,
    send, socket_with,
};
use tapline::packet::build::Frame;
use tapline::packet::dissect::{Network, Transport};
use tapline::packet::protocol::{ethertype, link_type};
use tapline::packet::{
    ArpFields, ArpOperation, FrameSender, Icmpv4, Icmpv6, Ipv4, Ipv6, MacAddress, VlanFields,
    dissect,
};

use super::deadline::Deadline;
use super::hosts::{Family, Host, Hosts, InterfaceCounters};
use crate::failure::{Exit, Failure};

/// A kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tcp4,
    Tcp6,
    Udp4,
    Udp6,
    Broadcast,
    Echo4,
    Echo6,
    Arp,
    Vlan,
    QinQ,
    /// Packets that the demo did not send.
    Other,
}

impl Kind {
    /// Number of kinds.
    pub const COUNT: usize = Self::Other as usize + 1;

    /// The kinds that the demo sends, in order.
    pub const SENT: [Self; 10] = [
        Self::Tcp4,
        Self::Tcp6,
        Self::Udp4,
        Self::Udp6,
        Self::Broadcast,
        Self::Echo4,
        Self::Echo6,
        Self::Arp,
        Self::Vlan,
        Self::QinQ,
    ];

    /// Its names in JSON and in text.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Tcp4 => ("tcp4", "TCP over IPv4"),
            Self::Tcp6 => ("tcp6", "TCP over IPv6"),
            Self::Udp4 => ("udp4", "UDP over IPv4"),
            Self::Udp6 => ("udp6", "UDP over IPv6"),
            Self::Broadcast => ("broadcast", "UDP broadcast"),
            Self::Echo4 => ("echo4", "ICMP echo"),
            Self::Echo6 => ("echo6", "ICMPv6 echo"),
            Self::Arp => ("arp", "ARP"),
            Self::Vlan => ("vlan", "802.1Q VLAN"),
            Self::QinQ => ("qinq", "802.1ad QinQ"),
            Self::Other => ("other", "other"),
        }
    }

    /// The kind of an Ethernet frame.
    pub fn of(frame: &[u8]) -> Self {
        let summary = dissect(link_type::ETHERNET, frame);
        let is_broadcast = summary.destination_mac() == Some(MacAddress::BROADCAST);
        match (summary.vlans().count(), summary.network, summary.transport) {
            (1, ..) => Self::Vlan,
            (2.., ..) => Self::QinQ,
            (_, Network::Arp(_), _) => Self::Arp,
            (_, Network::Ipv4(_), Transport::Udp(_)) if is_broadcast => Self::Broadcast,
            (_, Network::Ipv4(_), Transport::Udp(_)) => Self::Udp4,
            (_, Network::Ipv6(_), Transport::Udp(_)) => Self::Udp6,
            (_, Network::Ipv4(_), Transport::Tcp(_)) => Self::Tcp4,
            (_, Network::Ipv6(_), Transport::Tcp(_)) => Self::Tcp6,
            (_, _, Transport::Icmpv4(header)) if header.echo().is_some() => Self::Echo4,
            (_, _, Transport::Icmpv6(header)) if header.echo().is_some() => Self::Echo6,
            _ => Self::Other,
        }
    }
}

/// Traffic of one kind that was sent and has arrived.
pub struct Sent {
    pub kind: Kind,
    /// What was sent, in words.
    pub description: String,
    /// Packets in both directions, if known without the interface's counters.
    pub packets: Option<u64>,
    /// Frames to find in the file byte for byte, in order.
    pub frames: SentFrames,
    /// What the left interface counted.
    pub counted: InterfaceCounters,
}

/// Frames sent through packet sockets, by direction as the right host sees it.
#[derive(Default)]
pub struct SentFrames {
    pub received: Vec<Vec<u8>>,
    pub transmitted: Vec<Vec<u8>>,
}

impl Sent {
    fn new(kind: Kind, description: String, packets: Option<u64>) -> Self {
        Self {
            kind,
            description,
            packets,
            frames: SentFrames::default(),
            counted: InterfaceCounters::default(),
        }
    }
}

/// Sends traffic of this kind and counts its packets at the left interface.
///
/// Returns when all its packets have passed that interface, because the sender waits for the answers. So the
/// interface's counters belong to one kind at a time.
pub fn send_counted(
    kind: Kind,
    hosts: &mut Hosts,
    deadline: &Deadline<'_>,
) -> Result<Sent, Failure> {
    deadline.check()?;
    let before = hosts.left.counters()?;
    let sent = send_kind(kind, hosts, deadline)?;
    let counted = hosts.left.counters()?.since(before);
    Ok(Sent { counted, ..sent })
}

fn send_kind(kind: Kind, hosts: &Hosts, deadline: &Deadline<'_>) -> Result<Sent, Failure> {
    match kind {
        Kind::Tcp4 => tcp(kind, hosts, Family::V4, deadline),
        Kind::Tcp6 => tcp(kind, hosts, Family::V6, deadline),
        Kind::Udp4 => udp(kind, hosts, Family::V4, deadline),
        Kind::Udp6 => udp(kind, hosts, Family::V6, deadline),
        Kind::Broadcast => broadcast(kind, hosts, deadline),
        Kind::Echo4 => echo(kind, hosts, Family::V4, deadline),
        Kind::Echo6 => echo(kind, hosts, Family::V6, deadline),
        Kind::Arp => arp(kind, hosts, deadline),
        Kind::Vlan => vlan(kind, hosts, deadline),
        Kind::QinQ => qinq(kind, hosts, deadline),
        Kind::Other => Ok(Sent::new(kind, String::new(), Some(0))),
    }
}

/// `bytes` of text as payload, the same each time.
fn payload(bytes: usize) -> Vec<u8> {
    let text = b"Sent by one test host to the other, to be found again in the file. ";
    text.iter().copied().cycle().take(bytes).collect()
}

const TCP_PORT: u16 = 47_001;
/// Bytes in each direction.
const TCP_BYTES: usize = 4 << 20;
const CHUNK_BYTES: usize = 64 << 10;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends [`TCP_BYTES`] in both directions at the same time over one connection.
///
/// Once both ends have read the other's FIN, every segment has been sent: the kernel acknowledges a FIN at
/// once (`tcp_fin`, net/ipv4/tcp_input.c).
fn tcp(
    kind: Kind,
    hosts: &Hosts,
    family: Family,
    deadline: &Deadline<'_>,
) -> Result<Sent, Failure> {
    let to = SocketAddr::new(hosts.right.ip(family), TCP_PORT);
    let listener = hosts
        .right
        .open("a TCP port on the right host", || TcpListener::bind(to))?;
    let client = hosts.left.open("a TCP connection to the right host", || {
        TcpStream::connect_timeout(&to, CONNECT_TIMEOUT)
    })?;
    listener.set_nonblocking(true)?;
    let accept = || listener.accept();
    let (server, _) = deadline.retry("a TCP connection", &listener, PollFlags::IN, accept)?;

    let data = payload(CHUNK_BYTES);
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut ends = [TcpEnd::new(client)?, TcpEnd::new(server)?];
    while !ends.iter().all(TcpEnd::is_done) {
        let mut progress = false;
        for end in &mut ends {
            progress |= end
                .transfer(&data, &mut buffer)
                .map_err(|error| Failure::job_on("the TCP connection broke", &error))?;
        }
        if !progress {
            let awaited: Vec<_> = ends.iter().filter_map(TcpEnd::awaits).collect();
            deadline.wait("the rest of a TCP stream", &awaited)?;
        }
    }
    if ends.iter().any(|end| end.received != TCP_BYTES) {
        let line = "a TCP stream ended with bytes missing";
        return Err(Failure::new(Exit::Failed, line));
    }
    let mebibytes = TCP_BYTES >> 20;
    let description = format!("{mebibytes} MiB each way through sockets, large segments (TSO)");
    Ok(Sent::new(kind, description, None))
}

/// One end of the TCP connection; sends and receives.
struct TcpEnd {
    stream: TcpStream,
    unsent: usize,
    received: usize,
    /// The other end has sent its FIN.
    is_ended: bool,
}

impl TcpEnd {
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            unsent: TCP_BYTES,
            received: 0,
            is_ended: false,
        })
    }

    fn is_done(&self) -> bool {
        self.unsent == 0 && self.is_ended
    }

    /// Sends and receives once without blocking. Returns whether anything was transferred.
    fn transfer(&mut self, data: &[u8], buffer: &mut [u8]) -> io::Result<bool> {
        let mut progress = false;
        if self.unsent > 0 {
            let chunk = &data[..data.len().min(self.unsent)];
            if let Some(bytes) = unless_blocked(self.stream.write(chunk))? {
                progress = true;
                self.unsent -= bytes;
                if self.unsent == 0 {
                    self.stream.shutdown(Shutdown::Write)?;
                }
            }
        }
        if !self.is_ended
            && let Some(bytes) = unless_blocked(self.stream.read(buffer))?
        {
            progress = true;
            self.received += bytes;
            self.is_ended = bytes == 0;
        }
        Ok(progress)
    }

    fn awaits(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::OUT, self.unsent > 0);
        flags.set(PollFlags::IN, !self.is_ended);
        (!flags.is_empty()).then(|| (self.stream.as_fd(), flags))
    }
}

/// `None` if the operation would block.
fn unless_blocked(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

const UDP_PORT: u16 = 47_002;
const DATAGRAMS: usize = 1000;
const BROADCASTS: usize = 50;
/// Payload sizes. The largest fits into an IPv6 packet of 1500 bytes.
const MIN_DATAGRAM_BYTES: usize = 16;
const MAX_DATAGRAM_BYTES: usize = 1452;
/// Datagrams sent at once: few enough for the smallest receive buffer.
const BURST: usize = 20;
const SEND_INTERVAL: Duration = Duration::from_millis(10);

/// Sends datagrams of many sizes to a port of the right host, which receives each.
fn udp(
    kind: Kind,
    hosts: &Hosts,
    family: Family,
    deadline: &Deadline<'_>,
) -> Result<Sent, Failure> {
    let to = hosts.right.ip(family);
    let sockets = udp_sockets(hosts, family, to)?;
    let bytes = send_datagrams(&sockets, SocketAddr::new(to, UDP_PORT), DATAGRAMS, deadline)?;
    let description = format!("{DATAGRAMS} datagrams, {} KiB through sockets", bytes >> 10);
    Ok(Sent::new(kind, description, Some(DATAGRAMS as u64)))
}

fn broadcast(kind: Kind, hosts: &Hosts, deadline: &Deadline<'_>) -> Result<Sent, Failure> {
    let sockets = udp_sockets(hosts, Family::V4, Ipv4Addr::UNSPECIFIED.into())?;
    sockets[0].set_broadcast(true)?;
    let to = hosts.left.v4_broadcast();
    send_datagrams(&sockets, (to, UDP_PORT).into(), BROADCASTS, deadline)?;
    let description = format!("{BROADCASTS} datagrams to {to}");
    Ok(Sent::new(kind, description, Some(BROADCASTS as u64)))
}

/// The sender's socket on the left host, and the receiver's, bound to `address`, on the right.
fn udp_sockets(hosts: &Hosts, family: Family, address: IpAddr) -> Result<[UdpSocket; 2], Failure> {
    let from = (hosts.left.ip(family), UDP_PORT);
    let sender = hosts
        .left
        .open("a UDP port on the left host", || UdpSocket::bind(from))?;
    let receiver = hosts.right.open("a UDP port on the right host", || {
        UdpSocket::bind((address, UDP_PORT))
    })?;
    sender.set_nonblocking(true)?;
    receiver.set_nonblocking(true)?;
    Ok([sender, receiver])
}

/// Sends `count` datagrams in bursts and receives each burst before the next. Returns the payload bytes.
fn send_datagrams(
    [sender, receiver]: &[UdpSocket; 2],
    to: SocketAddr,
    count: usize,
    deadline: &Deadline<'_>,
) -> Result<usize, Failure> {
    let data = payload(MAX_DATAGRAM_BYTES);
    let mut buffer = [0; MAX_DATAGRAM_BYTES + 1];
    let (mut sent, mut received) = (0, 0);
    for first in (0..count).step_by(BURST) {
        let burst = first..count.min(first + BURST);
        for number in burst.clone() {
            // Steps of a prime spread the sizes over the whole range.
            let range = MAX_DATAGRAM_BYTES - MIN_DATAGRAM_BYTES + 1;
            let bytes = MIN_DATAGRAM_BYTES + number * 97 % range;
            let send = || sender.send_to(&data[..bytes], to);
            sent += deadline.retry("room to send", sender, PollFlags::OUT, send)?;
        }
        for _ in burst {
            let receive = || receiver.recv(&mut buffer);
            received += deadline.retry("a datagram", receiver, PollFlags::IN, receive)?;
        }
        deadline.pause(SEND_INTERVAL)?;
    }
    if sent == received {
        Ok(sent)
    } else {
        let line = format!("{sent} bytes sent in datagrams, {received} received");
        Err(Failure::new(Exit::Failed, line))
    }
}

const ECHO_REQUESTS: u16 = 50;
const ECHO_IDENTIFIER: u16 = 0x7a9;
/// Payload of the first request, and how much each one grows.
const ECHO_BYTES: usize = 56;
const ECHO_STEP_BYTES: usize = 24;

/// Pings the right host and waits for each reply.
fn echo(
    kind: Kind,
    hosts: &Hosts,
    family: Family,
    deadline: &Deadline<'_>,
) -> Result<Sent, Failure> {
    let to = SocketAddr::new(hosts.right.ip(family), 0);
    let socket = hosts
        .left
        .open("a raw socket", || icmp_socket(family, to))?;
    let data = payload(ECHO_BYTES + ECHO_STEP_BYTES * usize::from(ECHO_REQUESTS));
    let mut buffer = [0; 2048];
    for sequence in 0..ECHO_REQUESTS {
        let bytes = ECHO_BYTES + ECHO_STEP_BYTES * usize::from(sequence);
        let request = echo_request(hosts, family, sequence, &data[..bytes]);
        deadline.retry("room to send", &socket, PollFlags::OUT, || {
            send(&socket, &request, SendFlags::empty()).map_err(io::Error::from)
        })?;
        loop {
            let receive = || Ok(recv(&socket, &mut buffer, RecvFlags::empty())?.1);
            let bytes = deadline.retry("an echo reply", &socket, PollFlags::IN, receive)?;
            let reply = &buffer[..bytes.min(buffer.len())];
            if parse_echo_reply(reply, family) == Some((ECHO_IDENTIFIER, sequence)) {
                break;
            }
        }
        deadline.pause(SEND_INTERVAL)?;
    }
    let description = format!("{ECHO_REQUESTS} requests, each answered by the kernel");
    Ok(Sent::new(
        kind,
        description,
        Some(2 * u64::from(ECHO_REQUESTS)),
    ))
}

fn icmp_socket(family: Family, to: SocketAddr) -> io::Result<OwnedFd> {
    let (domain, protocol) = match family {
        Family::V4 => (AddressFamily::INET, ipproto::ICMP),
        Family::V6 => (AddressFamily::INET6, ipproto::ICMPV6),
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(domain, SocketType::RAW, flags, Some(protocol))?;
    connect(&socket, &to)?;
    Ok(socket)
}

/// An echo request without its IP header, which the kernel adds.
fn echo_request(hosts: &Hosts, family: Family, sequence: u16, data: &[u8]) -> Vec<u8> {
    let (left, right) = (&hosts.left, &hosts.right);
    let (packet, header_bytes) = match family {
        Family::V4 => (Frame::raw().ipv4(left.v4, right.v4), Ipv4::LEN),
        Family::V6 => (Frame::raw().ipv6(left.v6, right.v6), Ipv6::LEN),
    };
    let mut packet = packet.echo_request(ECHO_IDENTIFIER, sequence).payload(data);
    packet.split_off(header_bytes)
}

/// Identifier and sequence number of an echo reply. An IPv4 socket also delivers the IP header.
fn parse_echo_reply(bytes: &[u8], family: Family) -> Option<(u16, u16)> {
    match family {
        Family::V4 => match dissect(link_type::RAW, bytes) {
            summary if !matches!(summary.network, Network::Ipv4(_)) => None,
            summary => match summary.transport {
                Transport::Icmpv4(header) if header.kind() == Icmpv4::ECHO_REPLY => header.echo(),
                _ => None,
            },
        },
        Family::V6 => match Icmpv6::split(bytes, 0) {
            Ok((header, _)) if header.kind() == Icmpv6::ECHO_REPLY => header.echo(),
            _ => None,
        },
    }
}

const ARP_REQUESTS: usize = 8;
const TAGGED_FRAMES: u16 = 64;
const FIRST_VLAN: u16 = 100;
const FIRST_SERVICE_VLAN: u16 = 1000;

/// Sends ARP requests from the left host and replies from the right, both as raw frames: ARP is off on
/// this link.
fn arp(kind: Kind, hosts: &Hosts, deadline: &Deadline<'_>) -> Result<Sent, Failure> {
    let (left, right) = (&hosts.left, &hosts.right);
    let request = ArpFields {
        operation: ArpOperation::REQUEST,
        sender_mac: MacAddress(left.mac.0),
        sender_ip: left.v4,
        target_mac: MacAddress::ZERO,
        target_ip: right.v4,
    };
    let reply = ArpFields {
        operation: ArpOperation::REPLY,
        sender_mac: MacAddress(right.mac.0),
        sender_ip: right.v4,
        target_mac: request.sender_mac,
        target_ip: left.v4,
    };
    let request = Frame::ethernet(request.sender_mac, MacAddress::BROADCAST).arp(&request);
    let reply = Frame::ethernet(reply.sender_mac, reply.target_mac).arp(&reply);
    let senders = [frame_sender(left)?, frame_sender(right)?];
    for _ in 0..ARP_REQUESTS {
        send_frame(&senders[0], &request, deadline)?;
        send_frame(&senders[1], &reply, deadline)?;
    }
    let description =
        format!("{ARP_REQUESTS} broadcast requests, {ARP_REQUESTS} replies, raw frames");
    let mut sent = Sent::new(kind, description, Some(2 * ARP_REQUESTS as u64));
    sent.frames = SentFrames {
        received: vec![request; ARP_REQUESTS],
        transmitted: vec![reply; ARP_REQUESTS],
    };
    Ok(sent)
}

/// Sends frames with one VLAN tag; every frame has another VLAN, and all priorities occur.
fn vlan(kind: Kind, hosts: &Hosts, deadline: &Deadline<'_>) -> Result<Sent, Failure> {
    let frames = tagged_frames(hosts, |number, frame| {
        let tag = VlanFields {
            id: FIRST_VLAN + number,
            priority: (number % 8) as u8,
            ..VlanFields::default()
        };
        frame.tag(ethertype::VLAN, tag)
    });
    let sender = frame_sender(&hosts.left)?;
    for frame in &frames {
        send_frame(&sender, frame, deadline)?;
    }
    let last = FIRST_VLAN + TAGGED_FRAMES - 1;
    let description = format!("{TAGGED_FRAMES} raw frames, VLANs {FIRST_VLAN} to {last}");
    Ok(tagged(kind, description, frames))
}

/// Sends frames with a service tag and a customer tag.
fn qinq(kind: Kind, hosts: &Hosts, deadline: &Deadline<'_>) -> Result<Sent, Failure> {
    let frames = tagged_frames(hosts, |number, frame| {
        let service = FIRST_SERVICE_VLAN + number / 8;
        frame.service_vlan(service).vlan(FIRST_VLAN + number)
    });
    let sender = frame_sender(&hosts.left)?;
    // Without a receiver for the inner tag, the right interface would count the frames as dropped
    // (`__netif_receive_skb_core`, net/core/dev.c).
    let receiver = hosts.right.open("a packet socket", vlan_receiver)?;
    for frame in &frames {
        send_frame(&sender, frame, deadline)?;
        let receive = || Ok(recv(&receiver, &mut [0; 1], RecvFlags::empty())?);
        deadline.retry("a tagged frame", &receiver, PollFlags::IN, receive)?;
    }
    let description = format!("{TAGGED_FRAMES} raw frames, two tags each");
    Ok(tagged(kind, description, frames))
}

fn tagged(kind: Kind, description: String, frames: Vec<Vec<u8>>) -> Sent {
    let mut sent = Sent::new(kind, description, Some(TAGGED_FRAMES.into()));
    sent.frames.received = frames;
    sent
}

/// Frames with datagrams, IPv4 and IPv6 in turn, that `add_tags` has tagged.
fn tagged_frames(hosts: &Hosts, add_tags: impl Fn(u16, Frame) -> Frame) -> Vec<Vec<u8>> {
    let (left, right) = (&hosts.left, &hosts.right);
    let frame = |number: u16| {
        let untagged = Frame::ethernet(MacAddress(left.mac.0), MacAddress(right.mac.0));
        let tagged = add_tags(number, untagged);
        let packet = if number.is_multiple_of(2) {
            tagged.ipv4(left.v4, right.v4)
        } else {
            tagged.ipv6(left.v6, right.v6)
        };
        let data = payload(18 + 20 * usize::from(number));
        packet.udp(47_003, 47_004).payload(&data)
    };
    (0..TAGGED_FRAMES).map(frame).collect()
}

/// A packet socket that receives frames whose outer tag the kernel has removed.
fn vlan_receiver() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let protocol = NonZeroU32::new(ethertype::VLAN.to_be().into()).map(Protocol::from_raw);
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, protocol)?;
    Ok(socket)
}

fn frame_sender(host: &Host) -> Result<FrameSender, Failure> {
    host.open("a packet socket", || FrameSender::open(host.index.0))
}

fn send_frame(sender: &FrameSender, frame: &[u8], deadline: &Deadline<'_>) -> Result<(), Failure> {
    deadline.retry("room to send", sender, PollFlags::OUT, || {
        sender.send(frame)
    })
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use tapline::packet::{Icmpv4Fields, TcpFields};

    use super::*;

    #[test]
    fn the_kind_of_a_frame_is_recognised() {
        let [a, b] = [1, 2].map(|last| MacAddress([2, 0, 0, 0, 0, last]));
        let frame = || Frame::ethernet(a, b);
        let (v4, v6) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        let ipv4 = || frame().ipv4(v4, v4);
        let ipv6 = || frame().ipv6(v6, v6);
        let broadcast = Frame::ethernet(a, MacAddress::BROADCAST).ipv4(v4, v4);
        let unreachable = Icmpv4Fields {
            kind: 3,
            code: 3,
            checksum: 0,
            parameter: [0; 4],
        };
        for (kind, bytes) in [
            (Kind::Udp4, ipv4().udp(1, 2).payload(b"")),
            (Kind::Udp6, ipv6().udp(1, 2).payload(b"")),
            (Kind::Broadcast, broadcast.udp(1, 2).payload(b"")),
            (Kind::Tcp4, ipv4().tcp(TcpFields::default()).payload(b"")),
            (Kind::Tcp6, ipv6().tcp(TcpFields::default()).payload(b"")),
            (Kind::Echo4, ipv4().echo_request(1, 2).payload(b"")),
            (Kind::Echo6, ipv6().echo_request(1, 2).payload(b"")),
            (
                Kind::Vlan,
                frame().vlan(5).ipv4(v4, v4).udp(1, 2).payload(b""),
            ),
            (
                Kind::QinQ,
                frame().service_vlan(5).vlan(6).payload(0x0806, b""),
            ),
            (Kind::Other, ipv4().icmp(unreachable).payload(b"")),
            (Kind::Other, vec![0; 3]),
        ] {
            assert_eq!(Kind::of(&bytes), kind);
        }
    }
}
