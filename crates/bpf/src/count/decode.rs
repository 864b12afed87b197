//! Finds the headers of a packet, from the outermost to the payload.
//!
//! Reads the packet with the copying helper, which also reaches bytes outside the linear part.

use filter::ebpf::{Alu, Condition, Insn as AnyInsn, Label, Reg, Size};

use super::code::{CONTEXT, Code, HEADER, OFFSET};
use super::section::Header;

const ETHER_TYPE: i32 = 12;
/// Number of VLAN tags in the bytes that are skipped.
const MOST_TAGS: usize = 2;
/// Number of IPv6 extension headers that are followed.
const MOST_EXTENSIONS: usize = 4;
/// Saves the protocol while a header is read; no header is this long.
const PROTOCOL: i16 = HEADER + 56;

const HOP_BY_HOP: i32 = 0;
const TCP: i32 = 6;
const UDP: i32 = 17;
const DCCP: i32 = 33;
const ROUTING: i32 = 43;
const FRAGMENT: i32 = 44;
const AUTHENTICATION: i32 = 51;
const DESTINATION: i32 = 60;
const SCTP: i32 = 132;
const UDP_LITE: i32 = 136;

/// Protocols whose header begins with the ports.
pub(super) const WITH_PORTS: [i32; 5] = [TCP, UDP, DCCP, SCTP, UDP_LITE];

/// A 16-bit number as a plain load from the packet returns it.
pub(super) fn in_memory(number: u16) -> i32 {
    i32::from(number.to_be())
}

/// Jumps to `tag` if `R0` is the EtherType of a VLAN tag that the kernel would strip.
pub(super) fn is_tag(code: &mut Code<'_>, tag: Label) {
    for kind in [0x8100, 0x88a8] {
        let kind = in_memory(kind);
        code.push(AnyInsn::jump_if32(Condition::Equal, Reg::R0, kind, tag));
    }
}

/// Sets [`OFFSET`] to the network header and `R0` to its EtherType in network byte order. Jumps if the packet is too
/// short or has no network header.
pub(super) fn network(code: &mut Code<'_>, otherwise: Label) {
    match code.place.header {
        Header::Ethernet => ethernet(code, otherwise),
        Header::Ip => version(code, otherwise),
        Header::Other => code.jump(otherwise),
    }
}

fn ethernet(code: &mut Code<'_>, otherwise: Label) {
    let done = code.label();
    code.push(AnyInsn::mov(OFFSET, ETHER_TYPE));
    for at in 0..=MOST_TAGS {
        code.read_header(2, otherwise);
        code.load_header(Size::Half, Reg::R0, 0);
        if at < MOST_TAGS {
            let tag = code.label();
            is_tag(code, tag);
            code.jump(done);
            code.place(tag);
            code.push(AnyInsn::add(OFFSET, 4));
        }
    }
    code.place(done);
    code.push(AnyInsn::add(OFFSET, 2));
}

/// Derives the EtherType from the version of the IP header.
fn version(code: &mut Code<'_>, otherwise: Label) {
    let [ip, done] = [(); 2].map(|()| code.label());
    code.push(AnyInsn::mov(OFFSET, 0));
    code.read_header(1, otherwise);
    code.load_header(Size::Byte, Reg::R1, 0);
    code.extend([
        AnyInsn::alu32(Alu::Rsh, Reg::R1, 4),
        AnyInsn::jump_if32(Condition::Equal, Reg::R1, 4, ip),
        AnyInsn::jump_if32(Condition::NotEqual, Reg::R1, 6, otherwise),
        AnyInsn::mov(Reg::R0, in_memory(0x86dd)),
        AnyInsn::Jump { target: done },
        AnyInsn::Place(ip),
        AnyInsn::mov(Reg::R0, in_memory(0x0800)),
        AnyInsn::Place(done),
    ]);
}

/// Jumps to `ip` or `ipv6` with the fixed part of the IP header at [`HEADER`], otherwise to `otherwise`.
pub(super) fn ip_header(code: &mut Code<'_>, ip: Label, ipv6: Label, otherwise: Label) {
    let is_ip = code.label();
    network(code, otherwise);
    code.push(AnyInsn::jump_if32(
        Condition::Equal,
        Reg::R0,
        in_memory(0x0800),
        is_ip,
    ));
    code.push(AnyInsn::jump_if32(
        Condition::NotEqual,
        Reg::R0,
        in_memory(0x86dd),
        otherwise,
    ));
    code.read_header(40, otherwise);
    code.jump(ipv6);
    code.place(is_ip);
    code.read_header(20, otherwise);
    code.jump(ip);
}

