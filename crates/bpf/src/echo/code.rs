//! Instructions under construction, and the checksum of a message in the packet.

use std::os::fd::BorrowedFd;

use crate::{Alu, Condition, Helper, Insn, Label, Reg, Size, Width};

// Offsets in `struct xdp_md`.
pub(super) const DATA: i16 = 0;
pub(super) const DATA_END: i16 = 4;

// Verdicts (`enum xdp_action`, include/uapi/linux/bpf.h).
pub(super) const XDP_DROP: i32 = 1;
pub(super) const XDP_PASS: i32 = 2;
pub(super) const XDP_TX: i32 = 3;

/// Bytes of an Ethernet header.
pub(super) const ETHERNET: i16 = 14;
/// Bytes of an IPv4 header without options.
pub(super) const IPV4: i16 = 20;
/// Bytes of an IPv6 header.
pub(super) const IPV6: i16 = 40;

// Registers that keep their meaning through a program.
/// The context (`struct xdp_md`).
pub(super) const CONTEXT: Reg = Reg::R6;
/// The first byte of the frame.
pub(super) const START: Reg = Reg::R7;
/// The byte after the frame.
pub(super) const END: Reg = Reg::R8;

/// Position on the stack of a word that no program keeps across the computation of a tag.
pub(super) const SCRATCH_WORD: i16 = -256;

/// Bytes that one step of the checksum adds.
const CHUNK_BYTES: i32 = 16;
/// Longest message that is summed.
pub(super) const MAX_MESSAGE_BYTES: i32 = 4096;

/// A constant of these programs as an operand; all are far below 2³¹.
pub(super) const fn immediate(value: usize) -> i32 {
    (value as u32).cast_signed()
}

/// A constant of two bytes in network order, as a load in native order reads it.
pub(super) const fn wire16(bytes: [u8; 2]) -> i32 {
    u16::from_ne_bytes(bytes) as i32
}

/// A program under construction.
#[derive(Debug, Default)]
pub(super) struct Code<'m> {
    pub insns: Vec<Insn<'m>>,
    next_label: u32,
}

impl<'m> Code<'m> {
    pub fn extend(&mut self, insns: impl IntoIterator<Item = Insn<'m>>) {
        self.insns.extend(insns);
    }

    pub fn label(&mut self) -> Label {
        let label = Label(self.next_label);
        self.next_label += 1;
        label
    }

    pub fn place(&mut self, label: Label) {
        self.insns.push(Insn::Place(label));
    }

    pub fn exit(&mut self, verdict: i32) {
        self.extend([Insn::mov(Reg::R0, verdict), Insn::Exit]);
    }

    /// Jumps to `short` unless the frame has `bytes` bytes. Clobbers `R1`.
    pub fn require(&mut self, bytes: i16, short: Label) {
        self.extend([
            Insn::mov(Reg::R1, START),
            Insn::add(Reg::R1, i32::from(bytes)),
            Insn::jump_if(Condition::Greater, Reg::R1, END, short),
        ]);
    }

    /// Jumps to `otherwise` unless the byte at offset `at` is `value`. Clobbers `R1`.
    pub fn require_byte(&mut self, at: i16, value: i32, otherwise: Label) {
        self.extend([
            Insn::load(Size::Byte, Reg::R1, START, at),
            Insn::jump_if32(Condition::NotEqual, Reg::R1, value, otherwise),
        ]);
    }

    /// Adds the 16-bit words from `R1` to `R9` to `R0`, in native order; the last byte may be half a word. Jumps to
    /// `short` if the frame ends before, or after [`MAX_MESSAGE_BYTES`]. Clobbers `R1` to `R5`.
    pub fn sum_message(&mut self, short: Label) {
        const UNTIL: Reg = Reg::R9;
        let [chunks, words, last, done] = [(); 4].map(|()| self.label());
        self.extend([
            Insn::mov(Reg::R5, 0),
            Insn::Place(chunks),
            Insn::mov(Reg::R2, Reg::R1),
            Insn::add(Reg::R2, CHUNK_BYTES),
            Insn::jump_if(Condition::Greater, Reg::R2, UNTIL, words),
            Insn::jump_if(Condition::Greater, Reg::R2, END, short),
            Insn::add(Reg::R5, CHUNK_BYTES),
            Insn::jump_if(Condition::Greater, Reg::R5, MAX_MESSAGE_BYTES, short),
        ]);
        for at in [0, 8] {
            self.extend([
                Insn::load(Size::Double, Reg::R3, Reg::R1, at),
                Insn::mov32(Reg::R4, Reg::R3),
                Insn::add(Reg::R0, Reg::R4),
                Insn::alu64(Alu::Rsh, Reg::R3, 32),
                Insn::add(Reg::R0, Reg::R3),
            ]);
        }
        self.extend([
            Insn::add(Reg::R1, CHUNK_BYTES),
            Insn::Jump { target: chunks },
            Insn::Place(words),
        ]);
        for _ in 0..CHUNK_BYTES / 2 - 1 {
            self.extend([
                Insn::mov(Reg::R2, Reg::R1),
                Insn::add(Reg::R2, 2),
                Insn::jump_if(Condition::Greater, Reg::R2, UNTIL, last),
                Insn::jump_if(Condition::Greater, Reg::R2, END, short),
                Insn::load(Size::Half, Reg::R3, Reg::R1, 0),
                Insn::add(Reg::R0, Reg::R3),
                Insn::add(Reg::R1, 2),
            ]);
        }
        self.extend([
            Insn::Place(last),
            Insn::mov(Reg::R2, Reg::R1),
            Insn::add(Reg::R2, 1),
            Insn::jump_if(Condition::Greater, Reg::R2, UNTIL, done),
            Insn::jump_if(Condition::Greater, Reg::R2, END, short),
            Insn::load(Size::Byte, Reg::R3, Reg::R1, 0),
        ]);
        // The missing half of the word is zero.
        if cfg!(target_endian = "big") {
            self.extend([Insn::alu64(Alu::Lsh, Reg::R3, 8)]);
        }
        // The verifier knows bounds of the sum after each number of steps, and would examine what follows for each of them.
        // It forgets them when bytes are swapped.
        self.extend([
            Insn::add(Reg::R0, Reg::R3),
            Insn::Place(done),
            Insn::HostToBe64 { dst: Reg::R0 },
            Insn::HostToBe64 { dst: Reg::R0 },
        ]);
    }

