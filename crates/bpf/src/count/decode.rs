//! Finding the headers of a packet, from the outermost to the payload.
//!
//! The packet is read by the kernel's copying call, which also reaches what is not in the linear part.

use filter::ebpf::{Alu, Condition, Insn as AnyInsn, Label, Reg, Size};

use super::code::{CONTEXT, Code, HEADER, OFFSET};
use super::section::Header;

const ETHER_TYPE: i32 = 12;
/// VLAN tags in the bytes that are passed over.
const MOST_TAGS: usize = 2;
/// IPv6 extension headers that are followed.
const MOST_EXTENSIONS: usize = 4;
/// The protocol waits here while a header is read; no header that is read is as long.
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

/// A number of 16 bits as a plain load from the packet gives it.
pub(super) fn in_memory(number: u16) -> i32 {
    i32::from(number.to_be())
}

/// Whether `R0` is the EtherType of a VLAN tag that the kernel would take out of the bytes; goes there.
pub(super) fn is_tag(code: &mut Code<'_>, tag: Label) {
    for kind in [0x8100, 0x88a8] {
        let kind = in_memory(kind);
        code.push(AnyInsn::jump_if32(Condition::Equal, Reg::R0, kind, tag));
    }
}

/// [`OFFSET`] becomes that of the network header, and `R0` its EtherType as it is in the packet; goes
/// away if the packet is too short or has none.
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

/// The EtherType that goes with the version of the IP header.
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

/// Goes to one of two labels with the fixed part of the IP header at [`HEADER`], or away.
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

/// [`OFFSET`] becomes that of what IP carries, and `R2` its protocol. Later fragments go to `later`
/// with the protocol; what is not IP goes away.
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

/// Passes over an extension header; goes to the first label if `R2` is none.
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

/// [`OFFSET`] becomes that of the payload; goes away where headers are not known.
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
        // A header that ends behind the packet is none.
        AnyInsn::load(Size::Word, Reg::R1, CONTEXT, 0),
        AnyInsn::jump_if(Condition::GreaterOrEqual, OFFSET, Reg::R1, otherwise),
    ]);
}