/// Sets [`OFFSET`] to the payload of IP and `R2` to its protocol. Jumps to `later`, with the protocol, for later
/// fragments and to `otherwise` for packets that are not IP.
pub(super) fn transport(code: &mut Code<'_>, later: Label, otherwise: Label) {
    let [ip, ipv6, done] = [(); 3].map(|()| code.label());
    ip_header(code, ip, ipv6, otherwise);
    code.place(ip);
    code.load_header(Size::Byte, Reg::R1, 0);
    code.extend([
        AnyInsn::alu32(Alu::And, Reg::R1, 15),
        AnyInsn::alu32(Alu::Lsh, Reg::R1, 2),
        AnyInsn::add(OFFSET, Reg::R1),
    ]);
    code.load_header(Size::Byte, Reg::R2, 9);
    code.load_header(Size::Half, Reg::R1, 6);
    code.extend([
        AnyInsn::alu32(Alu::And, Reg::R1, in_memory(0x1fff)),
        AnyInsn::jump_if32(Condition::NotEqual, Reg::R1, 0, later),
    ]);
    code.jump(done);
    code.place(ipv6);
    code.push(AnyInsn::add(OFFSET, 40));
    code.load_header(Size::Byte, Reg::R2, 6);
    for _ in 0..MOST_EXTENSIONS {
        extension(code, [done, later, otherwise]);
    }
    code.place(done);
}

/// Skips an extension header. Jumps to the first label if `R2` is not one.
fn extension(code: &mut Code<'_>, [done, later, otherwise]: [Label; 3]) {
    let [follows, fragment, authentication, next] = [(); 4].map(|()| code.label());
    let is = |protocol, to| AnyInsn::jump_if32(Condition::Equal, Reg::R2, protocol, to);
    for protocol in [HOP_BY_HOP, ROUTING, DESTINATION, FRAGMENT, AUTHENTICATION] {
        code.push(is(protocol, follows));
    }
    code.jump(done);
    code.place(follows);
    code.push(AnyInsn::store(Size::Word, Reg::R10, PROTOCOL, Reg::R2));
    code.read_header(8, otherwise);
    code.extend([
        AnyInsn::load(Size::Word, Reg::R2, Reg::R10, PROTOCOL),
        is(FRAGMENT, fragment),
    ]);
    code.load_header(Size::Byte, Reg::R1, 1);
    code.extend([
        is(AUTHENTICATION, authentication),
        AnyInsn::add(Reg::R1, 1),
        AnyInsn::alu32(Alu::Lsh, Reg::R1, 3),
        AnyInsn::add(OFFSET, Reg::R1),
        AnyInsn::Jump { target: next },
        AnyInsn::Place(authentication),
        AnyInsn::add(Reg::R1, 2),
        AnyInsn::alu32(Alu::Lsh, Reg::R1, 2),
        AnyInsn::add(OFFSET, Reg::R1),
        AnyInsn::Jump { target: next },
        AnyInsn::Place(fragment),
        AnyInsn::add(OFFSET, 8),
    ]);
    code.load_header(Size::Byte, Reg::R2, 0);
    code.load_header(Size::Half, Reg::R1, 2);
    code.extend([
        AnyInsn::alu32(Alu::And, Reg::R1, in_memory(0xfff8)),
        AnyInsn::jump_if32(Condition::NotEqual, Reg::R1, 0, later),
        AnyInsn::Place(next),
    ]);
    code.load_header(Size::Byte, Reg::R2, 0);
}

/// Sets [`OFFSET`] to the payload; jumps if the headers are unknown.
pub(super) fn headers_end(code: &mut Code<'_>, otherwise: Label) {
    let [tcp, udp, done] = [(); 3].map(|()| code.label());
    transport(code, otherwise, otherwise);
    code.extend([
        AnyInsn::jump_if32(Condition::Equal, Reg::R2, TCP, tcp),
        AnyInsn::jump_if32(Condition::Equal, Reg::R2, UDP, udp),
        AnyInsn::Jump { target: otherwise },
        AnyInsn::Place(tcp),
    ]);
    code.read_header(13, otherwise);
    code.load_header(Size::Byte, Reg::R1, 12);
    code.extend([
        AnyInsn::alu32(Alu::Rsh, Reg::R1, 4),
        AnyInsn::alu32(Alu::Lsh, Reg::R1, 2),
        AnyInsn::add(OFFSET, Reg::R1),
        AnyInsn::Jump { target: done },
        AnyInsn::Place(udp),
        AnyInsn::add(OFFSET, 8),
        AnyInsn::Place(done),
        // A header that ends beyond the packet is invalid.
        AnyInsn::load(Size::Word, Reg::R1, CONTEXT, 0),
        AnyInsn::jump_if(Condition::GreaterOrEqual, OFFSET, Reg::R1, otherwise),
    ]);
}
