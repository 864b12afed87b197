//! Assembles typed instructions: encodes each one and resolves labels to jump distances.

use std::collections::HashMap;
use std::os::fd::{AsRawFd, BorrowedFd};

use abi::bpf::Instruction;

use crate::{Insn, Label, Operand, Reg, Size, Width};

// Instruction classes (low three bits of the opcode).
const LD: u8 = 0x00;
const LDX: u8 = 0x01;
const ST: u8 = 0x02;
const STX: u8 = 0x03;
const ALU32: u8 = 0x04;
const JMP: u8 = 0x05;
const JMP32: u8 = 0x06;
const ALU64: u8 = 0x07;
// The second operand is a register.
const X: u8 = 0x08;
// Modes of loads and stores.
const IMM: u8 = 0x00;
const ABS: u8 = 0x20;
const IND: u8 = 0x40;
const MEM: u8 = 0x60;
const ATOMIC: u8 = 0xc0;
// Operation of an atomic access: compare, exchange, and load what was there (`BPF_CMPXCHG`).
const COMPARE_EXCHANGE: i32 = 0xf1;
// Set bits, and load what was there (`BPF_OR | BPF_FETCH`).
const FETCH_OR: i32 = 0x41;
// Opcodes without an enum of their own.
const NEG: u8 = 0x80;
const END_TO_BE: u8 = 0xd8;
const JA: u8 = 0x00;
const CALL: u8 = 0x80;
const EXIT: u8 = 0x90;
// `src` of a 64-bit constant: its meaning.
const PSEUDO_MAP_FD: u8 = 1;
const PSEUDO_MAP_VALUE: u8 = 2;
// `src` of a call: a kernel function, by its number.
const PSEUDO_KFUNC_CALL: u8 = 2;

/// Why instructions cannot be assembled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// A jump names a label that is not placed.
    #[error("label {} is not defined", .label.0)]
    NoPlace {
        /// The label.
        label: Label,
    },
    /// A label is placed twice.
    #[error("label {} is defined twice", .label.0)]
    TwoPlaces {
        /// The label.
        label: Label,
    },
    /// A jump is longer than 2147483647 slots.
    #[error("jump to label {} spans {slots} slots, more than 2147483647", .label.0)]
    TooFar {
        /// The label it names.
        label: Label,
        /// Distance in slots.
        slots: isize,
    },
}

