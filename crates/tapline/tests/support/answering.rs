//! A host whose ICMP replies come from the test, over either family.

use std::net::IpAddr;
use std::os::fd::OwnedFd;

use lab::generator::send_frames;
use lab::{Host, Net};
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use rustix::net::{AddressFamily, RecvFlags, SocketType, ipproto, recv, socket};
use wire::build::Frame;
use wire::checksum::{Sum, internet};
use wire::protocol::ip;
use wire::{Icmpv4, Icmpv6, Ipv4};

use super::ping::open_ping_sockets;

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// Room for some thousand requests.
const BUFFER_BYTES: usize = 8 << 20;
/// IP protocol number of the header (RFC 8200, 4.6).
const DESTINATION_OPTIONS: u8 = 60;

/// IPv4 or IPv6, and what differs between them here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    pub is_ipv6: bool,
    pub request: u8,
    pub reply: u8,
    /// Type and code of "host unreachable".
    pub unreachable: [u8; 2],
    /// Bytes of its IP header.
    pub header: usize,
}

pub const FAMILIES: [Family; 2] = [
    Family {
        is_ipv6: false,
        request: Icmpv4::ECHO_REQUEST,
        reply: Icmpv4::ECHO_REPLY,
        unreachable: [3, 1],
        header: 20,
    },
    Family {
        is_ipv6: true,
        request: Icmpv6::ECHO_REQUEST,
        reply: Icmpv6::ECHO_REPLY,
        unreachable: [1, 3],
        header: 40,
    },
];

impl Family {
    /// The address of host `number` on the link: 1 sends probes, 2 replies, 3 is a second address of host 2.
    pub fn host(self, number: u8) -> IpAddr {
        if self.is_ipv6 {
            [0xfd00, 1, 0, 0, 0, 0, 0, number.into()].into()
        } else {
            [10, 1, 0, number].into()
        }
    }

    pub fn target(self) -> String {
        self.host(2).to_string()
    }
}

/// Two hosts. The right one leaves echo requests to the test and has a second address.
pub fn hosts() -> [Host; 2] {
    let hosts = Net::new().pair();
    open_ping_sockets(&hosts[0]);
    hosts[1].set_sysctl("ipv4/icmp_echo_ignore_all", "1");
    hosts[1].set_sysctl("ipv6/icmp/echo_ignore_all", "1");
    hosts[1].ip("address add 10.1.0.3/24 dev right0");
    hosts[1].ip("-6 address add fd00:1::3/64 dev right0 nodad");
    hosts
}

/// Sends the replies.
pub struct Answerer<'a> {
    pub family: Family,
    hosts: &'a [Host; 2],
    requests: OwnedFd,
}

impl<'a> Answerer<'a> {
    pub fn new(hosts: &'a [Host; 2], family: Family) -> Self {
        let (domain, protocol) = if family.is_ipv6 {
            (AddressFamily::INET6, ipproto::ICMPV6)
        } else {
            (AddressFamily::INET, ipproto::ICMP)
        };
        let requests = hosts[1].run(|| socket(domain, SocketType::RAW, Some(protocol)));
        let requests = requests.expect("a raw socket");
        set_socket_recv_buffer_size_force(&requests, BUFFER_BYTES).expect("a buffer");
        Self {
            family,
            hosts,
            requests,
        }
    }

    /// The message of the next received echo request.
    pub fn next_request(&self) -> Vec<u8> {
        let mut buffer = [0; 2048];
        loop {
            let received = recv(&self.requests, &mut buffer, RecvFlags::empty());
            let (len, _) = received.expect("the socket is there");
            let bytes = &buffer[..len];
            let message = if self.family.is_ipv6 {
                bytes
            } else {
                Ipv4::split(bytes, 0).expect("a header").1
            };
            if message.first() == Some(&self.family.request) {
                return message.to_vec();
            }
        }
    }

    /// Turns a request into a reply modified by `change`, with a valid checksum for sender `from`.
    pub fn reply(&self, from: u8, request: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut reply = request.to_vec();
        reply[0] = self.family.reply;
        change(&mut reply);
        self.sum(from, &mut reply);
        reply
    }

