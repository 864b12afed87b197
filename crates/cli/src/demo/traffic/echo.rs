//! ICMP echo: a raw socket asks, the kernel of the right host answers.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, ipproto, recv, send,
    socket_with,
};
use wire::build::Frame;
use wire::dissect::{Network, Transport};
use wire::protocol::link_type;
use wire::{Icmpv4, Icmpv6, Ipv4, Ipv6, dissect};

use super::{Did, text};
use crate::demo::hosts::{Family, Hosts};
use crate::demo::patience::Patience;
use crate::failure::Failure;

const REQUESTS: u16 = 50;
const IDENTIFIER: u16 = 0x7a9;
const INTERVAL: Duration = Duration::from_millis(10);
/// Bytes that a request carries, in the first and more in each that follows.
const BYTES_MIN: usize = 56;
const BYTES_STEP: usize = 24;

/// Asks the right host again and again; each answer is waited for.
pub fn requests(hosts: &Hosts, family: Family, patience: &Patience<'_>) -> Result<Did, Failure> {
    let to = SocketAddr::new(hosts.right.ip(family), 0);
    let socket = hosts
        .left
        .open("a raw socket", || open(family, to).map_err(Into::into))?;
    let payload = text(BYTES_MIN + BYTES_STEP * usize::from(REQUESTS));
    let mut buffer = [0; 2048];
    for sequence in 0..REQUESTS {
        let bytes = BYTES_MIN + BYTES_STEP * usize::from(sequence);
        let request = request(hosts, family, sequence, &payload[..bytes]);
        patience.when("room to send", &socket, PollFlags::OUT, || {
            send(&socket, &request, SendFlags::empty()).map_err(io::Error::from)
        })?;
        loop {
            let receive = || Ok(recv(&socket, &mut buffer, RecvFlags::empty())?.1);
            let bytes = patience.when("an echo reply", &socket, PollFlags::IN, receive)?;
            if answers(&buffer[..bytes.min(buffer.len())], family) == Some((IDENTIFIER, sequence)) {
                break;
            }
        }
        patience.pause(INTERVAL)?;
    }
    let what = format!("{REQUESTS} requests, each answered by the kernel");
    Ok(Did::packets(what, 2 * u64::from(REQUESTS)))
}

fn open(family: Family, to: SocketAddr) -> rustix::io::Result<OwnedFd> {
    let (domain, protocol) = match family {
        Family::V4 => (AddressFamily::INET, ipproto::ICMP),
        Family::V6 => (AddressFamily::INET6, ipproto::ICMPV6),
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(domain, SocketType::RAW, flags, Some(protocol))?;
    connect(&socket, &to)?;
    Ok(socket)
}

/// The message without its IP header, which the socket writes.
fn request(hosts: &Hosts, family: Family, sequence: u16, payload: &[u8]) -> Vec<u8> {
    let (left, right) = (&hosts.left, &hosts.right);
    let (packet, header_bytes) = match family {
        Family::V4 => (Frame::raw().ipv4(left.v4, right.v4), Ipv4::LEN),
        Family::V6 => (Frame::raw().ipv6(left.v6, right.v6), Ipv6::LEN),
    };
    let mut packet = packet.echo_request(IDENTIFIER, sequence).payload(payload);
    packet.split_off(header_bytes)
}

/// Identifier and sequence number of an echo reply. Of IPv4 the socket gives the IP header too.
fn answers(bytes: &[u8], family: Family) -> Option<(u16, u16)> {
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
