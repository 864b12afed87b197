//! Code for packets of which something is known already.

use super::insn::{Insn, Label};
use super::operand::{Alu, Condition, Reg, Size};
use super::program::{DATA, DATA_END};
use crate::options::At;

/// What is known of the packets that a fragment is asked about.
///
/// [`Filter::ebpf_for`](crate::Filter::ebpf_for) leaves out what that decides. Code that tells the
/// packets apart, [`sort`], comes before the fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Where the code runs.
    pub at: At,
    /// Where the outermost VLAN tag is.
    pub tag: Tag,
    /// What the packet is.
    pub packet: Packet,
}

/// Where the outermost VLAN tag of a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// Where the place has it.
    AsPlaced,
    /// In XDP: there is none of EtherType 0x8100 or 0x88a8.
    Absent,
    /// It follows the addresses, and the filter takes it to be beside the bytes, where the kernel has
    /// those of packets that came in.
    InBytes,
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Anything.
    Any,
    /// TCP over IPv4 without options, not a later fragment, with all its headers.
    Tcp4,
    /// UDP over IPv4 without options, not a later fragment, with all its headers.
    Udp4,
    /// TCP over IPv6 without extension headers, with all its headers.
    Tcp6,
    /// UDP over IPv6 without extension headers, with all its headers.
    Udp6,
}

/// A part of the packet is known: `bits` where `mask` has ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    pub size: Size,
    pub offset: u32,
    pub mask: u32,
    pub bits: u32,
}

const fn fact(size: Size, offset: u32, mask: u32, bits: u32) -> Fact {
    Fact {
        size,
        offset,
        mask,
        bits,
    }
}

const IP: u32 = 0x0800;
const IPV6: u32 = 0x86dd;
const TCP: u32 = 6;
const UDP: u32 = 17;
const ETHERNET_BYTES: u32 = 14;
pub(crate) const TAG_BYTES: u32 = 4;
/// Where the EtherType is; what is from here on moves when a tag is put in.
pub(crate) const ETHER_TYPE: u32 = 12;
const IS_IP: Fact = fact(Size::Half, ETHER_TYPE, 0xffff, IP);
const IS_IPV6: Fact = fact(Size::Half, ETHER_TYPE, 0xffff, IPV6);
/// Version 4, five words of header.
const IS_PLAIN: Fact = fact(Size::Byte, ETHERNET_BYTES, 0xff, 0x45);
/// The fragment's offset is 0.
const IS_FIRST: Fact = fact(Size::Half, ETHERNET_BYTES + 6, 0x1fff, 0);
const PROTOCOL: u32 = ETHERNET_BYTES + 9;
const NEXT_HEADER: u32 = ETHERNET_BYTES + 6;

impl Packet {
    /// Those that [`sort`] finds, in the order of its labels.
    pub const SORTED: [Self; 4] = [Self::Tcp4, Self::Udp4, Self::Tcp6, Self::Udp6];

    /// What is known of its bytes, as they are without a tag.
    pub(crate) fn facts(self) -> &'static [Fact] {
        const TCP4: &[Fact] = &[
            IS_IP,
            IS_PLAIN,
            IS_FIRST,
            fact(Size::Byte, PROTOCOL, 0xff, TCP),
        ];
        const UDP4: &[Fact] = &[
            IS_IP,
            IS_PLAIN,
            IS_FIRST,
            fact(Size::Byte, PROTOCOL, 0xff, UDP),
        ];
        const TCP6: &[Fact] = &[IS_IPV6, fact(Size::Byte, NEXT_HEADER, 0xff, TCP)];
        const UDP6: &[Fact] = &[IS_IPV6, fact(Size::Byte, NEXT_HEADER, 0xff, UDP)];
        match self {
            Self::Any => &[],
            Self::Tcp4 => TCP4,
            Self::Udp4 => UDP4,
            Self::Tcp6 => TCP6,
            Self::Udp6 => UDP6,
        }
    }

    /// Bytes that it has at least, without a tag.
    pub(crate) fn bytes(self) -> u32 {
        match self {
            Self::Any => 0,
            Self::Tcp4 => ETHERNET_BYTES + 20 + 20,
            Self::Udp4 => ETHERNET_BYTES + 20 + 8,
            Self::Tcp6 => ETHERNET_BYTES + 40 + 20,
            Self::Udp6 => ETHERNET_BYTES + 40 + 8,
        }
    }
}

