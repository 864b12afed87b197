//! eBPF instructions.

/// A position in a program. Each position has its own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(pub u32);

/// One instruction, or a label definition.
///
/// `M` identifies a map: a [`SetId`](crate::SetId) before the map exists, then its file descriptor.
///
/// # Source
/// RFC 9669 (BPF ISA); the packet loads are in Documentation/bpf/standardization of the kernel under
/// "legacy BPF packet access instructions".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insn<M> {
    /// `dst = dst op src`, or `dst = src` for [`Alu::Mov`].
    Alu {
        /// The operation.
        op: Alu,
        /// The operand width.
        width: Width,
        /// First operand and result.
        dst: Reg,
        /// Second operand.
        src: Operand,
    },
    /// `dst = -dst`.
    Negate {
        /// The operand width.
        width: Width,
        /// Operand and result.
        dst: Reg,
    },
    /// Converts the low two bytes of `dst` from network to host byte order and clears the rest.
    Be16ToHost {
        /// Operand and result.
        dst: Reg,
    },
    /// Converts the low four bytes of `dst` from network to host byte order and clears the rest.
    Be32ToHost {
        /// Operand and result.
        dst: Reg,
    },
    /// Converts the eight bytes of `dst` between host and network byte order.
    HostToBe64 {
        /// Operand and result.
        dst: Reg,
    },
    /// `dst = *(base + offset)`; clears the rest of `dst`.
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
    /// `*(base + offset) += src` on 8 bytes, atomically.
    AtomicAdd {
        /// Address, aligned to 8 bytes.
        base: Reg,
        /// Displacement, bytes.
        offset: i16,
        /// The addend.
        src: Reg,
    },
    /// Stores `src` at `*(base + offset)` if the 8 bytes there equal `R0`; `R0 =` what was there, atomically (Linux 5.12).
    #[doc(alias = "BPF_CMPXCHG")]
    AtomicCompareExchange {
        /// Address, aligned to 8 bytes.
        base: Reg,
        /// Displacement, bytes.
        offset: i16,
        /// The new value.
        src: Reg,
    },
    /// `*(base + offset) |= src` on 8 bytes; `src =` what was there, atomically (Linux 5.12).
    #[doc(alias = "BPF_OR")]
    AtomicFetchOr {
        /// Address, aligned to 8 bytes.
        base: Reg,
        /// Displacement, bytes.
        offset: i16,
        /// The bits; then the result.
        src: Reg,
    },
    /// `dst =` the map, as an argument of a helper.
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
    /// `R0 =` packet bytes at `offset`, converted from network byte order; the program returns 0 if
    /// they do not exist. Socket filters only. `R6` must hold the context; `R1` to `R5` are
    /// clobbered.
    #[doc(alias = "BPF_LD_ABS")]
    LoadPacket {
        /// Bytes read, at most 4.
        size: Size,
        /// Offset in the packet; negative offsets are relative to its headers (`SKF_NET_OFF`).
        offset: i32,
    },
    /// The same as [`Insn::LoadPacket`], at `index + offset`.
    #[doc(alias = "BPF_LD_IND")]
    LoadPacketAt {
        /// Bytes read, at most 4.
        size: Size,
        /// Register added to the offset.
        index: Reg,
        /// Offset in the packet.
        offset: i32,
    },
    /// Jumps to `target`.
    Jump {
        /// The target.
        target: Label,
    },
    /// Jumps to `target` if the condition holds (32-bit comparisons: Linux 5.1).
    JumpIf {
        /// Relation of `dst` to `src`.
        condition: Condition,
        /// The width of the comparison.
        width: Width,
        /// First operand.
        dst: Reg,
        /// Second operand.
        src: Operand,
        /// The target.
        target: Label,
    },
    /// Calls a helper of the kernel.
    Call(Helper),
    /// Calls a function of the kernel that is not a helper (Linux 5.13). It takes its arguments in `R1` to `R5` and
    /// returns in `R0`. Such a program needs a licence that is compatible with the GPL.
    #[doc(alias = "kfunc")]
    CallKernel {
        /// Number of the function in the kernel's description of its types (BTF).
        function: u32,
    },
    /// Ends the program; its result is in `R0`.
    Exit,
    /// Defines a label at the next instruction. Generates no code.
    Place(Label),
}

