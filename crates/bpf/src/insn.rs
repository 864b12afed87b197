//! Instructions of eBPF, typed.
//!
//! Source: RFC 9669 (BPF ISA); the packet loads are in Documentation/bpf/standardization of the
//! kernel under "legacy BPF packet access instructions".

use std::os::fd::BorrowedFd;

/// A register.
///
/// `R0` is the result of calls and of the program; `R1` to `R5` are arguments and lost in a call;
/// `R6` to `R9` survive calls; `R10` is the end of the stack (512 bytes below it) and read-only.
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

/// How much of a register an operation uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// The low 32 bits; arithmetic clears the high ones.
    W32,
    /// All 64 bits; a constant operand is sign-extended.
    W64,
}

/// How much of memory is read or written.
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
    /// Content of a register.
    Reg(Reg),
    /// Constant.
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

/// Arithmetic of two operands; division by zero gives 0 and its remainder the dividend.
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

/// Functions of the kernel that a program may call; arguments are in `R1`…, the result in `R0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Helper {
    /// `R1` map, `R2` address of the key: address of the value, or 0.
    #[doc(alias = "bpf_map_lookup_elem")]
    MapLookupElem = 1,
    /// `CLOCK_MONOTONIC`, nanoseconds (Linux 5.8 without the GPL).
    #[doc(alias = "bpf_ktime_get_ns")]
    KtimeGetNs = 5,
    /// A random u32.
    #[doc(alias = "bpf_get_prandom_u32")]
    GetPrandomU32 = 7,
    /// Number of the CPU that runs the program.
    #[doc(alias = "bpf_get_smp_processor_id")]
    GetSmpProcessorId = 8,
    /// `R1` interface index, `R2` 0: the XDP verdict that sends the frame out there.
    #[doc(alias = "bpf_redirect")]
    Redirect = 23,
    /// `R1` map, `R2` key, `R3` the verdict if there is no such entry: the XDP verdict that sends the
    /// frame to the entry.
    #[doc(alias = "bpf_redirect_map")]
    RedirectMap = 51,
    /// `R1` context, `R2` bytes (negative: room in front of the frame): 0, or an error.
    #[doc(alias = "bpf_xdp_adjust_meta")]
    XdpAdjustMeta = 54,
}

/// A place in a program; any number will do as long as each place has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(pub u32);

/// One instruction, or the mark of a place.
///
/// An instruction that names a map borrows its descriptor, so the map is open when the program
/// is loaded.
#[derive(Clone, Copy, Debug)]
pub enum Insn<'map> {
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
        map: BorrowedFd<'map>,
    },
    /// `dst =` address of the first value of an array map (Linux 5.2).
    LoadMapValue {
        /// Result.
        dst: Reg,
        /// The map.
        map: BorrowedFd<'map>,
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

impl Insn<'_> {
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