impl Tag {
    /// By how much what follows the addresses is farther behind than without a tag in the bytes.
    pub(crate) fn shift(self) -> u32 {
        match self {
            Self::AsPlaced | Self::Absent => 0,
            Self::InBytes => TAG_BYTES,
        }
    }
}

/// Labels that [`sort`] leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sorted {
    /// For packets of each of [`Packet::SORTED`].
    pub packets: [Label; 4],
    /// For all others.
    pub any: Label,
}

/// Tells Ethernet packets apart: goes to the label of what they are. The code needs what
/// [`prologue`](super::prologue) sets, and two labels of its own.
///
/// Uses `R0` and `R1`.
pub fn sort<M>(tag: Tag, to: Sorted, [ipv6, ip]: [Label; 2]) -> Vec<Insn<M>> {
    let [tcp4, udp4, tcp6, udp6] = to.packets;
    let mut code = has(Packet::Udp4, tag, to.any);
    code.push(load(IS_IP, tag));
    code.extend(is_not(IS_IP, ipv6));
    code.extend([Insn::Place(ip)]);
    for fact in [IS_PLAIN, IS_FIRST] {
        code.push(load(fact, tag));
        code.extend(is_not(fact, to.any));
    }
    code.push(load(fact(Size::Byte, PROTOCOL, 0xff, UDP), tag));
    code.push(is(UDP, udp4));
    code.extend(is_not(fact(Size::Byte, PROTOCOL, 0xff, TCP), to.any));
    code.extend(has(Packet::Tcp4, tag, to.any));
    code.push(Insn::Jump { target: tcp4 });
    code.push(Insn::Place(ipv6));
    code.extend(is_not(IS_IPV6, to.any));
    code.extend(has(Packet::Udp6, tag, to.any));
    code.push(load(fact(Size::Byte, NEXT_HEADER, 0xff, UDP), tag));
    code.push(is(UDP, udp6));
    code.extend(is_not(fact(Size::Byte, NEXT_HEADER, 0xff, TCP), to.any));
    code.extend(has(Packet::Tcp6, tag, to.any));
    code.push(Insn::Jump { target: tcp6 });
    code
}

/// Goes away if the packet is shorter than such packets are.
fn has<M>(packet: Packet, tag: Tag, otherwise: Label) -> Vec<Insn<M>> {
    let bytes = packet.bytes() + tag.shift();
    vec![
        Insn::mov(Reg::R1, DATA),
        Insn::add(Reg::R1, bytes.cast_signed()),
        Insn::jump_if(Condition::Greater, Reg::R1, DATA_END, otherwise),
    ]
}

/// `R0 =` the part of the packet, in network byte order.
fn load<M>(fact: Fact, tag: Tag) -> Insn<M> {
    let offset = fact.offset + tag.shift();
    Insn::load(fact.size, Reg::R0, DATA, offset as i16)
}

/// Goes away if `R0` is not as the fact says.
fn is_not<M>(fact: Fact, otherwise: Label) -> Vec<Insn<M>> {
    let mut code = Vec::new();
    let full = match fact.size {
        Size::Byte => 0xff,
        _ => 0xffff,
    };
    if fact.mask != full {
        let mask = in_memory(fact.size, fact.mask);
        code.push(Insn::alu32(Alu::And, Reg::R0, mask));
    }
    let bits = in_memory(fact.size, fact.bits);
    code.push(Insn::jump_if32(
        Condition::NotEqual,
        Reg::R0,
        bits,
        otherwise,
    ));
    code
}

fn is<M>(protocol: u32, to: Label) -> Insn<M> {
    Insn::jump_if32(Condition::Equal, Reg::R0, protocol.cast_signed(), to)
}

/// A number as a plain load of its bytes gives it.
fn in_memory(size: Size, number: u32) -> i32 {
    match size {
        Size::Byte => number.cast_signed(),
        _ => i32::from((number as u16).to_be()),
    }
}

impl Shape {
    /// Bytes that are known to be there.
    pub(crate) fn bytes(self) -> u32 {
        match self.packet {
            Packet::Any => 0,
            packet => packet.bytes() + self.tag.shift(),
        }
    }
}