impl<M> Insn<M> {
    /// The same instruction with its map replaced by `name(map)`; `None` if `name` returns `None`.
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
            Self::AtomicCompareExchange { base, offset, src } => {
                Insn::AtomicCompareExchange { base, offset, src }
            }
            Self::AtomicFetchOr { base, offset, src } => Insn::AtomicFetchOr { base, offset, src },
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
            Self::CallKernel { function } => Insn::CallKernel { function },
            Self::Exit => Insn::Exit,
            Self::Place(label) => Insn::Place(label),
        })
    }

    /// The number of instruction slots it occupies.
    pub fn slots(&self) -> usize {
        match self {
            Self::Place(_) => 0,
            Self::LoadMap { .. } | Self::LoadMapValue { .. } => 2,
            _ => 1,
        }
    }

    /// The jump target.
    pub fn target(&self) -> Option<Label> {
        match self {
            Self::Jump { target } | Self::JumpIf { target, .. } => Some(*target),
            _ => None,
        }
    }

    /// The same instruction with `to` applied to its label.
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

    /// `dst = src` on the low 32 bits; clears the high ones.
    pub fn mov32(dst: Reg, src: impl Into<Operand>) -> Self {
        Self::alu32(Alu::Mov, dst, src)
    }

    /// `dst = dst op src` on the low 32 bits; clears the high ones.
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

    /// Jumps to `target` if the condition holds for the low 32 bits.
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

    /// Jumps to `target` if the condition holds for all 64 bits.
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

/// A register.
///
/// `R0` is the result of calls and of the program. `R1` to `R5` are arguments, clobbered by calls.
/// `R6` to `R9` are preserved by calls. `R10` is the read-only frame pointer, above 512 bytes of
/// stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[expect(
    missing_docs,
    reason = "the type's documentation tells what each is for"
)]
pub enum Reg {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
}

/// The width of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// The low 32 bits; arithmetic clears the high ones.
    W32,
    /// All 64 bits; a constant operand is sign-extended.
    W64,
}

/// The width of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Size {
    /// 4 bytes.
    Word = 0x00,
    /// 2 bytes.
    Half = 0x08,
    /// 1 byte.
    Byte = 0x10,
    /// 8 bytes.
    Double = 0x18,
}

/// Second operand: a register or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The content of a register.
    Reg(Reg),
    /// A constant.
    Imm(i32),
}

impl From<Reg> for Operand {
    fn from(reg: Reg) -> Self {
        Self::Reg(reg)
    }
}

impl From<i32> for Operand {
    fn from(value: i32) -> Self {
        Self::Imm(value)
    }
}

/// Arithmetic with two operands. Division by zero gives 0, modulo zero gives the dividend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[expect(
    missing_docs,
    reason = "named as in the instruction set; all are unsigned"
)]
pub enum Alu {
    Add = 0x00,
    Sub = 0x10,
    Mul = 0x20,
    Div = 0x30,
    Or = 0x40,
    And = 0x50,
    Lsh = 0x60,
    Rsh = 0x70,
    Mod = 0x90,
    Xor = 0xa0,
    Mov = 0xb0,
}

/// Condition of a jump; comparisons are unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Condition {
    /// The operands are equal.
    Equal = 0x10,
    /// The first is greater.
    Greater = 0x20,
    /// The first is greater or equal.
    GreaterOrEqual = 0x30,
    /// A bit is set in both.
    AnyBitSet = 0x40,
    /// The operands differ.
    NotEqual = 0x50,
    /// The first is less.
    Less = 0xa0,
    /// The first is less or equal.
    LessOrEqual = 0xb0,
}

impl Condition {
    /// The condition that holds when this one does not; `None` if there is none.
    pub fn opposite(self) -> Option<Self> {
        Some(match self {
            Self::Equal => Self::NotEqual,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
            Self::AnyBitSet => return None,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
        })
    }
}

