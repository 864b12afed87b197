//! Listings of eBPF programs.

use crate::backend::ebpf::insn::{Alu, Condition, Helper, Insn, Label, Operand, Reg, Size, Width};
use std::collections::HashMap;
use std::fmt;

/// A listing in the notation of the kernel's verifier, one instruction a line: `r0 = *(u16 *)(r7 +
/// 12)`. Line numbers are slots; a map load takes two.
pub struct EbpfListing<'a, M>(pub &'a [Insn<M>]);

impl<M: fmt::Display> fmt::Display for EbpfListing<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut places = HashMap::new();
        let mut slot = 0;
        for insn in self.0 {
            if let Insn::Place(label) = insn {
                places.insert(*label, slot);
            }
            slot += insn.slots();
        }
        let mut slot = 0;
        for insn in self.0 {
            if insn.slots() > 0 {
                write!(f, "{slot:4}: ")?;
                write_insn(f, insn, &places)?;
                writeln!(f)?;
            }
            slot += insn.slots();
        }
        Ok(())
    }
}

fn write_insn<M: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    insn: &Insn<M>,
    places: &HashMap<Label, usize>,
) -> fmt::Result {
    match insn {
        Insn::Alu {
            op: Alu::Mov,
            width,
            dst,
            src,
        } => write!(f, "{} = {}", named(*width, *dst), Source(*width, *src)),
        Insn::Alu {
            op,
            width,
            dst,
            src,
        } => {
            let (dst, src) = (named(*width, *dst), Source(*width, *src));
            write!(f, "{dst} {}= {src}", sign(*op))
        }
        Insn::Negate { width, dst } => {
            let dst = named(*width, *dst);
            write!(f, "{dst} = -{dst}")
        }
        Insn::Be16ToHost { dst } => write!(f, "{dst} = be16 {dst}"),
        Insn::Be32ToHost { dst } => write!(f, "{dst} = be32 {dst}"),
        Insn::HostToBe64 { dst } => write!(f, "{dst} = be64 {dst}"),
        Insn::Load {
            size,
            dst,
            base,
            offset,
        } => write!(f, "{dst} = {}", Memory(*size, *base, *offset)),
        Insn::Store {
            size,
            base,
            offset,
            src,
        } => {
            let (memory, src) = (Memory(*size, *base, *offset), Source(Width::W64, *src));
            write!(f, "{memory} = {src}")
        }
        Insn::AtomicAdd { base, offset, src } => {
            let memory = Memory(Size::Double, *base, *offset);
            write!(f, "lock {memory} += {src}")
        }
        Insn::AtomicCompareExchange { base, offset, src } => {
            let memory = Memory(Size::Double, *base, *offset);
            write!(f, "r0 = cmpxchg({memory}, r0, {src})")
        }
        Insn::AtomicFetchOr { base, offset, src } => {
            let memory = Memory(Size::Double, *base, *offset);
            write!(f, "{src} = fetch_or({memory}, {src})")
        }
        Insn::LoadMap { dst, map } => write!(f, "{dst} = map[{map}]"),
        Insn::LoadMapValue { dst, map } => write!(f, "{dst} = map[{map}][0]"),
        Insn::LoadPacket { size, offset } => {
            write!(f, "r0 = *({} *)skb[{offset}]", bits(*size))
        }
        Insn::LoadPacketAt {
            size,
            index,
            offset,
        } => write!(f, "r0 = *({} *)skb[{index} + {offset}]", bits(*size)),
        Insn::Jump { target } => write!(f, "goto {}", Target(places, *target)),
        Insn::JumpIf {
            condition,
            width,
            dst,
            src,
            target,
        } => {
            let (dst, src) = (named(*width, *dst), Source(*width, *src));
            let relation = relation(*condition);
            let target = Target(places, *target);
            write!(f, "if {dst} {relation} {src} goto {target}")
        }
        Insn::Call(helper) => write!(f, "call {}", helper_name(*helper)),
        Insn::CallKernel { function } => write!(f, "call kernel#{function}"),
        Insn::Exit => f.write_str("exit"),
        Insn::Place(_) => Ok(()),
    }
}

