//! Group keys.

use filter::ebpf::{Alu, Condition, Insn as AnyInsn, Label, Reg, Size};

use super::code::{CONTEXT, Code, KEY, OFFSET, VLAN_PRESENT};
use super::decode::{self, WITH_PORTS};
use super::section::Header;

/// Size of a group key: the class's serial number (u32), the kind (u32), and 16 bytes of data. Kind 4 is an IPv4 address,
/// 6 an IPv6 address, 2 an Ethernet address, each in network order at the beginning of the data. Kind 1 is a number
/// (u32). Numbers are in native byte order; unused bytes are 0.
pub const GROUP_KEY_BYTES: u32 = 24;

/// Offsets in a key.
pub(super) const KEY_KIND: i16 = 4;
const KEY_DATA: i16 = 8;

const NUMBER: i32 = 1;
const MAC: i32 = 2;
const IPV4: i32 = 4;
const IPV6: i32 = 6;

/// Offset in `struct __sk_buff`.
const VLAN_TCI: i16 = 24;

/// Packet field by which packets are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as the headers' fields")]
pub enum KeyField {
    Source,
    Destination,
    SourcePort,
    DestinationPort,
    Protocol,
    Vlan,
    EtherType,
    SourceMac,
    DestinationMac,
}

/// Stores the packet's key on the stack. Its kind is 0 if the packet has no such field.
pub(super) fn find(code: &mut Code<'_>, field: KeyField) {
    let done = code.label();
    for at in [0, 8, 16] {
        code.push(AnyInsn::store(Size::Double, Reg::R10, KEY + at, 0));
    }
    match field {
        KeyField::Source => address(code, 12, 8, done),
        KeyField::Destination => address(code, 16, 24, done),
        KeyField::SourcePort => port(code, 0, done),
        KeyField::DestinationPort => port(code, 2, done),
        KeyField::Protocol => {
            let found = code.label();
            decode::transport(code, found, done);
            code.place(found);
            number(code, Reg::R2);
        }
        KeyField::Vlan => vlan(code, done),
        KeyField::EtherType => {
            decode::network(code, done);
            code.push(AnyInsn::Be16ToHost { dst: Reg::R0 });
            // Smaller values are lengths, of frames without an EtherType.
            code.push(AnyInsn::jump_if(Condition::Less, Reg::R0, 0x600, done));
            number(code, Reg::R0);
        }
        KeyField::SourceMac => mac(code, 6, done),
        KeyField::DestinationMac => mac(code, 0, done),
    }
    code.place(done);
}

fn kind(code: &mut Code<'_>, kind: i32) {
    code.push(AnyInsn::store(Size::Word, Reg::R10, KEY + KEY_KIND, kind));
}

fn number(code: &mut Code<'_>, register: Reg) {
    code.push(AnyInsn::store(
        Size::Word,
        Reg::R10,
        KEY + KEY_DATA,
        register,
    ));
    kind(code, NUMBER);
}

/// The address at offset `in_ip` of an IPv4 header or `in_ipv6` of an IPv6 header.
fn address(code: &mut Code<'_>, in_ip: i16, in_ipv6: i16, done: Label) {
    let [ip, ipv6] = [(); 2].map(|()| code.label());
    decode::ip_header(code, ip, ipv6, done);
    code.place(ip);
    code.load_header(Size::Word, Reg::R1, in_ip);
    code.push(AnyInsn::store(
        Size::Word,
        Reg::R10,
        KEY + KEY_DATA,
        Reg::R1,
    ));
    kind(code, IPV4);
    code.jump(done);
    code.place(ipv6);
    for half in [0, 8] {
        code.load_header(Size::Double, Reg::R1, in_ipv6 + half);
        code.push(AnyInsn::store(
            Size::Double,
            Reg::R10,
            KEY + KEY_DATA + half,
            Reg::R1,
        ));
    }
    kind(code, IPV6);
}

fn port(code: &mut Code<'_>, at: i16, done: Label) {
    let found = code.label();
    decode::transport(code, done, done);
    for protocol in WITH_PORTS {
        code.push(AnyInsn::jump_if32(
            Condition::Equal,
            Reg::R2,
            protocol,
            found,
        ));
    }
    code.jump(done);
    code.place(found);
    code.read_header(4, done);
    code.load_header(Size::Half, Reg::R1, at);
    code.push(AnyInsn::Be16ToHost { dst: Reg::R1 });
    number(code, Reg::R1);
}

fn vlan(code: &mut Code<'_>, done: Label) {
    let [in_bytes, tag, found] = [(); 3].map(|()| code.label());
    if code.place.header != Header::Ethernet {
        return;
    }
    if !code.place.is_xdp() {
        code.extend([
            AnyInsn::load(Size::Word, Reg::R1, CONTEXT, VLAN_PRESENT),
            AnyInsn::jump_if(Condition::Equal, Reg::R1, 0, in_bytes),
            AnyInsn::load(Size::Word, Reg::R1, CONTEXT, VLAN_TCI),
            AnyInsn::Jump { target: found },
            AnyInsn::Place(in_bytes),
        ]);
    }
    code.push(AnyInsn::mov(OFFSET, 12));
    code.read_header(4, done);
    code.load_header(Size::Half, Reg::R0, 0);
    decode::is_tag(code, tag);
    code.jump(done);
    code.place(tag);
    code.load_header(Size::Half, Reg::R1, 2);
    code.push(AnyInsn::Be16ToHost { dst: Reg::R1 });
    if !code.place.is_xdp() {
        code.place(found);
    }
    code.push(AnyInsn::alu32(Alu::And, Reg::R1, 0xfff));
    number(code, Reg::R1);
}

fn mac(code: &mut Code<'_>, at: i32, done: Label) {
    if code.place.header != Header::Ethernet {
        return;
    }
    code.push(AnyInsn::mov(OFFSET, at));
    code.read_header(6, done);
    code.load_header(Size::Word, Reg::R1, 0);
    code.push(AnyInsn::store(
        Size::Word,
        Reg::R10,
        KEY + KEY_DATA,
        Reg::R1,
    ));
    code.load_header(Size::Half, Reg::R1, 4);
    code.push(AnyInsn::store(
        Size::Half,
        Reg::R10,
        KEY + KEY_DATA + 4,
        Reg::R1,
    ));
    kind(code, MAC);
}