/// Helper functions of the kernel. Arguments are in `R1`…, the result in `R0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Helper {
    /// `R1` map, `R2` address of the key: address of the value, or 0.
    #[doc(alias = "bpf_map_lookup_elem")]
    MapLookupElem = 1,
    /// `R1` map, `R2` address of the key, `R3` address of the value, `R4` flags (`BPF_ANY`,
    /// `BPF_NOEXIST` or `BPF_EXIST`): sets the value; 0, or a negative error (E2BIG: the map is
    /// full). In a per-CPU map it sets the value of this CPU, and those of the others to 0 if the
    /// key is new.
    #[doc(alias = "bpf_map_update_elem")]
    MapUpdateElem = 2,
    /// `CLOCK_MONOTONIC`, nanoseconds (Linux 5.8 without the GPL).
    #[doc(alias = "bpf_ktime_get_ns")]
    KtimeGetNs = 5,
    /// A random u32.
    #[doc(alias = "bpf_get_prandom_u32")]
    GetPrandomU32 = 7,
    /// `R1` context, `R2` array of programs, `R3` index: continues with the program there and does not return. If there
    /// is none, or after 33 such calls, the program goes on.
    #[doc(alias = "bpf_tail_call")]
    TailCall = 12,
    /// The CPU that runs the program.
    #[doc(alias = "bpf_get_smp_processor_id")]
    GetSmpProcessorId = 8,
    /// `R1` interface index, `R2` 0: the XDP verdict that transmits the frame on that interface.
    #[doc(alias = "bpf_redirect")]
    Redirect = 23,
    /// `R1` context, `R2` offset, `R3` address, `R4` bytes: copies them from the packet; 0, or a
    /// negative error.
    #[doc(alias = "bpf_skb_load_bytes")]
    SkbLoadBytes = 26,
    /// `R1` context, `R2` bytes: makes that much of the packet directly readable; 0, or a negative
    /// error. Invalidates packet addresses.
    #[doc(alias = "bpf_skb_pull_data")]
    SkbPullData = 39,
    /// `R1` map, `R2` key, `R3` the verdict if the entry does not exist: the XDP verdict that
    /// redirects the frame to the entry.
    #[doc(alias = "bpf_redirect_map")]
    RedirectMap = 51,
    /// `R1` context, `R2` bytes: moves the beginning of the frame, outwards if negative; 0, or a negative error.
    /// Invalidates packet addresses.
    #[doc(alias = "bpf_xdp_adjust_head")]
    XdpAdjustHead = 44,
    /// `R1` context, `R2` bytes (negative: room before the frame): 0, or an error.
    #[doc(alias = "bpf_xdp_adjust_meta")]
    XdpAdjustMeta = 54,
    /// `R1` context, `R2` bytes: moves the end of the frame, and clears what that adds; 0, or a
    /// negative error. Invalidates packet addresses.
    #[doc(alias = "bpf_xdp_adjust_tail")]
    XdpAdjustTail = 65,
    /// As [`Helper::SkbLoadBytes`], with the start of the offset in `R5`: 0 the link header, 1 the network header
    /// (Linux 4.18).
    #[doc(alias = "bpf_skb_load_bytes_relative")]
    SkbLoadBytesRelative = 68,
    /// `R1` address of the lock in a value of a map whose types are known to the kernel: takes it. Until
    /// [`Helper::SpinUnlock`] the program may call nothing (Linux 5.1).
    #[doc(alias = "bpf_spin_lock")]
    SpinLock = 93,
    /// `R1` address of the lock: releases it.
    #[doc(alias = "bpf_spin_unlock")]
    SpinUnlock = 94,
    /// The kernel's ticks (Linux 5.6).
    #[doc(alias = "bpf_jiffies64")]
    Jiffies64 = 118,
    /// `R1` ring buffer, `R2` address of the record, `R3` its length, `R4` flags: appends a copy;
    /// 0, or a negative error if the buffer is full (Linux 5.8).
    #[doc(alias = "bpf_ringbuf_output")]
    RingbufOutput = 130,
    /// `R1` context: the length of the frame in all its buffers (Linux 5.18).
    #[doc(alias = "bpf_xdp_get_buff_len")]
    XdpGetBuffLen = 188,
    /// `R1` context, `R2` offset, `R3` address, `R4` bytes: copies them out of any buffers of the
    /// frame; 0, or a negative error (Linux 5.18).
    #[doc(alias = "bpf_xdp_load_bytes")]
    XdpLoadBytes = 189,
    /// `R1` context, `R2` offset, `R3` address, `R4` bytes: copies them into any buffers of the
    /// frame; 0, or a negative error (Linux 5.18).
    #[doc(alias = "bpf_xdp_store_bytes")]
    XdpStoreBytes = 190,
}
