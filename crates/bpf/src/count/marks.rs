//! Marks: one bit for each class that matches a packet. The code that counts by key is thus written once per class, not
//! once per kind of packet and class.
//!
//! Bits are set in values that are unknown to the verifier. It would otherwise follow every combination of known bits.

use filter::ebpf::{Alu, Condition, Insn as AnyInsn, Label, Operand, Reg, Size};

use super::MOST_CLASSES;
use super::code::{BLANK, COUNTERS, Code, MARKS};

/// Bits of a word.
const BITS: usize = 32;

const _: () = assert!((BLANK - MARKS) as usize == MOST_CLASSES / 8);

/// Clears all marks.
pub(super) fn clear(code: &mut Code<'_>, classes: usize) {
    // A counter's value is unknown to the verifier.
    code.push(AnyInsn::load(Size::Double, Reg::R1, Reg::R10, COUNTERS));
    code.push(AnyInsn::load(Size::Word, Reg::R1, Reg::R1, 0));
    let words = (0..classes.div_ceil(BITS)).map(word);
    for at in words.chain([BLANK]) {
        code.push(AnyInsn::store(Size::Word, Reg::R10, at, Reg::R1));
    }
}

/// Sets the mark of the class.
pub(super) fn set(code: &mut Code<'_>, class: usize) {
    let at = word(class / BITS);
    code.extend([
        AnyInsn::load(Size::Word, Reg::R1, Reg::R10, at),
        AnyInsn::alu32(Alu::Xor, Reg::R1, bit(class)),
        AnyInsn::store(Size::Word, Reg::R10, at, Reg::R1),
    ]);
}

/// Jumps if the class's mark is not set.
pub(super) fn unless_set(code: &mut Code<'_>, class: usize, otherwise: Label) {
    code.extend([
        AnyInsn::load(Size::Word, Reg::R1, Reg::R10, word(class / BITS)),
        AnyInsn::load(Size::Word, Reg::R2, Reg::R10, BLANK),
        AnyInsn::alu32(Alu::Xor, Reg::R1, Reg::R2),
        AnyInsn::alu32(Alu::And, Reg::R1, bit(class)),
        AnyInsn::jump_if(Condition::Equal, Reg::R1, 0, otherwise),
    ]);
}

fn word(number: usize) -> i16 {
    MARKS + 4 * number as u8 as i16
}

fn bit(class: usize) -> Operand {
    Operand::Imm((1_u32 << (class % BITS)).cast_signed())
}
