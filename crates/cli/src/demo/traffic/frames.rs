//! Raw frames: ARP, and datagrams with VLAN tags.

use std::io;
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;

use rustix::event::PollFlags;
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketFlags, SocketType, recv, socket_with};
use tapline::packet::build::Frame;
use tapline::packet::protocol::ethertype;
use tapline::packet::{ArpFields, ArpOperation, FrameSender, MacAddress, VlanFields};

use super::kind::Kind;
use super::sent::{Sent, SentFrames, payload};
use crate::demo::deadline::Deadline;
use crate::demo::hosts::{Host, Hosts};
use crate::failure::Failure;

const ARP_REQUESTS: usize = 8;
const TAGGED_FRAMES: u16 = 64;
const FIRST_VLAN: u16 = 100;
const FIRST_SERVICE_VLAN: u16 = 1000;

/// Sends ARP requests from the left host and replies from the right, both as raw frames: ARP is off on
/// this link.
pub fn arp(kind: Kind, hosts: &Hosts, deadline: &Deadline<'_>) -> Result<Sent, Failure> {
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
pub fn vlan(kind: Kind, hosts: &Hosts, deadline: &Deadline<'_>) -> Result<Sent, Failure> {
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
pub fn qinq(kind: Kind, hosts: &Hosts, deadline: &Deadline<'_>) -> Result<Sent, Failure> {
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