    /// "Host unreachable" about a request, quoting only the IP header and `quoted` bytes.
    pub fn unreachable(&self, request: &[u8], quoted: usize) -> Vec<u8> {
        self.error(self.family.unreachable, [0; 4], request, quoted)
    }

    /// An error of this type and code about a request, like [`Answerer::unreachable`].
    pub fn error(
        &self,
        [kind, code]: [u8; 2],
        parameter: [u8; 4],
        request: &[u8],
        quoted: usize,
    ) -> Vec<u8> {
        let mut error = vec![kind, code, 0, 0];
        error.extend_from_slice(&parameter);
        let packet = self.packet(1, 2, request);
        error.extend_from_slice(&packet[..self.family.header + quoted]);
        self.sum(2, &mut error);
        error
    }

    /// Sends a message from host `from` to the probing host.
    pub fn send(&self, from: u8, message: &[u8]) {
        self.send_copies(from, message, 1);
    }

    /// Like [`Answerer::send`], `count` times.
    pub fn send_copies(&self, from: u8, message: &[u8], count: usize) {
        self.send_frames(&self.frame(from, message), count);
    }

    /// Like [`Answerer::send`], with the IP header changed by `change` after its checksum.
    pub fn send_changed(&self, from: u8, message: &[u8], change: impl FnOnce(&mut [u8])) {
        let mut frame = self.frame(from, message);
        change(&mut frame[ETHERNET..][..self.family.header]);
        self.send_frames(&frame, 1);
    }

    fn frame(&self, from: u8, message: &[u8]) -> Vec<u8> {
        let macs = [1, 0].map(|host: usize| self.hosts[host].interface().mac.0);
        let [source, destination] = macs.map(wire::MacAddress);
        let frame = Frame::ethernet(source, destination);
        self.finish(frame, from, 1, message)
    }

    fn send_frames(&self, frame: &[u8], count: usize) {
        let out = self.hosts[1].interface().index;
        let frames = std::iter::repeat_n(frame, count);
        let sent = self.hosts[1].run(|| send_frames(out, frames));
        assert_eq!(sent.expect("they are sent"), count as u64);
    }

    /// Sends an IPv6 message from host 2, after empty destination options.
    ///
    /// Source: RFC 8200, 4.2 and 4.6: next header, length, and a `PadN` of four bytes.
    pub fn send_behind_options(&self, message: &[u8]) {
        let mut bytes = vec![ip::ICMPV6, 0, 1, 4, 0, 0, 0, 0];
        bytes.extend_from_slice(message);
        let macs = [1, 0].map(|host: usize| self.hosts[host].interface().mac.0);
        let [source, destination] = macs.map(wire::MacAddress);
        let (IpAddr::V6(from), IpAddr::V6(to)) = (self.family.host(2), self.family.host(1)) else {
            unreachable!("it is of IPv6");
        };
        let frame = Frame::ethernet(source, destination);
        let frame = frame.ipv6(from, to).payload(DESTINATION_OPTIONS, &bytes);
        let out = self.hosts[1].interface().index;
        let sent = self.hosts[1].run(|| send_frames(out, [frame]));
        assert_eq!(sent.expect("it is sent"), 1);
    }

    fn packet(&self, from: u8, to: u8, message: &[u8]) -> Vec<u8> {
        self.finish(Frame::raw(), from, to, message)
    }

    fn finish(&self, frame: Frame, from: u8, to: u8, message: &[u8]) -> Vec<u8> {
        match (self.family.host(from), self.family.host(to)) {
            (IpAddr::V4(from), IpAddr::V4(to)) => frame.ipv4(from, to).payload(ip::ICMPV4, message),
            (IpAddr::V6(from), IpAddr::V6(to)) => frame.ipv6(from, to).payload(ip::ICMPV6, message),
            _ => unreachable!("both are of the family"),
        }
    }

    fn sum(&self, from: u8, message: &mut [u8]) {
        message[2..4].fill(0);
        let sum = match (self.family.host(from), self.family.host(1)) {
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let sum = Sum::new().pseudo_ipv6(from, to, ip::ICMPV6, message.len() as u32);
                sum.bytes(message).finish()
            }
            _ => internet(message),
        };
        message[2..4].copy_from_slice(&sum.to_be_bytes());
    }
}
