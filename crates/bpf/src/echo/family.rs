//! The headers of IPv4 and IPv6: checks that they are those of an ICMP message, and its sum.

use super::code::{CONTEXT, Code, DATA, DATA_END, END, ETHERNET, IPV4, IPV6, START, wire16};
use crate::{Alu, Condition, Insn, Label, Reg, Size};

/// Where [`find_end`] leaves the length of the IP packet, or of its payload for IPv6, on the stack.
pub(super) const LENGTH: i16 = -40;

/// A protocol, and where its headers lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family {
    pub is_ipv6: bool,
    /// Offset of the message, and bytes of an IP header.
    pub icmp: i16,
    pub ip_bytes: i16,
    /// Bytes of headers that the IP header counts before the message.
    pub counted: i16,
    pub request: i32,
    pub reply: i32,
    pub errors: &'static [i32],
    /// Offset and words of the source address.
    pub source: (i16, i16),
}

pub(super) const V4: Family = Family {
    is_ipv6: false,
    icmp: ETHERNET + IPV4,
    ip_bytes: IPV4,
    counted: IPV4,
    request: 8,
    reply: 0,
    errors: &[3, 11, 12],
    source: (ETHERNET + 12, 1),
};

pub(super) const V6: Family = Family {
    is_ipv6: true,
    icmp: ETHERNET + IPV6,
    ip_bytes: IPV6,
    counted: 0,
    request: 128,
    reply: 129,
    errors: &[1, 2, 3, 4],
    source: (ETHERNET + 8, 4),
};

/// Jumps to `otherwise` unless the IP header at `ip` has no options or extensions, is no fragment, and is followed by
/// ICMP.
pub(super) fn require_header(code: &mut Code<'_>, family: &Family, ip: i16, otherwise: Label) {
    if family.is_ipv6 {
        code.extend([
            Insn::load(Size::Byte, Reg::R1, START, ip),
            Insn::alu32(Alu::Rsh, Reg::R1, 4),
            Insn::jump_if32(Condition::NotEqual, Reg::R1, 6, otherwise),
        ]);
        code.require_byte(ip + 6, 58, otherwise);
    } else {
        code.require_byte(ip, 0x45, otherwise);
        code.require_byte(ip + 9, 1, otherwise);
        code.extend([
            Insn::load(Size::Half, Reg::R1, START, ip + 6),
            Insn::jump_if32(
                Condition::AnyBitSet,
                Reg::R1,
                wire16([0x3f, 0xff]),
                otherwise,
            ),
        ]);
    }
}

/// Puts the end of the message into `R9`, and its length onto the stack. Jumps to `short` if the message has fewer than
/// `least` bytes, and to `cut` if the frame ends before it.
pub(super) fn find_end(code: &mut Code<'_>, family: &Family, least: i16, short: Label, cut: Label) {
    let (at, from) = if family.is_ipv6 {
        (ETHERNET + 4, family.icmp)
    } else {
        (ETHERNET + 2, ETHERNET)
    };
    code.extend([Insn::load(Size::Half, Reg::R9, START, at)]);
    code.swap_bytes(Size::Half, Reg::R9);
    code.extend([
        // Verifiers before Linux 6.13 do not know that the swapped length has 16 bits.
        Insn::alu64(Alu::And, Reg::R9, 0xffff),
        Insn::store(Size::Double, Reg::R10, LENGTH, Reg::R9),
        Insn::jump_if(
            Condition::Less,
            Reg::R9,
            i32::from(least + family.counted),
            short,
        ),
        Insn::add(Reg::R9, START),
        Insn::add(Reg::R9, i32::from(from)),
        Insn::jump_if(Condition::Greater, Reg::R9, END, cut),
    ]);
}

/// `R0 =` the folded sum of the message that ends at `R9`; 0xffff if its checksum is right. The frame has at least
/// `bytes` bytes afterwards; otherwise jumps to `cut`.
pub(super) fn sum(code: &mut Code<'_>, family: &Family, bytes: i16, cut: Label) {
    code.extend([Insn::mov(Reg::R0, 0)]);
    pseudo_header(code, family);
    code.extend([
        Insn::mov(Reg::R1, START),
        Insn::add(Reg::R1, i32::from(family.icmp)),
    ]);
    code.sum_message(cut);
    code.fold();
    // The verifier knows how much of the frame each number of steps has seen, and would examine what follows for each of
    // them. It forgets that with new addresses.
    code.extend([
        Insn::load(Size::Word, START, CONTEXT, DATA),
        Insn::load(Size::Word, END, CONTEXT, DATA_END),
    ]);
    code.require(bytes, cut);
}

/// `R0 =` the folded sum of the IPv4 header; 0xffff if its checksum is right.
pub(super) fn header_sum(code: &mut Code<'_>) {
    code.extend([Insn::mov(Reg::R0, 0)]);
    code.sum_words(START, ETHERNET, IPV4 / 4);
    code.fold();
}

/// Adds the pseudo header of IPv6 to `R0`.
pub(super) fn pseudo_header(code: &mut Code<'_>, family: &Family) {
    if !family.is_ipv6 {
        return;
    }
    code.extend([
        Insn::load(Size::Half, Reg::R1, START, ETHERNET + 4),
        Insn::add(Reg::R0, Reg::R1),
        Insn::add(Reg::R0, wire16([0, 58])),
    ]);
    code.sum_words(START, ETHERNET + 8, 8);
}
