use super::fragment::Fragment;
use super::insn::{Insn, Label};
use super::operand::{Alu, Condition, Helper, Reg, Size};
use crate::graph::sets::SetId;
use crate::options::At;

pub(super) const CONTEXT: Reg = Reg::R6;
pub(super) const DATA: Reg = Reg::R7;
pub(super) const DATA_END: Reg = Reg::R8;

/// What a program returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdicts {
    /// For packets that the filter accepts.
    pub accept: u32,
    /// For packets that it refuses.
    pub reject: u32,
}

/// Displacements in `struct xdp_md`.
pub(super) mod xdp {
    pub(in crate::ebpf) const DATA: i16 = 0;
    pub(in crate::ebpf) const DATA_END: i16 = 4;
    pub(in crate::ebpf) const INGRESS_IFINDEX: i16 = 12;
    pub(in crate::ebpf) const RX_QUEUE_INDEX: i16 = 16;
}

/// Displacements in `struct __sk_buff`.
pub(super) mod skb {
    pub(in crate::ebpf) const LEN: i16 = 0;
    pub(in crate::ebpf) const PKT_TYPE: i16 = 4;
    pub(in crate::ebpf) const QUEUE_MAPPING: i16 = 12;
    pub(in crate::ebpf) const VLAN_PRESENT: i16 = 20;
    pub(in crate::ebpf) const VLAN_TCI: i16 = 24;
    pub(in crate::ebpf) const IFINDEX: i16 = 40;
    pub(in crate::ebpf) const DATA: i16 = 76;
    pub(in crate::ebpf) const DATA_END: i16 = 80;
}

/// The beginning of a program: sets the registers that fragments expect, from the context in `R1`.
///
/// At tc, `direct_bytes` (the most that one of the fragments has) are made directly readable if the
/// packet has them; `labels` are two that nothing else has a place for.
///
/// # Privileges
/// At tc the verifier asks for `CAP_PERFMON`, because of the difference of two packet addresses.
pub fn prologue<M>(at: At, direct_bytes: u16, labels: [Label; 2]) -> Vec<Insn<M>> {
    let mut code = vec![Insn::mov(CONTEXT, Reg::R1)];
    if at == At::Xdp {
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
        // A short packet that is whole needs no help.
        Insn::jump_if(Condition::LessOrEqual, Reg::R2, Reg::R0, ready),
        Insn::jump_if(Condition::LessOrEqual, Reg::R2, wanted, pull),
        Insn::mov32(Reg::R2, wanted),
        Insn::Place(pull),
        Insn::mov(Reg::R1, CONTEXT),
        // Without success the bytes stay out of reach, and what asks for them refuses.
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

/// The fragment between a prologue and the two ends.
pub(super) fn whole(fragment: &Fragment, verdicts: Verdicts) -> Vec<Insn<SetId>> {
    let labels = [Label(fragment.labels), Label(fragment.labels + 1)];
    let mut code = prologue(fragment.at, fragment.direct_bytes, labels);
    code.extend(fragment.code.iter().copied());
    let mut ends = [
        (Fragment::ACCEPT, verdicts.accept),
        (Fragment::REJECT, verdicts.reject),
    ];
    // The last jump needs no instruction if its end comes next.
    if let Some(Insn::Jump { target }) = code.last() {
        if *target == Fragment::REJECT {
            ends.reverse();
        }
        if *target == ends[0].0 {
            code.pop();
        }
    }
    for (at, (label, verdict)) in ends.into_iter().enumerate() {
        // The verifier refuses what nothing leads to.
        let is_reached = at == 0 || code.iter().any(|insn| insn.target() == Some(label));
        if is_reached {
            code.extend([
                Insn::Place(label),
                Insn::mov32(Reg::R0, verdict.cast_signed()),
                Insn::Exit,
            ]);
        }
    }
    code
}
