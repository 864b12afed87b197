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

/// Functions of the kernel that a program may call; arguments are in `R1`…, the result in `R0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Helper {
    /// `R1` map, `R2` address of the key: address of the value, or 0.
    #[doc(alias = "bpf_map_lookup_elem")]
    MapLookupElem = 1,
    /// `R1` map, `R2` address of the key, `R3` address of the value, `R4` 0, or 1 if the key is to be
    /// new, or 2 if it is to be there: sets the value (of a per-CPU map this CPU's, and that of the
    /// others to 0 if the key is new); 0, or a negative error, E2BIG when the map is full.
    #[doc(alias = "bpf_map_update_elem")]
    MapUpdateElem = 2,
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
    /// `R1` context, `R2` offset, `R3` address, `R4` bytes: copies them out of the packet; 0, or a
    /// negative error.
    #[doc(alias = "bpf_skb_load_bytes")]
    SkbLoadBytes = 26,
    /// `R1` context, `R2` bytes: makes that much of the packet directly readable; 0, or a negative
    /// error. Addresses in the packet are void afterwards.
    #[doc(alias = "bpf_skb_pull_data")]
    SkbPullData = 39,
    /// `R1` map, `R2` key, `R3` the verdict if there is no such entry: the XDP verdict that sends the
    /// frame to the entry.
    #[doc(alias = "bpf_redirect_map")]
    RedirectMap = 51,
    /// `R1` context, `R2` bytes (negative: room in front of the frame): 0, or an error.
    #[doc(alias = "bpf_xdp_adjust_meta")]
    XdpAdjustMeta = 54,
    /// The kernel's ticks (Linux 5.6).
    #[doc(alias = "bpf_jiffies64")]
    Jiffies64 = 118,
    /// `R1` ring buffer, `R2` address of the record, `R3` its bytes, `R4` flags: copies it in; 0, or a
    /// negative error when there is no room (Linux 5.8).
    #[doc(alias = "bpf_ringbuf_output")]
    RingbufOutput = 130,
    /// `R1` context: bytes of the frame, in all its buffers (Linux 5.18).
    #[doc(alias = "bpf_xdp_get_buff_len")]
    XdpGetBuffLen = 188,
    /// `R1` context, `R2` offset, `R3` address, `R4` bytes: copies them out of the frame, whose buffers
    /// they may lie in; 0, or a negative error (Linux 5.18).
    #[doc(alias = "bpf_xdp_load_bytes")]
    XdpLoadBytes = 189,
}
