//! UDP over IPv4 and IPv6, and broadcasts.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use rustix::event::PollFlags;

use super::kind::Kind;
use super::sent::{SEND_INTERVAL, Sent, payload};
use crate::demo::deadline::Deadline;
use crate::demo::hosts::{Family, Hosts};
use crate::failure::{Exit, Failure};

const UDP_PORT: u16 = 47_002;
const DATAGRAMS: usize = 1000;
const BROADCASTS: usize = 50;
/// Payload sizes. The largest fits into an IPv6 packet of 1500 bytes.
const MIN_DATAGRAM_BYTES: usize = 16;
const MAX_DATAGRAM_BYTES: usize = 1452;
/// Datagrams sent at once: few enough for the smallest receive buffer.
const BURST: usize = 20;

/// Sends datagrams of many sizes to a port of the right host, which receives each.
pub fn send(
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

pub fn broadcast(kind: Kind, hosts: &Hosts, deadline: &Deadline<'_>) -> Result<Sent, Failure> {
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
