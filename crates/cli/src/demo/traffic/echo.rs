//! ICMP and ICMPv6 echo requests, and their replies.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::event::PollFlags;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, ipproto, recv, send,
    socket_with,
};
use tapline::packet::build::Frame;
use tapline::packet::dissect::{Network, Transport};
use tapline::packet::protocol::link_type;
use tapline::packet::{Icmpv4, Icmpv6, Ipv4, Ipv6, dissect};

use super::kind::Kind;
use super::sent::{SEND_INTERVAL, Sent, payload};
use crate::demo::deadline::Deadline;
use crate::demo::hosts::{Family, Hosts};
use crate::failure::Failure;

const ECHO_REQUESTS: u16 = 50;
const ECHO_IDENTIFIER: u16 = 0x7a9;
/// Payload of the first request, and how much each one grows.
const ECHO_BYTES: usize = 56;
const ECHO_STEP_BYTES: usize = 24;

/// Pings the right host and waits for each reply.
pub fn ping(
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
