//! Number of packets on the wire, and their bytes.

use filter::ebpf::{Alu, Condition, Insn as AnyInsn, Label, Reg, Size};

use super::code::{BYTES, CONTEXT, Code, OFFSET, PACKETS, VLAN_PRESENT};
use super::decode;

/// Offsets in `struct __sk_buff`.
const LEN: i16 = 0;
const WIRE_LEN: i16 = 160;
const GSO_SEGS: i16 = 164;
const GSO_SIZE: i16 = 176;

/// Minimum length of an Ethernet frame without FCS.
const MIN_FRAME_BYTES: i32 = 60;

/// Bytes of each packet that the kernel does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// Whether packets shorter than 60 bytes are padded to that length.
    pub is_padded: bool,
    /// Bytes added to each packet.
    pub bytes: u16,
}

/// Stores the numbers of packets and bytes. `R7` and `R8` hold the start and end of the packet.
pub(super) fn measure(code: &mut Code<'_>, overhead: Overhead) {
    if code.place.is_xdp() {
        code.extend([
            AnyInsn::mov(Reg::R2, Reg::R8),
            AnyInsn::alu64(Alu::Sub, Reg::R2, Reg::R7),
            AnyInsn::store(Size::Double, Reg::R10, PACKETS, 1),
        ]);
        measure_single(code, overhead);
        return;
    }
    let [gso, done] = [(); 2].map(|()| code.label());
    code.extend([
        AnyInsn::load(Size::Word, Reg::R2, CONTEXT, LEN),
        AnyInsn::load(Size::Word, Reg::R3, CONTEXT, VLAN_PRESENT),
        AnyInsn::alu64(Alu::And, Reg::R3, 1),
        AnyInsn::alu64(Alu::Lsh, Reg::R3, 2),
        AnyInsn::add(Reg::R2, Reg::R3),
        AnyInsn::load(Size::Word, Reg::R4, CONTEXT, GSO_SIZE),
        AnyInsn::jump_if(Condition::NotEqual, Reg::R4, 0, gso),
        AnyInsn::store(Size::Double, Reg::R10, PACKETS, 1),
    ]);
    measure_single(code, overhead);
    code.jump(done);
    code.place(gso);
    measure_gso(code, overhead);
    code.place(done);
}

/// Stores the bytes of one packet of `R2` bytes.
fn measure_single(code: &mut Code<'_>, overhead: Overhead) {
    if overhead.is_padded {
        let long = code.label();
        code.push(AnyInsn::jump_if(
            Condition::GreaterOrEqual,
            Reg::R2,
            MIN_FRAME_BYTES,
            long,
        ));
        code.push(AnyInsn::mov(Reg::R2, MIN_FRAME_BYTES));
        code.place(long);
    }
    if overhead.bytes > 0 {
        code.push(AnyInsn::add(Reg::R2, i32::from(overhead.bytes)));
    }
    code.push(AnyInsn::store(Size::Double, Reg::R10, BYTES, Reg::R2));
}

