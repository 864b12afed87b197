use super::operand::{Alu, Condition, Helper, Operand, Reg, Size, Width};

/// A place in a program; any number will do as long as each place has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(pub u32);

/// One instruction, or the mark of a place.
///
/// `M` is how a map is named: a [`SetId`](crate::SetId) as long as there is none, then its descriptor.
///
/// # Source
/// RFC 9669 (BPF ISA); the packet loads are in Documentation/bpf/standardization of the kernel under
/// "legacy BPF packet access instructions".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insn<M> {
    /// `dst = dst op src`, or `dst = src` for [`Alu::Mov`].
    Alu {
        /// What is done.
        op: Alu,
        /// On how many bits.
        width: Width,
        /// First operand and result.
        dst: Reg,
        /// Second operand.
        src: Operand,
    },
    /// `dst = -dst`.
    Negate {
        /// On how many bits.
        width: Width,
        /// Operand and result.
        dst: Reg,
    },
    /// Turns the low two bytes of `dst` from network byte order to the machine's, clears the rest.
    Be16ToHost {
        /// Operand and result.
        dst: Reg,
    },
    /// Turns the low four bytes of `dst` from network byte order to the machine's, clears the rest.
    Be32ToHost {
        /// Operand and result.
        dst: Reg,
    },
    /// Swaps the eight bytes of `dst` between the machine's byte order and the network's.
    HostToBe64 {
        /// Operand and result.
        dst: Reg,
    },
    /// `dst = *(base + offset)`, the rest of `dst` cleared.
    Load {
        /// Bytes read.
        size: Size,
        /// Result.
        dst: Reg,
        /// Address.
        base: Reg,
        /// Displacement, bytes.
        offset: i16,
    },
    /// `*(base + offset) = src`.
    Store {
        /// Bytes written.
        size: Size,
        /// Address.
        base: Reg,
        /// Displacement, bytes.
        offset: i16,
        /// Value.
        src: Operand,
    },
    /// `*(base + offset) += src` on 8 bytes, indivisibly.
    AtomicAdd {
        /// Address, aligned to 8 bytes.
        base: Reg,
        /// Displacement, bytes.
        offset: i16,
        /// What is added.
        src: Reg,
    },
    /// `dst =` the map, for a helper.
    LoadMap {
        /// Result.
        dst: Reg,
        /// The map.
        map: M,
    },
    /// `dst =` address of the first value of an array map (Linux 5.2).
    LoadMapValue {
        /// Result.
        dst: Reg,
        /// The map.
        map: M,
    },
    /// `R0 =` packet bytes at `offset`, from network byte order; the program returns 0 if there are
    /// none. Socket filters only; `R6` holds the context; `R1` to `R5` are lost.
    #[doc(alias = "BPF_LD_ABS")]
    LoadPacket {
        /// Bytes read, at most 4.
        size: Size,
        /// Place in the packet; negative ones are relative to its headers (`SKF_NET_OFF`).
        offset: i32,
    },
    /// As [`Insn::LoadPacket`], at `index + offset`.
    #[doc(alias = "BPF_LD_IND")]
    LoadPacketAt {
        /// Bytes read, at most 4.
        size: Size,
        /// Register added to the offset.
        index: Reg,
        /// Place in the packet.
        offset: i32,
    },
    /// Goes on at `target`.
    Jump {
        /// Where to.
        target: Label,
    },
    /// Goes on at `target` if the condition holds (32-bit comparisons: Linux 5.1).
    JumpIf {
        /// Relation of `dst` to `src`.
        condition: Condition,
        /// Bits compared.
        width: Width,
        /// First operand.
        dst: Reg,
        /// Second operand.
        src: Operand,
        /// Where to.
        target: Label,
    },
    /// Calls the kernel.
    Call(Helper),
    /// Ends the program; its result is in `R0`.
    Exit,
    /// The place of a label: the next instruction. No code.
    Place(Label),
}

