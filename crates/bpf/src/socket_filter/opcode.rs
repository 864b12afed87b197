//! Opcodes of classic BPF (`linux/filter.h`, `linux/bpf_common.h`).

/// Loads into A from a fixed offset of the packet, by size.
pub(super) const LD_W_ABS: u16 = 0x20;
pub(super) const LD_H_ABS: u16 = 0x28;
pub(super) const LD_B_ABS: u16 = 0x30;
/// The same at X + k.
pub(super) const LD_W_IND: u16 = 0x40;
pub(super) const LD_H_IND: u16 = 0x48;
pub(super) const LD_B_IND: u16 = 0x50;
/// A = k, A = M\[k\], A = length of the packet.
pub(super) const LD_IMM: u16 = 0x00;
pub(super) const LD_MEM: u16 = 0x60;
pub(super) const LD_LEN: u16 = 0x80;
/// X likewise.
pub(super) const LDX_IMM: u16 = 0x01;
pub(super) const LDX_MEM: u16 = 0x61;
pub(super) const LDX_LEN: u16 = 0x81;
/// X = 4 × (low half of the byte at k): the length of an IPv4 header.
pub(super) const LDX_MSH: u16 = 0xb1;
/// M\[k\] = A, M\[k\] = X.
pub(super) const ST: u16 = 0x02;
pub(super) const STX: u16 = 0x03;
/// Unconditional jump by k.
pub(super) const JMP_JA: u16 = 0x05;
/// A = -A.
pub(super) const ALU_NEG: u16 = 0x84;
/// Return k, return A.
pub(super) const RET_K: u16 = 0x06;
pub(super) const RET_A: u16 = 0x16;
/// X = A, A = X.
pub(super) const MISC_TAX: u16 = 0x07;
pub(super) const MISC_TXA: u16 = 0x87;

/// Classes with variants: arithmetic and conditional jumps.
pub(super) const CLASS: u16 = 0x07;
pub(super) const CLASS_ALU: u16 = 0x04;
pub(super) const CLASS_JMP: u16 = 0x05;
/// Mask of their operation, and the bit that makes X the second operand.
pub(super) const OPERATION: u16 = 0xf0;
pub(super) const SOURCE_X: u16 = 0x08;

/// Words of scratch memory (M).
pub(super) const MEMORY_WORDS: u32 = 16;

/// Offsets from here on name a property of the packet instead of its bytes.
pub(super) const SKF_AD_OFF: u32 = 0xffff_f000;
pub(super) const SKF_AD_PROTOCOL: u32 = 0;
pub(super) const SKF_AD_PKTTYPE: u32 = 4;
pub(super) const SKF_AD_IFINDEX: u32 = 8;
pub(super) const SKF_AD_MARK: u32 = 20;
pub(super) const SKF_AD_QUEUE: u32 = 24;
pub(super) const SKF_AD_RXHASH: u32 = 32;
pub(super) const SKF_AD_CPU: u32 = 36;
pub(super) const SKF_AD_ALU_XOR_X: u32 = 40;
pub(super) const SKF_AD_VLAN_TAG: u32 = 44;
pub(super) const SKF_AD_VLAN_TAG_PRESENT: u32 = 48;
pub(super) const SKF_AD_RANDOM: u32 = 56;
pub(super) const SKF_AD_VLAN_TPID: u32 = 60;
