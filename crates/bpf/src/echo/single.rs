//! The parts of a program that keep the answer to the only probe of a target: [`answer`].

use super::code::Code;
use super::layout::{Entries, Total, answer};
use super::statistics::{ENTRY, RTT};
use crate::{Alu, Condition, Insn, Label, Reg, Size};

/// Continues if this is the first answer; jumps to `repeated` if not. Clobbers `R1` and `R2`.
pub(super) fn settle(code: &mut Code<'_>, entries: Entries, repeated: Label) {
    code.constant(Reg::R1, answer::SETTLED, Reg::R2);
    code.extend([
        Insn::AtomicFetchOr {
            base: ENTRY,
            offset: entries.answer(),
            src: Reg::R1,
        },
        Insn::alu64(Alu::Rsh, Reg::R1, 63),
        Insn::jump_if(Condition::NotEqual, Reg::R1, 0, repeated),
    ]);
}

/// Writes the answer that was the first one, with the round trip in [`RTT`]: it is late, or in time. Clobbers `R1` and `R2`.
pub(super) fn write(code: &mut Code<'_>, entries: Entries, is_late: bool) {
    let fits = code.label();
    let kind = if is_late {
        answer::LATE
    } else {
        answer::RECEIVED
    };
    code.constant(Reg::R2, answer::MAX_RTT_NS, Reg::R1);
    code.extend([
        Insn::mov(Reg::R1, RTT),
        Insn::jump_if(Condition::LessOrEqual, Reg::R1, Reg::R2, fits),
        Insn::mov(Reg::R1, Reg::R2),
        Insn::Place(fits),
    ]);
    add(code, entries, kind);
}

/// Writes an ICMP error that was the first answer. Its type and code are on the stack at `error`. Clobbers `R1` and `R2`.
pub(super) fn write_error(code: &mut Code<'_>, entries: Entries, error: i16) {
    code.extend([Insn::load(Size::Half, Reg::R1, Reg::R10, error)]);
    add(code, entries, answer::ERROR);
}

/// Adds the value in `R1` and the kind of the answer.
fn add(code: &mut Code<'_>, entries: Entries, kind: i32) {
    code.extend([
        Insn::mov(Reg::R2, kind),
        Insn::alu64(Alu::Lsh, Reg::R2, answer::KIND),
        Insn::add(Reg::R1, Reg::R2),
        Insn::AtomicAdd {
            base: ENTRY,
            offset: entries.answer(),
            src: Reg::R1,
        },
    ]);
}

/// Counts a duplicate or damaged answer; others are counted by their kind. Clobbers `R1` and `R2`.
pub(super) fn count(code: &mut Code<'_>, entries: Entries, total: Total) {
    let (bit, mask) = match total {
        Total::Duplicate => (answer::DUPLICATE, answer::DUPLICATE_MASK),
        Total::Corrupt => (answer::CORRUPT, answer::CORRUPT_MASK),
        _ => return,
    };
    let full = code.label();
    code.extend([
        Insn::load(Size::Double, Reg::R1, ENTRY, entries.answer()),
        Insn::alu64(Alu::Rsh, Reg::R1, bit),
        Insn::alu64(Alu::And, Reg::R1, mask),
        Insn::jump_if(Condition::GreaterOrEqual, Reg::R1, answer::MOST, full),
        Insn::mov(Reg::R2, 1),
        Insn::alu64(Alu::Lsh, Reg::R2, bit),
        Insn::AtomicAdd {
            base: ENTRY,
            offset: entries.answer(),
            src: Reg::R2,
        },
        Insn::Place(full),
    ]);
}
