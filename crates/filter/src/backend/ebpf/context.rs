//! The registers and context fields that all fragments use, and the prologue that loads them.

use crate::backend::ebpf::insn::{Alu, Condition, Helper, Insn, Label, Reg, Size};
use crate::options::FilterTarget;

pub(super) const CONTEXT: Reg = Reg::R6;
pub(super) const DATA: Reg = Reg::R7;
pub(super) const DATA_END: Reg = Reg::R8;

/// The return values of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdicts {
    /// For packets that the filter accepts.
    pub accept: u32,
    /// For packets that it rejects.
    pub reject: u32,
}

/// Displacements in `struct xdp_md`.
pub(super) mod xdp {
    pub(in crate::backend::ebpf) const DATA: i16 = 0;
    pub(in crate::backend::ebpf) const DATA_END: i16 = 4;
    pub(in crate::backend::ebpf) const INGRESS_IFINDEX: i16 = 12;
    pub(in crate::backend::ebpf) const RX_QUEUE_INDEX: i16 = 16;
}

/// Displacements in `struct __sk_buff`.
pub(super) mod skb {
    pub(in crate::backend::ebpf) const LEN: i16 = 0;
    pub(in crate::backend::ebpf) const PKT_TYPE: i16 = 4;
    pub(in crate::backend::ebpf) const QUEUE_MAPPING: i16 = 12;
    pub(in crate::backend::ebpf) const VLAN_PRESENT: i16 = 20;
    pub(in crate::backend::ebpf) const VLAN_TCI: i16 = 24;
    pub(in crate::backend::ebpf) const IFINDEX: i16 = 40;
    pub(in crate::backend::ebpf) const DATA: i16 = 76;
    pub(in crate::backend::ebpf) const DATA_END: i16 = 80;
}

/// The start of a program: sets the registers that fragments expect, from the context in `R1`.
///
/// At tc, makes `direct_bytes` (the maximum of all fragments) directly readable if the packet has
/// them. `labels` are two unused labels.
///
/// # Privileges
/// At tc the verifier requires `CAP_PERFMON`, because the code subtracts two packet addresses.
pub fn prologue<M>(at: FilterTarget, direct_bytes: u16, labels: [Label; 2]) -> Vec<Insn<M>> {
    let mut code = vec![Insn::mov(CONTEXT, Reg::R1)];
    if at == FilterTarget::Xdp {
        code.extend(addresses(xdp::DATA, xdp::DATA_END));
        return code;
    }
    code.extend(addresses(skb::DATA, skb::DATA_END));
    if direct_bytes == 0 {
        return code;
    }
    let [ready, pull] = labels;
    let wanted = i32::from(direct_bytes);
    code.extend([
        Insn::mov(Reg::R0, DATA_END),
        Insn::alu64(Alu::Sub, Reg::R0, DATA),
        Insn::jump_if(Condition::GreaterOrEqual, Reg::R0, wanted, ready),
        Insn::load(Size::Word, Reg::R2, CONTEXT, skb::LEN),
        // A short packet that is entirely readable needs no call.
        Insn::jump_if(Condition::LessOrEqual, Reg::R2, Reg::R0, ready),
        Insn::jump_if(Condition::LessOrEqual, Reg::R2, wanted, pull),
        Insn::mov32(Reg::R2, wanted),
        Insn::Place(pull),
        Insn::mov(Reg::R1, CONTEXT),
        // If the call fails, the bytes stay unreadable, and code that needs them rejects the
        // packet.
        Insn::Call(Helper::SkbPullData),
    ]);
    code.extend(addresses(skb::DATA, skb::DATA_END));
    code.push(Insn::Place(ready));
    code
}

fn addresses<M>(data: i16, data_end: i16) -> [Insn<M>; 2] {
    [
        Insn::load(Size::Word, DATA, CONTEXT, data),
        Insn::load(Size::Word, DATA_END, CONTEXT, data_end),
    ]
}