    /// Adds `words` 32-bit words from `base + at` to `R0`. Clobbers `R3`.
    pub fn sum_words(&mut self, base: Reg, at: i16, words: i16) {
        for word in 0..words {
            self.extend([
                Insn::load(Size::Word, Reg::R3, base, at + 4 * word),
                Insn::add(Reg::R0, Reg::R3),
            ]);
        }
    }

    /// Folds the sum in `R0` to 16 bits. Clobbers `R3`.
    pub fn fold(&mut self) {
        self.extend([
            Insn::mov32(Reg::R3, Reg::R0),
            Insn::alu64(Alu::Rsh, Reg::R0, 32),
            Insn::add(Reg::R0, Reg::R3),
        ]);
        // 33 bits, then at most 18, 17 and 16.
        for _ in 0..3 {
            self.extend([
                Insn::mov(Reg::R3, Reg::R0),
                Insn::alu64(Alu::Rsh, Reg::R3, 16),
                Insn::alu64(Alu::And, Reg::R0, 0xffff),
                Insn::add(Reg::R0, Reg::R3),
            ]);
        }
    }

    /// Swaps `words` 32-bit words at `one` and `other` of the frame. Clobbers `R1` and `R2`.
    pub fn swap_words(&mut self, one: i16, other: i16, words: i16) {
        for word in 0..words {
            self.swap(Size::Word, one + 4 * word, other + 4 * word);
        }
    }

    pub fn swap(&mut self, size: Size, one: i16, other: i16) {
        self.extend([
            Insn::load(size, Reg::R1, START, one),
            Insn::load(size, Reg::R2, START, other),
            Insn::store(size, START, one, Reg::R2),
            Insn::store(size, START, other, Reg::R1),
        ]);
    }

    /// `dst =` a 64-bit constant. Clobbers `scratch`.
    pub fn constant(&mut self, dst: Reg, value: u64, scratch: Reg) {
        let [high, low] = [value >> 32, value].map(|half| (half as u32).cast_signed());
        self.extend([
            Insn::mov32(dst, high),
            Insn::alu64(Alu::Lsh, dst, 32),
            Insn::mov32(scratch, low),
            Insn::alu64(Alu::Or, dst, scratch),
        ]);
    }

    /// `R0 =` the entry of an array map with the number on the stack at `key`, or jumps to `missing`. Clobbers `R1` to
    /// `R5`.
    pub fn look_up(&mut self, map: BorrowedFd<'m>, key: i16, missing: Label) {
        self.extend([
            Insn::LoadMap { dst: Reg::R1, map },
            Insn::mov(Reg::R2, Reg::R10),
            Insn::add(Reg::R2, i32::from(key)),
            Insn::Call(Helper::MapLookupElem),
            Insn::jump_if(Condition::Equal, Reg::R0, 0, missing),
        ]);
    }

    /// Adds 1 to the 64-bit counter at `base + at`. Clobbers `R5`.
    pub fn count(&mut self, base: Reg, at: i16) {
        self.extend([
            Insn::mov(Reg::R5, 1),
            Insn::AtomicAdd {
                base,
                offset: at,
                src: Reg::R5,
            },
        ]);
    }

    /// Converts `dst` between host and network order: all its 8 bytes, or the low 4 or 2.
    pub fn swap_bytes(&mut self, size: Size, dst: Reg) {
        self.extend([match size {
            Size::Double => Insn::HostToBe64 { dst },
            Size::Half => Insn::Be16ToHost { dst },
            _ => Insn::Be32ToHost { dst },
        }]);
    }

    /// `dst = -dst`, all 64 bits.
    pub fn negate(&mut self, dst: Reg) {
        self.extend([Insn::Negate {
            width: Width::W64,
            dst,
        }]);
    }
}
