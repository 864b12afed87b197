//! UDP datagrams through sockets.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use rustix::event::PollFlags;

use super::{Did, text};
use crate::demo::hosts::{Family, Hosts};
use crate::demo::patience::Patience;
use crate::failure::{Exit, Failure};

const DATAGRAMS: usize = 1000;
const BROADCASTS: usize = 50;
const PORT: u16 = 47_002;
/// Payloads go from the first to this, which fits a frame of IPv6 too.
const BYTES_MIN: usize = 16;
const BYTES_MAX: usize = 1452;
/// Datagrams sent at once: few enough for the smallest buffer of a receiver.
const ROUND: usize = 20;
const INTERVAL: Duration = Duration::from_millis(10);

/// Sends datagrams of many sizes to a port of the right host, which takes each.
pub fn datagrams(hosts: &Hosts, family: Family, patience: &Patience<'_>) -> Result<Did, Failure> {
    let to = hosts.right.ip(family);
    let sockets = open(hosts, family, to)?;
    let bytes = stream(&sockets, SocketAddr::new(to, PORT), DATAGRAMS, patience)?;
    let what = format!("{DATAGRAMS} datagrams, {} KiB through sockets", bytes >> 10);
    Ok(Did::packets(what, DATAGRAMS as u64))
}

/// Sends datagrams to all hosts of the network.
pub fn broadcasts(hosts: &Hosts, patience: &Patience<'_>) -> Result<Did, Failure> {
    let sockets = open(hosts, Family::V4, Ipv4Addr::UNSPECIFIED.into())?;
    sockets[0].set_broadcast(true)?;
    let all = hosts.left.v4_broadcast();
    stream(&sockets, (all, PORT).into(), BROADCASTS, patience)?;
    let what = format!("{BROADCASTS} datagrams to {all}");
    Ok(Did::packets(what, BROADCASTS as u64))
}

/// The sender's socket, and the receiver's on `at`.
fn open(hosts: &Hosts, family: Family, at: IpAddr) -> Result<[UdpSocket; 2], Failure> {
    let from = (hosts.left.ip(family), PORT);
    let sockets = [
        hosts
            .left
            .open("a UDP port on the left host", || UdpSocket::bind(from))?,
        hosts.right.open("a UDP port on the right host", || {
            UdpSocket::bind((at, PORT))
        })?,
    ];
    for socket in &sockets {
        socket.set_nonblocking(true)?;
    }
    Ok(sockets)
}

/// Sends `count` datagrams, a round at an interval, each of which is received before the next;
/// returns the bytes they carried.
fn stream(
    [sender, receiver]: &[UdpSocket; 2],
    to: SocketAddr,
    count: usize,
    patience: &Patience<'_>,
) -> Result<usize, Failure> {
    let payload = text(BYTES_MAX);
    let mut buffer = [0; BYTES_MAX + 1];
    let (mut sent, mut received) = (0, 0);
    for first in (0..count).step_by(ROUND) {
        let round = first..count.min(first + ROUND);
        for number in round.clone() {
            // Steps by a prime spread the sizes over the whole range.
            let bytes = BYTES_MIN + number * 97 % (BYTES_MAX - BYTES_MIN + 1);
            let send = || sender.send_to(&payload[..bytes], to);
            sent += patience.when("room to send", sender, PollFlags::OUT, send)?;
        }
        for _ in round {
            let receive = || receiver.recv(&mut buffer);
            received += patience.when("a datagram", receiver, PollFlags::IN, receive)?;
        }
        patience.pause(INTERVAL)?;
    }
    if sent == received {
        Ok(sent)
    } else {
        let line = format!("{sent} bytes sent in datagrams, {received} received");
        Err(Failure::new(Exit::Failed, line))
    }
}
