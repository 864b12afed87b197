//! Frames that no ordinary socket sends, through packet sockets.

use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::PollFlags;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};
use wire::build::Frame;
use wire::protocol::ethertype;
use wire::{ArpFields, ArpOperation, MacAddress, VlanFields};

use super::{Did, Frames, text};
use crate::demo::hosts::{Host, Hosts};
use crate::demo::patience::Patience;
use crate::failure::Failure;

const REQUESTS: usize = 8;
const FRAMES: u16 = 64;
/// The first VLAN and the first service VLAN.
const VLAN: u16 = 100;
const SERVICE_VLAN: u16 = 1000;

/// Asks all hosts for the right one's hardware address, and lets the right host answer. Both do it
/// in frames: the kernels leave ARP alone on this link.
pub fn arp(hosts: &Hosts, patience: &Patience<'_>) -> Result<Did, Failure> {
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
    let asking = Frame::ethernet(request.sender_mac, MacAddress::BROADCAST).arp(&request);
    let answering = Frame::ethernet(reply.sender_mac, reply.target_mac).arp(&reply);
    let sockets = [open(left)?, open(right)?];
    for _ in 0..REQUESTS {
        put(&sockets[0], &asking, patience)?;
        put(&sockets[1], &answering, patience)?;
    }
    Ok(Did {
        what: format!("{REQUESTS} requests to all, {REQUESTS} replies, raw frames"),
        packets: Some(2 * REQUESTS as u64),
        frames: Frames {
            received: vec![asking; REQUESTS],
            transmitted: vec![answering; REQUESTS],
        },
    })
}

/// Sends frames with one tag, of as many VLANs and all priorities.
pub fn vlan(hosts: &Hosts, patience: &Patience<'_>) -> Result<Did, Failure> {
    let tagged = |number: u16, frame: Frame| {
        let tag = VlanFields {
            id: VLAN + number,
            priority: (number % 8) as u8,
            ..VlanFields::default()
        };
        frame.tag(ethertype::VLAN, tag)
    };
    let last = VLAN + FRAMES - 1;
    let what = format!("{FRAMES} raw frames, VLANs {VLAN} to {last}");
    let frames = tagged_frames(hosts, tagged);
    let socket = open(&hosts.left)?;
    for frame in &frames {
        put(&socket, frame, patience)?;
    }
    Ok(to_the_right(what, frames))
}

/// Sends frames with a service tag around another tag.
pub fn qinq(hosts: &Hosts, patience: &Patience<'_>) -> Result<Did, Failure> {
    let tagged = |number: u16, frame: Frame| {
        frame
            .service_vlan(SERVICE_VLAN + number / 8)
            .vlan(VLAN + number)
    };
    let what = format!("{FRAMES} raw frames, two tags each");
    let frames = tagged_frames(hosts, tagged);
    let socket = open(&hosts.left)?;
    // What comes out of the service tag is of a protocol that nobody on the right host takes: the
    // interface would count it as dropped (`__netif_receive_skb_core`, net/core/dev.c).
    let taker = hosts.right.open("a packet socket", take_tagged)?;
    for frame in &frames {
        put(&socket, frame, patience)?;
        let receive = || Ok(recv(&taker, &mut [0; 1], RecvFlags::empty())?);
        patience.when("a tagged frame", &taker, PollFlags::IN, receive)?;
    }
    Ok(to_the_right(what, frames))
}

/// Datagrams in frames that `tag` has tagged, IPv4 and IPv6 in turn.
fn tagged_frames(hosts: &Hosts, tag: impl Fn(u16, Frame) -> Frame) -> Vec<Vec<u8>> {
    let (left, right) = (&hosts.left, &hosts.right);
    let frame = |number: u16| {
        let plain = Frame::ethernet(MacAddress(left.mac.0), MacAddress(right.mac.0));
        let tagged = tag(number, plain);
        let packet = if number.is_multiple_of(2) {
            tagged.ipv4(left.v4, right.v4)
        } else {
            tagged.ipv6(left.v6, right.v6)
        };
        let payload = text(18 + 20 * usize::from(number));
        packet.udp(47_003, 47_004).payload(&payload)
    };
    (0..FRAMES).map(frame).collect()
}

fn to_the_right(what: String, frames: Vec<Vec<u8>>) -> Did {
    Did {
        what,
        packets: Some(FRAMES.into()),
        frames: Frames {
            received: frames,
            ..Frames::default()
        },
    }
}

/// A packet socket that takes what is left of a frame with two tags.
fn take_tagged() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let protocol = NonZeroU32::new(ethertype::VLAN.to_be().into()).map(Protocol::from_raw);
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, protocol)?;
    Ok(socket)
}

/// A packet socket on the host's interface.
fn open(host: &Host) -> Result<OwnedFd, Failure> {
    host.open("a packet socket", || {
        let socket = abi::socket::packet_socket()?;
        abi::socket::bind_link(socket.as_fd(), host.index.0)?;
        Ok(socket)
    })
}

fn put(socket: &OwnedFd, frame: &[u8], patience: &Patience<'_>) -> Result<(), Failure> {
    patience.when("room to send", socket, PollFlags::OUT, || {
        send(socket, frame, SendFlags::empty()).map_err(io::Error::from)
    })?;
    Ok(())
}