impl<M> Insn<M> {
    /// The same with its map named by `name`; `None` if that has no name for it.
    pub fn with_map<N>(self, name: impl FnOnce(M) -> Option<N>) -> Option<Insn<N>> {
        Some(match self {
            Self::LoadMap { dst, map } => Insn::LoadMap {
                dst,
                map: name(map)?,
            },
            Self::LoadMapValue { dst, map } => Insn::LoadMapValue {
                dst,
                map: name(map)?,
            },
            Self::Alu {
                op,
                width,
                dst,
                src,
            } => Insn::Alu {
                op,
                width,
                dst,
                src,
            },
            Self::Negate { width, dst } => Insn::Negate { width, dst },
            Self::Be16ToHost { dst } => Insn::Be16ToHost { dst },
            Self::Be32ToHost { dst } => Insn::Be32ToHost { dst },
            Self::HostToBe64 { dst } => Insn::HostToBe64 { dst },
            Self::Load {
                size,
                dst,
                base,
                offset,
            } => Insn::load(size, dst, base, offset),
            Self::Store {
                size,
                base,
                offset,
                src,
            } => Insn::store(size, base, offset, src),
            Self::AtomicAdd { base, offset, src } => Insn::AtomicAdd { base, offset, src },
            Self::LoadPacket { size, offset } => Insn::LoadPacket { size, offset },
            Self::LoadPacketAt {
                size,
                index,
                offset,
            } => Insn::LoadPacketAt {
                size,
                index,
                offset,
            },
            Self::Jump { target } => Insn::Jump { target },
            Self::JumpIf {
                condition,
                width,
                dst,
                src,
                target,
            } => Insn::JumpIf {
                condition,
                width,
                dst,
                src,
                target,
            },
            Self::Call(helper) => Insn::Call(helper),
            Self::Exit => Insn::Exit,
            Self::Place(label) => Insn::Place(label),
        })
    }

    /// Slots that it takes in a program.
    pub fn slots(&self) -> usize {
        match self {
            Self::Place(_) => 0,
            Self::LoadMap { .. } | Self::LoadMapValue { .. } => 2,
            _ => 1,
        }
    }

    /// Where it may jump to.
    pub fn target(&self) -> Option<Label> {
        match self {
            Self::Jump { target } | Self::JumpIf { target, .. } => Some(*target),
            _ => None,
        }
    }

    /// The same with `to` applied to the label it names.
    #[must_use]
    pub fn with_label(mut self, to: impl FnOnce(Label) -> Label) -> Self {
        if let Self::Jump { target: label }
        | Self::JumpIf { target: label, .. }
        | Self::Place(label) = &mut self
        {
            *label = to(*label);
        }
        self
    }

    /// `dst = src`, all 64 bits.
    pub fn mov(dst: Reg, src: impl Into<Operand>) -> Self {
        Self::Alu {
            op: Alu::Mov,
            width: Width::W64,
            dst,
            src: src.into(),
        }
    }

    /// `dst = src`, the low 32 bits, the high ones cleared.
    pub fn mov32(dst: Reg, src: impl Into<Operand>) -> Self {
        Self::alu32(Alu::Mov, dst, src)
    }

    /// `dst = dst op src`, the low 32 bits, the high ones cleared.
    pub fn alu32(op: Alu, dst: Reg, src: impl Into<Operand>) -> Self {
        Self::Alu {
            op,
            width: Width::W32,
            dst,
            src: src.into(),
        }
    }

    /// `dst += src`, all 64 bits.
    pub fn add(dst: Reg, src: impl Into<Operand>) -> Self {
        Self::Alu {
            op: Alu::Add,
            width: Width::W64,
            dst,
            src: src.into(),
        }
    }

    /// `dst = dst op src`, all 64 bits.
    pub fn alu64(op: Alu, dst: Reg, src: impl Into<Operand>) -> Self {
        Self::Alu {
            op,
            width: Width::W64,
            dst,
            src: src.into(),
        }
    }

    /// `dst = *(base + offset)`.
    pub fn load(size: Size, dst: Reg, base: Reg, offset: i16) -> Self {
        Self::Load {
            size,
            dst,
            base,
            offset,
        }
    }

    /// `*(base + offset) = src`.
    pub fn store(size: Size, base: Reg, offset: i16, src: impl Into<Operand>) -> Self {
        Self::Store {
            size,
            base,
            offset,
            src: src.into(),
        }
    }

    /// Goes on at `target` if the low 32 bits compare so.
    pub fn jump_if32(
        condition: Condition,
        dst: Reg,
        src: impl Into<Operand>,
        target: Label,
    ) -> Self {
        Self::JumpIf {
            condition,
            width: Width::W32,
            dst,
            src: src.into(),
            target,
        }
    }

    /// Goes on at `target` if all 64 bits compare so.
    pub fn jump_if(condition: Condition, dst: Reg, src: impl Into<Operand>, target: Label) -> Self {
        Self::JumpIf {
            condition,
            width: Width::W64,
            dst,
            src: src.into(),
            target,
        }
    }
}
