//! eBPF code for values: registers, spilling and variables.

use crate::backend::ebpf::codegen::writer::{FragmentWriter, REJECT, place};
use crate::backend::ebpf::context::{CONTEXT, DATA, DATA_END, skb, xdp};
use crate::backend::ebpf::insn::{Alu, Condition, Insn, Reg, Size};
use crate::classic::Ancillary;
use crate::error::FilterErrorReason;
use crate::graph::values::{Value, ValueId, Variable, Width};
use crate::language::tree::Operator;
use crate::options::FilterTarget;

/// With this many registers every value can be computed, with spilling.
const ENOUGH: u8 = 3;

impl FragmentWriter {
    /// A register that holds `value`; the caller must not write it.
    pub(super) fn compute(&mut self, value: ValueId) -> Result<Reg, FilterErrorReason> {
        if let Some(register) = self.state.holder(value) {
            return Ok(register);
        }
        let register = match self.values.get(value) {
            Value::Constant(constant) => {
                let dst = self.free()?;
                self.push(Insn::mov32(dst, constant.cast_signed()));
                dst
            }
            Value::Length => self.length()?,
            Value::Load {
                width,
                base: None,
                offset,
            } => self.load(width, offset)?,
            Value::Load {
                width,
                base: Some(base),
                offset,
            } => self.load_at(width, base, offset)?,
            Value::Ancillary(_, offset) => {
                let field = self.field(offset)?;
                let dst = self.free()?;
                self.push(Insn::load(Size::Word, dst, CONTEXT, field));
                dst
            }
            Value::HeaderLength(offset) => {
                let dst = self.load(Width::Byte, offset)?;
                self.push(Insn::alu32(Alu::And, dst, 15));
                self.push(Insn::alu32(Alu::Lsh, dst, 2));
                dst
            }
            Value::Variable(variable) => {
                let dst = self.free()?;
                let slot = slot_of(variable);
                self.push(Insn::load(Size::Double, dst, Reg::R10, slot));
                self.obscure(dst);
                dst
            }
            Value::Negate(operand) => {
                let operand_in = self.compute(operand)?;
                let dst = self.own(operand, operand_in)?;
                self.push(Insn::Negate {
                    width: crate::backend::ebpf::insn::Width::W32,
                    dst,
                });
                dst
            }
            Value::Binary(operator, left, right) => self.binary(operator, left, right)?,
        };
        self.hold(register, value);
        Ok(register)
    }

    /// Gives `variable` the value.
    pub(super) fn set(
        &mut self,
        variable: Variable,
        value: ValueId,
    ) -> Result<(), FilterErrorReason> {
        let mut register = self.compute(value)?;
        if self.hides_ranges {
            register = self.own(value, register)?;
            self.obscure(register);
        }
        let slot = slot_of(variable);
        self.push(Insn::store(Size::Double, Reg::R10, slot, register));
        self.state.forget(&self.values, variable);
        let variable = self.values.variable(variable);
        self.hold(register, variable);
        Ok(())
    }

    /// In a filter with many paths, hides the value range of `register` and its link to a variable
    /// from the verifier. Otherwise it would track the variable separately on each path, and verify
    /// the rest of the filter once for each.
    fn obscure(&mut self, register: Reg) {
        if self.hides_ranges {
            // Swapping the bytes twice restores the value.
            self.push(Insn::Be32ToHost { dst: register });
            self.push(Insn::Be32ToHost { dst: register });
        }
    }

    /// Registers that hold both values; the caller must not write them.
    pub(super) fn pair(
        &mut self,
        left: ValueId,
        right: ValueId,
    ) -> Result<(Reg, Reg), FilterErrorReason> {
        let is_swapped = self.analysis.registers(right) > self.analysis.registers(left);
        let (first, second) = if is_swapped {
            (right, left)
        } else {
            (left, right)
        };
        let mut first_in = self.compute(first)?;
        self.pin(first_in);
        let second_in;
        if self.unpinned() < self.analysis.registers(second).min(ENOUGH) {
            let slot = self.stack.borrow()?;
            self.push(Insn::store(Size::Double, Reg::R10, slot, first_in));
            self.unpin(first_in);
            second_in = self.compute(second)?;
            self.pin(second_in);
            first_in = self.free()?;
            self.push(Insn::load(Size::Double, first_in, Reg::R10, slot));
            self.hold(first_in, first);
            self.unpin(second_in);
            self.stack.give_back();
        } else {
            second_in = self.compute(second)?;
            self.unpin(first_in);
        }
        Ok(if is_swapped {
            (second_in, first_in)
        } else {
            (first_in, second_in)
        })
    }

