//! The part of a program that counts a round trip.

use std::os::fd::BorrowedFd;

use super::code::{Code, immediate};
use super::layout::{
    BUCKETS, HISTOGRAM, PARTS, TARGET_BUCKETS, TARGET_FLOOR, TARGET_PARTS, target,
};
use crate::{Alu, Condition, Insn, Label, Reg, Size};

/// The entry of the target.
pub(super) const ENTRY: Reg = Reg::R9;
/// The round trip, once the packet is not needed any more.
pub(super) const RTT: Reg = Reg::R8;

/// Times that another CPU may change a minimum or maximum meanwhile.
const ATTEMPTS: usize = 4;

/// Counts the round trip in [`RTT`] for the target in [`ENTRY`], and in the histogram of `totals`. Clobbers `R0` to `R5`.
pub(super) fn record<'m>(code: &mut Code<'m>, totals: BorrowedFd<'m>) {
    let timed = code.label();
    code.count(ENTRY, target::RECEIVED);
    // Sums of round trips and of their squares, which are counted as at most 4.29 s.
    code.extend([
        Insn::AtomicAdd {
            base: ENTRY,
            offset: target::SUM,
            src: RTT,
        },
        Insn::mov(Reg::R1, RTT),
        Insn::mov(Reg::R2, Reg::R1),
        Insn::alu64(Alu::Rsh, Reg::R2, 32),
        Insn::jump_if(Condition::Equal, Reg::R2, 0, timed),
        Insn::mov32(Reg::R1, -1),
        Insn::Place(timed),
        Insn::alu64(Alu::Mul, Reg::R1, Reg::R1),
        Insn::mov32(Reg::R2, Reg::R1),
        Insn::AtomicAdd {
            base: ENTRY,
            offset: target::SQUARES_LOW,
            src: Reg::R2,
        },
        Insn::alu64(Alu::Rsh, Reg::R1, 32),
        Insn::AtomicAdd {
            base: ENTRY,
            offset: target::SQUARES_HIGH,
            src: Reg::R1,
        },
    ]);
    extreme(code, target::MIN, Condition::LessOrEqual);
    extreme(code, target::MAX, Condition::GreaterOrEqual);
    jitter(code);
    histogram(code, totals);
}

/// Replaces the minimum or maximum at `at` of [`ENTRY`] by the round trip, unless `is_kept` holds.
fn extreme(code: &mut Code<'_>, at: i16, is_kept: Condition) {
    let kept = code.label();
    for _ in 0..ATTEMPTS {
        code.extend([
            Insn::load(Size::Double, Reg::R0, ENTRY, at),
            Insn::jump_if(is_kept, Reg::R0, RTT, kept),
            Insn::AtomicCompareExchange {
                base: ENTRY,
                offset: at,
                src: RTT,
            },
        ]);
    }
    code.place(kept);
}

/// Smoothed difference between consecutive round trips (RFC 3550, 6.4.1), not atomic: exact as long as the replies of a
/// target arrive on one CPU at a time.
fn jitter(code: &mut Code<'_>) {
    let [first, positive] = [code.label(), code.label()];
    code.extend([
        Insn::load(Size::Double, Reg::R1, ENTRY, target::LAST),
        Insn::store(Size::Double, ENTRY, target::LAST, RTT),
        Insn::jump_if(Condition::Equal, Reg::R1, 0, first),
        Insn::mov(Reg::R2, RTT),
        Insn::alu64(Alu::Sub, Reg::R2, Reg::R1),
        Insn::jump_if(Condition::GreaterOrEqual, RTT, Reg::R1, positive),
    ]);
    code.negate(Reg::R2);
    code.extend([
        Insn::Place(positive),
        Insn::load(Size::Double, Reg::R1, ENTRY, target::JITTER),
        Insn::add(Reg::R2, Reg::R1),
        Insn::alu64(Alu::Rsh, Reg::R1, 4),
        Insn::alu64(Alu::Sub, Reg::R2, Reg::R1),
        Insn::store(Size::Double, ENTRY, target::JITTER, Reg::R2),
        Insn::Place(first),
    ]);
}

/// Counts the round trip in [`RTT`] in its bucket of `totals`. Clobbers `R1` to `R3` and `R5`.
pub(super) fn histogram<'m>(code: &mut Code<'m>, totals: BorrowedFd<'m>) {
    code.extend([Insn::mov(Reg::R1, RTT)]);
    bucket(code, PARTS, BUCKETS);
    code.extend([
        Insn::alu64(Alu::Lsh, Reg::R1, 3),
        Insn::LoadMapValue {
            dst: Reg::R2,
            map: totals,
        },
        Insn::add(Reg::R2, Reg::R1),
    ]);
    code.count(Reg::R2, HISTOGRAM);
}

/// `R0 =` the bucket of the round trip in [`RTT`], in the histogram of the target whose number is on the stack at `key`. Jumps to
/// `missing` if it has none. Clobbers `R1` to `R5`.
pub(super) fn target_bucket<'m>(
    code: &mut Code<'m>,
    histograms: BorrowedFd<'m>,
    key: i16,
    missing: Label,
) {
    code.look_up(histograms, key, missing);
    code.extend([
        Insn::mov(Reg::R1, RTT),
        Insn::alu64(Alu::Rsh, Reg::R1, TARGET_FLOOR),
    ]);
    bucket(code, TARGET_PARTS, TARGET_BUCKETS);
    code.extend([
        Insn::alu64(Alu::Lsh, Reg::R1, 3),
        Insn::add(Reg::R0, Reg::R1),
    ]);
}

/// `R1 =` its bucket among `buckets`, of which each doubling above 2^`parts` has 2^`parts`. Clobbers `R2` and `R3`.
fn bucket(code: &mut Code<'_>, parts: i32, buckets: usize) {
    const SHIFT: Reg = Reg::R3;
    code.extend([Insn::mov(SHIFT, 0)]);
    // It is shifted until it has one bit more than `parts`.
    for bits in [32, 16, 8, 4, 2, 1] {
        let enough = code.label();
        code.extend([
            Insn::mov(Reg::R2, Reg::R1),
            Insn::alu64(Alu::Rsh, Reg::R2, bits + parts),
            Insn::jump_if(Condition::Equal, Reg::R2, 0, enough),
            Insn::alu64(Alu::Rsh, Reg::R1, bits),
            Insn::add(SHIFT, bits),
            Insn::Place(enough),
        ]);
    }
    let fits = code.label();
    code.extend([
        Insn::alu64(Alu::Lsh, SHIFT, parts),
        Insn::add(Reg::R1, SHIFT),
        // The verifier knows bounds for each shift, and would examine what follows for each of them. It forgets them here, because
        // it does not know the round trip.
        Insn::alu64(Alu::Xor, Reg::R1, RTT),
        Insn::alu64(Alu::Xor, Reg::R1, RTT),
        Insn::jump_if(Condition::Less, Reg::R1, immediate(buckets), fits),
        Insn::mov(Reg::R1, immediate(buckets) - 1),
        Insn::Place(fits),
    ]);
}
