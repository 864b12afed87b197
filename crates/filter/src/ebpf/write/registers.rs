use crate::ebpf::operand::Reg;
use crate::graph::values::{ValueId, Values, Variable};

/// The registers that values are computed in.
pub(super) const REGISTERS: [Reg; 6] = [Reg::R1, Reg::R2, Reg::R3, Reg::R4, Reg::R5, Reg::R0];

/// The place of `register` among [`REGISTERS`].
pub(super) fn place(register: Reg) -> usize {
    match register {
        Reg::R0 => 5,
        other => (other as usize).saturating_sub(1),
    }
}

/// An address in the packet, in `R9`: that of offset `base + origin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pointer {
    pub base: ValueId,
    pub origin: u32,
    /// Bytes that have been found to be there.
    pub proven: u32,
}

/// What is known at one point of the code, on every way to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// What each of [`REGISTERS`] holds.
    pub held: [Option<ValueId>; REGISTERS.len()],
    pub pointer: Option<Pointer>,
    /// Bytes at the packet's beginning that have been found to be there.
    pub proven: u32,
    /// Whether several ways lead here, and whether they differ in those bytes.
    pub is_join: bool,
    pub is_mixed: bool,
}

impl State {
    pub(super) fn meet(&mut self, other: &Self) {
        for (mine, other) in self.held.iter_mut().zip(other.held) {
            *mine = mine.filter(|_| *mine == other);
        }
        self.is_join = true;
        self.is_mixed |= other.is_mixed || self.proven != other.proven;
        self.pointer = match (self.pointer, other.pointer) {
            (Some(mine), Some(other)) if (mine.base, mine.origin) == (other.base, other.origin) => {
                Some(Pointer {
                    proven: mine.proven.min(other.proven),
                    ..mine
                })
            }
            _ => None,
        };
        self.proven = self.proven.min(other.proven);
    }

    /// The variable has changed: what was made of it is no such value any more.
    pub(super) fn forget(&mut self, values: &Values, variable: Variable) {
        for held in &mut self.held {
            *held = held.filter(|&id| !values.depends_on(id, variable));
        }
        let pointer = self.pointer;
        self.pointer = pointer.filter(|pointer| !values.depends_on(pointer.base, variable));
    }

    /// A call has been made: the registers of values are lost.
    pub(super) fn call(&mut self) {
        self.held = [None; REGISTERS.len()];
    }

    pub(super) fn holder(&self, value: ValueId) -> Option<Reg> {
        let at = self.held.iter().position(|held| *held == Some(value))?;
        Some(REGISTERS[at])
    }
}
