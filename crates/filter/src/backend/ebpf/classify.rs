//! Code that finds the protocol of a packet, so that specialized fragments can follow.

use super::context::{DATA, DATA_END};
use super::insn::{Alu, Condition, Insn, Label, Reg, Size};
use crate::graph::assumptions::{
    HAS_NO_OPTIONS, IS_FIRST_FRAGMENT, IS_IPV4, IS_IPV6, KnownField, KnownProtocol, NEXT_HEADER,
    PROTOCOL, TCP, TagLocation, UDP, field,
};
use crate::graph::values::Width;

/// Jump targets of [`classify`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassifierLabels {
    /// For packets of each of [`KnownProtocol::CLASSIFIED`].
    pub packets: [Label; 4],
    /// For all others.
    pub any: Label,
}

/// Finds the protocol of an Ethernet packet and jumps to its label. The code needs the registers that
/// [`prologue`](super::prologue) sets, and two labels of its own.
///
/// Clobbers `R0` and `R1`.
pub fn classify<M>(tag: TagLocation, to: ClassifierLabels, [ipv6, ip]: [Label; 2]) -> Vec<Insn<M>> {
    let [tcp4, udp4, tcp6, udp6] = to.packets;
    let mut code = unless_long_enough(KnownProtocol::Udp4, tag, to.any);
    code.push(load(IS_IPV4, tag));
    code.extend(unless(IS_IPV4, ipv6));
    code.extend([Insn::Place(ip)]);
    for field in [HAS_NO_OPTIONS, IS_FIRST_FRAGMENT] {
        code.push(load(field, tag));
        code.extend(unless(field, to.any));
    }
    code.push(load(field(Width::Byte, PROTOCOL, 0xff, UDP), tag));
    code.push(if_protocol(UDP, udp4));
    code.extend(unless(field(Width::Byte, PROTOCOL, 0xff, TCP), to.any));
    code.extend(unless_long_enough(KnownProtocol::Tcp4, tag, to.any));
    code.push(Insn::Jump { target: tcp4 });
    code.push(Insn::Place(ipv6));
    code.extend(unless(IS_IPV6, to.any));
    code.extend(unless_long_enough(KnownProtocol::Udp6, tag, to.any));
    code.push(load(field(Width::Byte, NEXT_HEADER, 0xff, UDP), tag));
    code.push(if_protocol(UDP, udp6));
    code.extend(unless(field(Width::Byte, NEXT_HEADER, 0xff, TCP), to.any));
    code.extend(unless_long_enough(KnownProtocol::Tcp6, tag, to.any));
    code.push(Insn::Jump { target: tcp6 });
    code
}

/// Jumps to `otherwise` if the packet is shorter than packets of `protocol` are.
fn unless_long_enough<M>(
    protocol: KnownProtocol,
    tag: TagLocation,
    otherwise: Label,
) -> Vec<Insn<M>> {
    let bytes = protocol.bytes() + tag.shift();
    vec![
        Insn::mov(Reg::R1, DATA),
        Insn::add(Reg::R1, bytes.cast_signed()),
        Insn::jump_if(Condition::Greater, Reg::R1, DATA_END, otherwise),
    ]
}

/// `R0 =` the field, in network byte order.
fn load<M>(field: KnownField, tag: TagLocation) -> Insn<M> {
    let offset = field.offset + tag.shift();
    let size = match field.width {
        Width::Byte => Size::Byte,
        Width::Half => Size::Half,
        Width::Word => Size::Word,
    };
    Insn::load(size, Reg::R0, DATA, offset as i16)
}

/// Jumps to `otherwise` if `R0` does not have the known value of the field.
fn unless<M>(field: KnownField, otherwise: Label) -> Vec<Insn<M>> {
    let mut code = Vec::new();
    let full = match field.width {
        Width::Byte => 0xff,
        _ => 0xffff,
    };
    if field.mask != full {
        let mask = in_memory(field.width, field.mask);
        code.push(Insn::alu32(Alu::And, Reg::R0, mask));
    }
    let bits = in_memory(field.width, field.bits);
    code.push(Insn::jump_if32(
        Condition::NotEqual,
        Reg::R0,
        bits,
        otherwise,
    ));
    code
}

fn if_protocol<M>(protocol: u32, to: Label) -> Insn<M> {
    Insn::jump_if32(Condition::Equal, Reg::R0, protocol.cast_signed(), to)
}

/// The number that a load of the field's bytes without byte swapping gives.
fn in_memory(width: Width, number: u32) -> i32 {
    match width {
        Width::Byte => number.cast_signed(),
        _ => i32::from((number as u16).to_be()),
    }
}
