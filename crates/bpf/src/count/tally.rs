//! Adds a packet to counters.

use std::os::fd::BorrowedFd;

use filter::ebpf::{Condition, Helper, Insn as AnyInsn, Operand, Reg, Size};

use super::code::{BYTES, COUNTERS, Code, KEY, PACKETS, VALUE};
use super::key::KEY_KIND;

/// Counters of a slot: packets and bytes of all, of groups that found no room, and of packets without a key.
pub const COUNTERS_PER_SLOT: u32 = 6;
const OTHER: i16 = 16;
const WITHOUT_KEY: i16 = 32;
const BPF_NOEXIST: i32 = 1;

/// Where a class counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassSlot {
    /// Its counters begin at `number` × [`COUNTERS_PER_SLOT`].
    pub number: u16,
    /// The class in group keys. Serial numbers are never reused.
    pub serial: u32,
}

impl ClassSlot {
    /// Offset of the first counter in the value.
    fn offset(self) -> i16 {
        (u32::from(self.number) * COUNTERS_PER_SLOT * 8) as i16
    }
}

/// Counts the packet in `slot`.
pub(super) fn count(code: &mut Code<'_>, slot: ClassSlot) {
    code.push(AnyInsn::load(Size::Double, Reg::R1, Reg::R10, COUNTERS));
    add(code, Reg::R1, slot.offset());
}

/// Adds the packet to two counters at `base + offset`. Clobbers `R2` and `R3`.
fn add(code: &mut Code<'_>, base: Reg, offset: i16) {
    code.push(AnyInsn::load(Size::Double, Reg::R2, base, offset));
    if code.place.is_xdp() {
        code.push(AnyInsn::add(Reg::R2, 1));
    } else {
        code.push(AnyInsn::load(Size::Double, Reg::R3, Reg::R10, PACKETS));
        code.push(AnyInsn::add(Reg::R2, Reg::R3));
    }
    code.extend([
        AnyInsn::store(Size::Double, base, offset, Reg::R2),
        AnyInsn::load(Size::Double, Reg::R2, base, offset + 8),
        AnyInsn::load(Size::Double, Reg::R3, Reg::R10, BYTES),
        AnyInsn::add(Reg::R2, Reg::R3),
        AnyInsn::store(Size::Double, base, offset + 8, Reg::R2),
    ]);
}

/// Counts the packet by its key in `groups`.
///
/// No other program runs on this CPU meanwhile, but another CPU may insert the same key. The second lookup finds it.
pub(super) fn by_key<'m>(code: &mut Code<'m>, slot: ClassSlot, groups: BorrowedFd<'m>) {
    let [look, hit, done] = [(); 3].map(|()| code.label());
    let kind = KEY + KEY_KIND;
    code.push(AnyInsn::load(Size::Word, Reg::R2, Reg::R10, kind));
    code.push(AnyInsn::jump_if(Condition::NotEqual, Reg::R2, 0, look));
    code.push(AnyInsn::load(Size::Double, Reg::R1, Reg::R10, COUNTERS));
    add(code, Reg::R1, slot.offset() + WITHOUT_KEY);
    code.jump(done);
    code.place(look);
    let serial = Operand::Imm(slot.serial.cast_signed());
    code.push(AnyInsn::store(Size::Word, Reg::R10, KEY, serial));
    look_up(code, groups);
    code.push(AnyInsn::jump_if(Condition::NotEqual, Reg::R0, 0, hit));
    code.extend([
        AnyInsn::load(Size::Double, Reg::R2, Reg::R10, PACKETS),
        AnyInsn::store(Size::Double, Reg::R10, VALUE, Reg::R2),
        AnyInsn::load(Size::Double, Reg::R2, Reg::R10, BYTES),
        AnyInsn::store(Size::Double, Reg::R10, VALUE + 8, Reg::R2),
    ]);
    arguments(code, groups);
    code.extend([
        AnyInsn::mov(Reg::R3, Reg::R10),
        AnyInsn::add(Reg::R3, i32::from(VALUE)),
        AnyInsn::mov32(Reg::R4, BPF_NOEXIST),
        AnyInsn::Call(Helper::MapUpdateElem),
        AnyInsn::jump_if(Condition::Equal, Reg::R0, 0, done),
    ]);
    look_up(code, groups);
    code.push(AnyInsn::jump_if(Condition::NotEqual, Reg::R0, 0, hit));
    code.push(AnyInsn::load(Size::Double, Reg::R1, Reg::R10, COUNTERS));
    add(code, Reg::R1, slot.offset() + OTHER);
    code.jump(done);
    code.place(hit);
    add(code, Reg::R0, 0);
    code.place(done);
}

fn look_up<'m>(code: &mut Code<'m>, groups: BorrowedFd<'m>) {
    arguments(code, groups);
    code.push(AnyInsn::Call(Helper::MapLookupElem));
}

fn arguments<'m>(code: &mut Code<'m>, groups: BorrowedFd<'m>) {
    code.extend([
        AnyInsn::LoadMap {
            dst: Reg::R1,
            map: groups,
        },
        AnyInsn::mov(Reg::R2, Reg::R10),
        AnyInsn::add(Reg::R2, i32::from(KEY)),
    ]);
}
