//! Instructions: eBPF's and classic BPF's.

/// One slot of an eBPF program (`struct bpf_insn`). A 64-bit constant takes two slots.
#[doc(alias = "bpf_insn")]
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

impl Instruction {
    /// Puts a slot together; `dst` and `src` are register numbers below 16.
    ///
    /// The two registers are bit fields in C, so their order in the byte follows the byte order
    /// of the machine.
    pub const fn new(code: u8, dst: u8, src: u8, offset: i16, immediate: i32) -> Self {
        let registers = if cfg!(target_endian = "big") {
            (dst & 0xf) << 4 | (src & 0xf)
        } else {
            (src & 0xf) << 4 | (dst & 0xf)
        };
        Self {
            code,
            registers,
            offset,
            immediate,
        }
    }

    /// Operation: class, source and size.
    pub const fn code(&self) -> u8 {
        self.code
    }

    /// Distance of a jump in slots, or displacement of a load or store in bytes.
    pub const fn offset(&self) -> i16 {
        self.offset
    }

    /// Constant operand.
    pub const fn immediate(&self) -> i32 {
        self.immediate
    }
}

/// One classic BPF instruction (`struct sock_filter`), as `tcpdump -ddd` prints it.
#[doc(alias = "sock_filter")]
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SockFilter {
    /// Operation.
    pub code: u16,
    /// Instructions skipped when the condition holds.
    pub jt: u8,
    /// Instructions skipped when it does not.
    pub jf: u8,
    /// Constant operand.
    pub k: u32,
}