    /// A register that holds the same value and that the caller may write.
    pub(super) fn own(&mut self, value: ValueId, register: Reg) -> Result<Reg, FilterErrorReason> {
        if self.analysis.is_used_once(value) {
            self.state.held[place(register)] = None;
            return Ok(register);
        }
        let was_pinned = self.pinned;
        self.pin(register);
        let dst = self.free()?;
        self.pinned = was_pinned;
        self.push(Insn::mov32(dst, register));
        Ok(dst)
    }

    fn binary(
        &mut self,
        operator: Operator,
        left: ValueId,
        right: ValueId,
    ) -> Result<Reg, FilterErrorReason> {
        let alu = alu(operator);
        if let Some(constant) = self.values.as_constant(right) {
            // As in the kernel, a shift uses the low five bits.
            let constant = match operator {
                Operator::ShiftLeft | Operator::ShiftRight => constant & 31,
                _ => constant,
            };
            let left_in = self.compute(left)?;
            let dst = self.own(left, left_in)?;
            self.push(Insn::alu32(alu, dst, constant.cast_signed()));
            return Ok(dst);
        }
        let (left_in, right_in) = self.pair(left, right)?;
        let was_pinned = self.pinned;
        self.pin(right_in);
        let dst = self.own(left, left_in)?;
        self.pinned = was_pinned;
        if matches!(operator, Operator::Divide | Operator::Modulo) {
            self.push(Insn::jump_if32(Condition::Equal, right_in, 0, REJECT));
        }
        self.push(Insn::alu32(alu, dst, right_in));
        Ok(dst)
    }

    fn length(&mut self) -> Result<Reg, FilterErrorReason> {
        let dst = self.free()?;
        if self.at == FilterTarget::Xdp {
            self.push(Insn::mov(dst, DATA_END));
            self.push(Insn::alu64(Alu::Sub, dst, DATA));
        } else {
            self.push(Insn::load(Size::Word, dst, CONTEXT, skb::LEN));
        }
        Ok(dst)
    }

    /// The context field for the ancillary value at `offset`.
    fn field(&self, offset: u32) -> Result<i16, FilterErrorReason> {
        let target = self.at;
        let unknown = |what| FilterErrorReason::NotAvailable { what, target };
        let (what, in_xdp, in_skb) = match offset {
            Ancillary::PACKET_TYPE => ("packet type", None, skb::PKT_TYPE),
            Ancillary::INTERFACE_INDEX => ("ifindex", Some(xdp::INGRESS_IFINDEX), skb::IFINDEX),
            Ancillary::QUEUE => ("queue", Some(xdp::RX_QUEUE_INDEX), skb::QUEUE_MAPPING),
            Ancillary::VLAN_TAG => ("VLAN tag metadata", None, skb::VLAN_TCI),
            Ancillary::VLAN_TAG_PRESENT => ("VLAN tag metadata", None, skb::VLAN_PRESENT),
            _ => return Err(unknown("metadata")),
        };
        match target {
            FilterTarget::Xdp => in_xdp.ok_or(unknown(what)),
            _ => Ok(in_skb),
        }
    }
}

fn slot_of(variable: Variable) -> i16 {
    -8 * (i16::from(variable.0) + 1)
}

fn alu(operator: Operator) -> Alu {
    match operator {
        Operator::Add => Alu::Add,
        Operator::Subtract => Alu::Sub,
        Operator::Multiply => Alu::Mul,
        Operator::Divide => Alu::Div,
        Operator::Modulo => Alu::Mod,
        Operator::And => Alu::And,
        Operator::Or => Alu::Or,
        Operator::Xor => Alu::Xor,
        Operator::ShiftLeft => Alu::Lsh,
        Operator::ShiftRight => Alu::Rsh,
    }
}