/// Encodes `code` and resolves its labels.
///
/// The slots contain the descriptors of the maps, so load them while the maps are open. Jumps of more than 32767 slots
/// become 32-bit jumps (`gotol`, Linux 6.6).
///
/// # Errors
/// [`AssembleError`] names the label that cannot be resolved.
pub fn assemble(code: &[Insn<'_>]) -> Result<Vec<Instruction>, AssembleError> {
    let layout = Layout::of(code)?;
    let mut slots = Vec::with_capacity(code.len());
    for (insn, &is_far) in code.iter().zip(&layout.is_far) {
        encode(insn, is_far, &layout.places, &mut slots)?;
    }
    Ok(slots)
}

/// Positions of labels, and the jumps that are too far for 16 bits.
struct Layout {
    places: HashMap<Label, usize>,
    is_far: Vec<bool>,
}

impl Layout {
    fn of(code: &[Insn<'_>]) -> Result<Self, AssembleError> {
        let mut layout = Self {
            places: HashMap::new(),
            is_far: vec![false; code.len()],
        };
        // A jump that becomes far only lengthens other jumps. Each round but the last makes at least one jump far.
        while layout.round(code)? {}
        Ok(layout)
    }

    /// Places all labels. Returns whether jumps have become far.
    fn round(&mut self, code: &[Insn<'_>]) -> Result<bool, AssembleError> {
        self.places.clear();
        let mut slot = 0;
        for (insn, &is_far) in code.iter().zip(&self.is_far) {
            if let Insn::Place(label) = *insn
                && self.places.insert(label, slot).is_some()
            {
                return Err(AssembleError::TwoPlaces { label });
            }
            slot += slots_of(insn, is_far);
        }
        let (mut slot, mut has_changed) = (0, false);
        for (insn, is_far) in code.iter().zip(&mut self.is_far) {
            if let (Some(label), false) = (insn.target(), *is_far) {
                let slots = distance(&self.places, slot, label)?;
                if i16::try_from(slots).is_err() {
                    *is_far = true;
                    has_changed = true;
                }
            }
            slot += slots_of(insn, *is_far);
        }
        Ok(has_changed)
    }
}

/// Number of slots of an instruction. A far jump takes one; a conditional far jump is a choice between two jumps.
fn slots_of(insn: &Insn<'_>, is_far: bool) -> usize {
    match insn {
        Insn::JumpIf { .. } if is_far => 3,
        insn => insn.slots(),
    }
}

/// Distance from the slot after `from` to `label`.
fn distance(
    places: &HashMap<Label, usize>,
    from: usize,
    label: Label,
) -> Result<i32, AssembleError> {
    let to = *places.get(&label).ok_or(AssembleError::NoPlace { label })?;
    let slots = to.cast_signed() - from.cast_signed() - 1;
    i32::try_from(slots).map_err(|_| AssembleError::TooFar { label, slots })
}

fn encode(
    insn: &Insn<'_>,
    is_far: bool,
    places: &HashMap<Label, usize>,
    slots: &mut Vec<Instruction>,
) -> Result<(), AssembleError> {
    let at = slots.len();
    let slot = match *insn {
        Insn::Alu {
            op,
            width,
            dst,
            src,
        } => operands(alu_class(width) | op as u8, dst, src, 0),
        Insn::Negate { width, dst } => plain(alu_class(width) | NEG, dst, Reg::R0, 0, 0),
        Insn::Be16ToHost { dst } => plain(ALU32 | END_TO_BE, dst, Reg::R0, 0, 16),
        Insn::Be32ToHost { dst } => plain(ALU32 | END_TO_BE, dst, Reg::R0, 0, 32),
        Insn::HostToBe64 { dst } => plain(ALU32 | END_TO_BE, dst, Reg::R0, 0, 64),
        Insn::Load {
            size,
            dst,
            base,
            offset,
        } => plain(LDX | MEM | size as u8, dst, base, offset, 0),
        Insn::Store {
            size,
            base,
            offset,
            src: Operand::Reg(src),
        } => plain(STX | MEM | size as u8, base, src, offset, 0),
        Insn::Store {
            size,
            base,
            offset,
            src: Operand::Imm(value),
        } => plain(ST | MEM | size as u8, base, Reg::R0, offset, value),
        Insn::AtomicAdd { base, offset, src } => {
            plain(STX | ATOMIC | Size::Double as u8, base, src, offset, 0)
        }
        Insn::AtomicCompareExchange { base, offset, src } => plain(
            STX | ATOMIC | Size::Double as u8,
            base,
            src,
            offset,
            COMPARE_EXCHANGE,
        ),
        Insn::AtomicFetchOr { base, offset, src } => plain(
            STX | ATOMIC | Size::Double as u8,
            base,
            src,
            offset,
            FETCH_OR,
        ),
        Insn::LoadMap { dst, map } => {
            slots.push(map_slot(dst, PSEUDO_MAP_FD, map));
            Instruction::default()
        }
        Insn::LoadMapValue { dst, map } => {
            slots.push(map_slot(dst, PSEUDO_MAP_VALUE, map));
            Instruction::default()
        }
        Insn::LoadPacket { size, offset } => {
            plain(LD | ABS | size as u8, Reg::R0, Reg::R0, 0, offset)
        }
        Insn::LoadPacketAt {
            size,
            index,
            offset,
        } => plain(LD | IND | size as u8, Reg::R0, index, 0, offset),
        Insn::Jump { target } if is_far => far(distance(places, at, target)?),
        Insn::Jump { target } => {
            let slots = distance(places, at, target)?;
            plain(JMP | JA, Reg::R0, Reg::R0, slots as i16, 0)
        }
        Insn::JumpIf {
            condition,
            width,
            dst,
            src,
            target,
        } => {
            let class = if width == Width::W32 { JMP32 } else { JMP };
            let code = class | condition as u8;
            if is_far {
                // Skips the jump that continues, to the far one.
                slots.push(operands(code, dst, src, 1));
                slots.push(plain(JMP | JA, Reg::R0, Reg::R0, 1, 0));
                far(distance(places, at + 2, target)?)
            } else {
                operands(code, dst, src, distance(places, at, target)? as i16)
            }
        }
        Insn::Call(helper) => plain(JMP | CALL, Reg::R0, Reg::R0, 0, helper as i32),
        Insn::CallKernel { function } => {
            Instruction::new(JMP | CALL, 0, PSEUDO_KFUNC_CALL, 0, function.cast_signed())
        }
        Insn::Exit => plain(JMP | EXIT, Reg::R0, Reg::R0, 0, 0),
        Insn::Place(_) => return Ok(()),
    };
    slots.push(slot);
    Ok(())
}

/// A jump of any length.
fn far(slots: i32) -> Instruction {
    plain(JMP32 | JA, Reg::R0, Reg::R0, 0, slots)
}

fn alu_class(width: Width) -> u8 {
    match width {
        Width::W32 => ALU32,
        Width::W64 => ALU64,
    }
}

fn plain(code: u8, dst: Reg, src: Reg, offset: i16, immediate: i32) -> Instruction {
    Instruction::new(code, dst as u8, src as u8, offset, immediate)
}

fn operands(code: u8, dst: Reg, src: Operand, offset: i16) -> Instruction {
    match src {
        Operand::Reg(src) => plain(code | X, dst, src, offset, 0),
        Operand::Imm(value) => plain(code, dst, Reg::R0, offset, value),
    }
}

/// The first slot of a 64-bit constant. The second holds an offset, which is 0.
fn map_slot(dst: Reg, kind: u8, map: BorrowedFd<'_>) -> Instruction {
    Instruction::new(
        LD | IMM | Size::Double as u8,
        dst as u8,
        kind,
        0,
        map.as_raw_fd(),
    )
}

#[cfg(test)]
mod tests;