/// Counts the segments of a GSO packet: `gso_segs`, or if that is 0, payload / `gso_size` rounded up. Adds the headers
/// of each segment.
///
/// On egress the kernel has already added the headers, including those of tunnels (`qdisc_pkt_len_init`,
/// net/core/dev.c).
fn measure_gso(code: &mut Code<'_>, overhead: Overhead) {
    let [unknown, told, segments, parsed] = [(); 4].map(|()| code.label());
    // Saves the length, including a VLAN tag in metadata.
    code.push(AnyInsn::store(Size::Double, Reg::R10, BYTES, Reg::R2));
    decode::headers_end(code, unknown);
    code.jump(parsed);
    code.place(unknown);
    code.push(AnyInsn::mov(OFFSET, 0));
    code.place(parsed);
    code.extend([
        AnyInsn::load(Size::Word, Reg::R1, CONTEXT, LEN),
        AnyInsn::load(Size::Word, Reg::R4, CONTEXT, GSO_SIZE),
        AnyInsn::load(Size::Word, Reg::R3, CONTEXT, GSO_SEGS),
        // R5: total payload, at least 0 bytes. R4: payload of each segment but the last.
        AnyInsn::mov(Reg::R5, Reg::R1),
        AnyInsn::alu64(Alu::Sub, Reg::R5, OFFSET),
        AnyInsn::jump_if(Condition::NotEqual, Reg::R3, 0, segments),
        AnyInsn::mov(Reg::R3, Reg::R5),
        AnyInsn::add(Reg::R3, Reg::R4),
        AnyInsn::add(Reg::R3, -1),
        AnyInsn::alu32(Alu::Div, Reg::R3, Reg::R4),
        AnyInsn::Place(segments),
        AnyInsn::store(Size::Double, Reg::R10, PACKETS, Reg::R3),
        AnyInsn::add(Reg::R3, -1),
        AnyInsn::load(Size::Double, Reg::R2, Reg::R10, BYTES),
        // Each segment has the headers, and the VLAN tag in metadata.
        AnyInsn::mov(Reg::R0, Reg::R2),
        AnyInsn::alu64(Alu::Sub, Reg::R0, Reg::R1),
        AnyInsn::alu64(Alu::Mul, Reg::R0, Reg::R3),
        AnyInsn::add(Reg::R2, Reg::R0),
        AnyInsn::mov(Reg::R0, OFFSET),
        AnyInsn::alu64(Alu::Mul, Reg::R0, Reg::R3),
    ]);
    if code.place.is_egress() {
        code.extend([
            AnyInsn::load(Size::Word, Reg::R5, CONTEXT, WIRE_LEN),
            AnyInsn::jump_if(Condition::LessOrEqual, Reg::R5, Reg::R1, told),
            AnyInsn::mov(Reg::R0, Reg::R5),
            AnyInsn::alu64(Alu::Sub, Reg::R0, Reg::R1),
            AnyInsn::Place(told),
        ]);
    }
    code.push(AnyInsn::add(Reg::R2, Reg::R0));
    if overhead.is_padded {
        pad(code);
    }
    if overhead.bytes > 0 {
        code.extend([
            AnyInsn::load(Size::Double, Reg::R3, Reg::R10, PACKETS),
            AnyInsn::alu64(Alu::Mul, Reg::R3, i32::from(overhead.bytes)),
            AnyInsn::add(Reg::R2, Reg::R3),
        ]);
    }
    code.push(AnyInsn::store(Size::Double, Reg::R10, BYTES, Reg::R2));
}

/// Adds to `R2` the padding of `R3` full segments with `R4` bytes of payload each, and of the last segment.
fn pad(code: &mut Code<'_>) {
    let [full, last] = [(); 2].map(|()| code.label());
    code.extend([
        // The last segment has the remaining payload.
        AnyInsn::load(Size::Word, Reg::R5, CONTEXT, LEN),
        AnyInsn::mov(Reg::R0, Reg::R4),
        AnyInsn::alu64(Alu::Mul, Reg::R0, Reg::R3),
        AnyInsn::alu64(Alu::Sub, Reg::R5, Reg::R0),
    ]);
    pad_to_minimum(code, Reg::R5, last);
    code.push(AnyInsn::mov(Reg::R0, OFFSET));
    code.push(AnyInsn::add(Reg::R0, Reg::R4));
    code.extend([
        AnyInsn::jump_if(Condition::GreaterOrEqual, Reg::R0, MIN_FRAME_BYTES, full),
        AnyInsn::mov(Reg::R1, MIN_FRAME_BYTES),
        AnyInsn::alu64(Alu::Sub, Reg::R1, Reg::R0),
        AnyInsn::alu64(Alu::Mul, Reg::R1, Reg::R3),
        AnyInsn::add(Reg::R2, Reg::R1),
        AnyInsn::Place(full),
    ]);
}

/// Adds to `R2` the padding that a packet of `bytes` bytes needs to reach the minimum frame length.
fn pad_to_minimum(code: &mut Code<'_>, bytes: Reg, done: Label) {
    code.extend([
        AnyInsn::jump_if(Condition::GreaterOrEqual, bytes, MIN_FRAME_BYTES, done),
        AnyInsn::add(Reg::R2, MIN_FRAME_BYTES),
        AnyInsn::alu64(Alu::Sub, Reg::R2, bytes),
        AnyInsn::Place(done),
    ]);
}
