//! The keyed tag of a cookie, computed by a program: SipHash-1-3 of 16 bytes.

use super::code::Code;
use crate::{Alu, Insn, Reg, Size};

/// Initial state, before the key.
///
/// # Source
/// Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012.
const INITIAL: [u64; 4] = [
    0x736f_6d65_7073_6575,
    0x646f_7261_6e64_6f6d,
    0x6c79_6765_6e65_7261,
    0x7465_6462_7974_6573,
];
/// The last word: the length in its highest byte.
const LENGTH: u64 = 16 << 56;

const STATE: [Reg; 4] = [Reg::R0, Reg::R1, Reg::R2, Reg::R3];
const SCRATCH: Reg = Reg::R4;

/// `R0 =` the low 32 bits of the hash of the two words on the stack at `words`. Clobbers `R1` to `R4`.
pub(super) fn tag(code: &mut Code<'_>, key: [u64; 2], words: [i16; 2]) {
    for (at, register) in STATE.into_iter().enumerate() {
        code.constant(register, INITIAL[at] ^ key[at % 2], SCRATCH);
    }
    for word in words {
        code.extend([Insn::load(Size::Double, SCRATCH, Reg::R10, word)]);
        compress(code);
    }
    // The low half of this word is zero.
    code.extend([
        Insn::mov32(SCRATCH, ((LENGTH >> 32) as u32).cast_signed()),
        Insn::alu64(Alu::Lsh, SCRATCH, 32),
    ]);
    compress(code);
    code.extend([Insn::alu64(Alu::Xor, STATE[2], 0xff)]);
    for _ in 0..3 {
        round(code);
    }
    for other in [STATE[1], STATE[2], STATE[3]] {
        code.extend([Insn::alu64(Alu::Xor, STATE[0], other)]);
    }
    code.extend([Insn::mov32(STATE[0], STATE[0])]);
}

/// Takes the word in [`SCRATCH`] into the state. Needs it twice, so it waits below the words of the stack.
fn compress(code: &mut Code<'_>) {
    const KEPT: i16 = super::code::SCRATCH_WORD;
    code.extend([
        Insn::store(Size::Double, Reg::R10, KEPT, SCRATCH),
        Insn::alu64(Alu::Xor, STATE[3], SCRATCH),
    ]);
    round(code);
    code.extend([
        Insn::load(Size::Double, SCRATCH, Reg::R10, KEPT),
        Insn::alu64(Alu::Xor, STATE[0], SCRATCH),
    ]);
}

fn round(code: &mut Code<'_>) {
    let [a, b, c, d] = STATE;
    for (one, other, bits, is_turned) in [
        (a, b, 13, true),
        (c, d, 16, false),
        (a, d, 21, false),
        (c, b, 17, true),
    ] {
        code.extend([Insn::add(one, other)]);
        rotate(code, other, bits);
        code.extend([Insn::alu64(Alu::Xor, other, one)]);
        if is_turned {
            rotate(code, one, 32);
        }
    }
}

/// Rotates `register` left. Clobbers [`SCRATCH`].
fn rotate(code: &mut Code<'_>, register: Reg, bits: i32) {
    code.extend([
        Insn::mov(SCRATCH, register),
        Insn::alu64(Alu::Lsh, register, bits),
        Insn::alu64(Alu::Rsh, SCRATCH, 64 - bits),
        Insn::alu64(Alu::Or, register, SCRATCH),
    ]);
}