/// The register's name for this width: `w1` is the low half of `r1`.
fn named(width: Width, reg: Reg) -> String {
    match width {
        Width::W32 => format!("w{}", reg as u8),
        Width::W64 => reg.to_string(),
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", *self as u8)
    }
}

struct Source(Width, Operand);

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (width, Operand::Reg(reg)) => f.write_str(&named(width, reg)),
            (_, Operand::Imm(value @ -255..=255)) => write!(f, "{value}"),
            (_, Operand::Imm(value)) => write!(f, "{value:#x}"),
        }
    }
}

struct Memory(Size, Reg, i16);

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(size, base, offset) = self;
        let sign = if *offset < 0 { '-' } else { '+' };
        let offset = offset.unsigned_abs();
        write!(f, "*({} *)({base} {sign} {offset})", bits(*size))
    }
}

struct Target<'a>(&'a HashMap<Label, usize>, Label);

impl fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.1, self.0.get(&self.1)) {
            (_, Some(slot)) => write!(f, "{slot}"),
            // Exits of a fragment.
            (crate::backend::ebpf::fragment::Fragment::ACCEPT, None) => f.write_str("accept"),
            (crate::backend::ebpf::fragment::Fragment::REJECT, None) => f.write_str("reject"),
            (Label(number), None) => write!(f, "label {number}"),
        }
    }
}

fn bits(size: Size) -> &'static str {
    match size {
        Size::Byte => "u8",
        Size::Half => "u16",
        Size::Word => "u32",
        Size::Double => "u64",
    }
}

fn sign(op: Alu) -> &'static str {
    match op {
        Alu::Add => "+",
        Alu::Sub => "-",
        Alu::Mul => "*",
        Alu::Div => "/",
        Alu::Or => "|",
        Alu::And => "&",
        Alu::Lsh => "<<",
        Alu::Rsh => ">>",
        Alu::Mod => "%",
        Alu::Xor => "^",
        Alu::Mov => "",
    }
}

fn relation(condition: Condition) -> &'static str {
    match condition {
        Condition::Equal => "==",
        Condition::Greater => ">",
        Condition::GreaterOrEqual => ">=",
        Condition::AnyBitSet => "&",
        Condition::NotEqual => "!=",
        Condition::Less => "<",
        Condition::LessOrEqual => "<=",
    }
}

fn helper_name(helper: Helper) -> &'static str {
    match helper {
        Helper::MapLookupElem => "bpf_map_lookup_elem",
        Helper::MapUpdateElem => "bpf_map_update_elem",
        Helper::KtimeGetNs => "bpf_ktime_get_ns",
        Helper::GetPrandomU32 => "bpf_get_prandom_u32",
        Helper::GetSmpProcessorId => "bpf_get_smp_processor_id",
        Helper::Redirect => "bpf_redirect",
        Helper::SkbLoadBytes => "bpf_skb_load_bytes",
        Helper::SkbPullData => "bpf_skb_pull_data",
        Helper::RedirectMap => "bpf_redirect_map",
        Helper::XdpAdjustMeta => "bpf_xdp_adjust_meta",
        Helper::RingbufOutput => "bpf_ringbuf_output",
        Helper::XdpGetBuffLen => "bpf_xdp_get_buff_len",
        Helper::XdpLoadBytes => "bpf_xdp_load_bytes",
        Helper::SpinLock => "bpf_spin_lock",
        Helper::SpinUnlock => "bpf_spin_unlock",
        Helper::XdpStoreBytes => "bpf_xdp_store_bytes",
        Helper::XdpAdjustTail => "bpf_xdp_adjust_tail",
        Helper::SkbLoadBytesRelative => "bpf_skb_load_bytes_relative",
        Helper::TailCall => "bpf_tail_call",
        Helper::Jiffies64 => "bpf_jiffies64",
        Helper::XdpAdjustHead => "bpf_xdp_adjust_head",
    }
}
