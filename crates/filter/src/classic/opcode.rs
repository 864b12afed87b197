//! The opcodes of classic BPF that the kernel accepts, complete with class, size, mode or
//! operation.
//!
//! `A` and `X` are the registers, `k` is the operand, `M` the scratch memory, `P` the packet.
//!
//! # Source
//! `chk_code_allowed`, net/core/filter.c; `include/uapi/linux/bpf_common.h`.

macro_rules! opcodes {
    ($($name:ident = $code:literal, $doc:literal;)*) => {
        $(#[doc = $doc] pub const $name: u16 = $code;)*

        /// All opcodes above.
        pub const ALL: &[u16] = &[$($name),*];
    };
}

opcodes! {
    LD_IMM = 0x00, "`A = k`";
    LD_W_ABS = 0x20, "`A = P[k..k + 4]`, big-endian; ancillary data where `k` is negative";
    LD_H_ABS = 0x28, "`A = P[k..k + 2]`, big-endian; ancillary data where `k` is negative";
    LD_B_ABS = 0x30, "`A = P[k]`; ancillary data where `k` is negative";
    LD_W_IND = 0x40, "`A = P[X + k..X + k + 4]`, big-endian";
    LD_H_IND = 0x48, "`A = P[X + k..X + k + 2]`, big-endian";
    LD_B_IND = 0x50, "`A = P[X + k]`";
    LD_MEM = 0x60, "`A = M[k]`";
    LD_LEN = 0x80, "`A` = length on the wire";
    LDX_IMM = 0x01, "`X = k`";
    LDX_MEM = 0x61, "`X = M[k]`";
    LDX_LEN = 0x81, "`X` = length on the wire";
    LDX_MSH = 0xb1, "`X = 4 * (P[k] & 15)`: the length of an IPv4 header";
    ST = 0x02, "`M[k] = A`";
    STX = 0x03, "`M[k] = X`";
    ADD_K = 0x04, "`A += k`";
    ADD_X = 0x0c, "`A += X`";
    SUB_K = 0x14, "`A -= k`";
    SUB_X = 0x1c, "`A -= X`";
    MUL_K = 0x24, "`A *= k`";
    MUL_X = 0x2c, "`A *= X`";
    DIV_K = 0x34, "`A /= k`";
    DIV_X = 0x3c, "`A /= X`; refuses the packet where `X` is 0";
    OR_K = 0x44, "`A |= k`";
    OR_X = 0x4c, "`A |= X`";
    AND_K = 0x54, "`A &= k`";
    AND_X = 0x5c, "`A &= X`";
    LSH_K = 0x64, "`A <<= k`";
    LSH_X = 0x6c, "`A <<= X & 31`";
    RSH_K = 0x74, "`A >>= k`";
    RSH_X = 0x7c, "`A >>= X & 31`";
    NEG = 0x84, "`A = -A`";
    MOD_K = 0x94, "`A %= k`";
    MOD_X = 0x9c, "`A %= X`; refuses the packet where `X` is 0";
    XOR_K = 0xa4, "`A ^= k`";
    XOR_X = 0xac, "`A ^= X`";
    JA = 0x05, "jump over `k` instructions";
    JEQ_K = 0x15, "jump over `jt` instructions if `A == k`, else over `jf`";
    JEQ_X = 0x1d, "jump over `jt` instructions if `A == X`, else over `jf`";
    JGT_K = 0x25, "jump over `jt` instructions if `A > k`, else over `jf`";
    JGT_X = 0x2d, "jump over `jt` instructions if `A > X`, else over `jf`";
    JGE_K = 0x35, "jump over `jt` instructions if `A >= k`, else over `jf`";
    JGE_X = 0x3d, "jump over `jt` instructions if `A >= X`, else over `jf`";
    JSET_K = 0x45, "jump over `jt` instructions if `A & k != 0`, else over `jf`";
    JSET_X = 0x4d, "jump over `jt` instructions if `A & X != 0`, else over `jf`";
    RET_K = 0x06, "return `k`";
    RET_A = 0x16, "return `A`";
    TAX = 0x07, "`X = A`";
    TXA = 0x87, "`A = X`";
}

/// Whether `code` is a conditional jump, which uses `jt` and `jf`.
pub const fn is_conditional_jump(code: u16) -> bool {
    matches!(
        code,
        JEQ_K | JEQ_X | JGT_K | JGT_X | JGE_K | JGE_X | JSET_K | JSET_X
    )
}

/// Whether `code` ends the program.
pub const fn is_return(code: u16) -> bool {
    matches!(code, RET_K | RET_A)
}
