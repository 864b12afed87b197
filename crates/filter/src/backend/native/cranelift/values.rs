//! Native code for values and loads from the packet.

use crate::backend::native::cranelift::required_bytes::{bytes, wraps};
use crate::backend::native::cranelift::writer::{Form, FunctionWriter, plain};
use crate::backend::native::program::PacketMetadata;
use crate::classic::Ancillary;
use crate::graph::values::{Value, ValueId, Width};
use crate::language::tree::Operator;
use cranelift_codegen::ir;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, types};
use std::mem::offset_of;

impl FunctionWriter<'_, '_> {
    /// The value, 32 bits. Also writes the code that rejects packets without it.
    pub(super) fn number(&mut self, id: ValueId) -> ir::Value {
        let value = self.input.filter.values.get(id);
        match value {
            Value::Constant(constant) => return self.constant(constant),
            Value::Length => return self.packet.original_len,
            Value::Variable(variable) => {
                let variable = self.variable(variable);
                return self.builder.use_var(variable);
            }
            _ => {}
        }
        if let Some(kept) = self.state.kept(id, Form::Number) {
            return kept;
        }
        let number = match value {
            Value::Load { width, .. } => {
                let loaded = self.loaded(id);
                self.swapped(loaded, width)
            }
            Value::Ancillary(_, offset) => self.metadata(offset),
            Value::HeaderLength(offset) => {
                self.need_fixed(u64::from(offset) + 1);
                let byte = self.at(Width::Byte, self.packet.start, offset);
                let words = self.builder.ins().band_imm_u(byte, 15);
                self.builder.ins().ishl_imm_u(words, 2)
            }
            Value::Negate(operand) => {
                let operand = self.number(operand);
                self.builder.ins().ineg(operand)
            }
            Value::Binary(operator, left, right) => {
                let (left, right) = (self.number(left), self.number(right));
                self.compute(operator, left, right)
            }
            Value::Constant(_) | Value::Length | Value::Variable(_) => return self.constant(0),
        };
        self.state.keep(id, Form::Number, number);
        number
    }

    /// The bytes of a load in host load order, 32 bits.
    pub(super) fn loaded(&mut self, id: ValueId) -> ir::Value {
        let Value::Load {
            width,
            base,
            offset,
        } = self.input.filter.values.get(id)
        else {
            return self.number(id);
        };
        if let Some(kept) = self.state.kept(id, Form::Loaded) {
            return kept;
        }
        let loaded = match base {
            None => {
                self.need_fixed(u64::from(offset) + bytes(width));
                self.at(width, self.packet.start, offset)
            }
            Some(base) if wraps(&self.input.filter.values, base, offset) => {
                let base = self.number(base);
                let at = self.builder.ins().iadd_imm_u(base, i64::from(offset));
                let at = self.builder.ins().uextend(types::I64, at);
                let end = self
                    .builder
                    .ins()
                    .iadd_imm_u(at, bytes(width).cast_signed());
                self.reject_behind(end);
                let address = self.builder.ins().iadd(self.packet.start, at);
                self.at(width, address, 0)
            }
            Some(base) => {
                let wide = self.wide(base);
                self.need_based(base, wide, u64::from(offset) + bytes(width));
                let address = self.builder.ins().iadd(self.packet.start, wide);
                self.at(width, address, offset)
            }
        };
        self.state.keep(id, Form::Loaded, loaded);
        loaded
    }

    pub(super) fn wide(&mut self, id: ValueId) -> ir::Value {
        if let Some(kept) = self.state.kept(id, Form::Wide) {
            return kept;
        }
        let number = self.number(id);
        let wide = self.builder.ins().uextend(types::I64, number);
        self.state.keep(id, Form::Wide, wide);
        wide
    }

    fn at(&mut self, width: Width, address: ir::Value, offset: u32) -> ir::Value {
        let (address, offset) = match i32::try_from(offset) {
            Ok(offset) => (address, offset),
            Err(_) => (self.builder.ins().iadd_imm_u(address, i64::from(offset)), 0),
        };
        let ins = self.builder.ins();
        match width {
            Width::Byte => ins.uload8(types::I32, plain(), address, offset),
            Width::Half => ins.uload16(types::I32, plain(), address, offset),
            Width::Word => ins.load(types::I32, plain(), address, offset),
        }
    }

    /// Converts from host load order to a number, or back.
    fn swapped(&mut self, loaded: ir::Value, width: Width) -> ir::Value {
        match width {
            Width::Byte => loaded,
            Width::Half => {
                let high = self.builder.ins().bswap(loaded);
                self.builder.ins().ushr_imm_u(high, 16)
            }
            Width::Word => self.builder.ins().bswap(loaded),
        }
    }

    /// Rejects packets with fewer bytes, and those too short for every accepting path.
    fn need_fixed(&mut self, bytes: u64) {
        if self.state.bytes >= bytes {
            return;
        }
        let bytes = bytes.max(self.input.need.fixed(self.node));
        let is_shorter = self.is_shorter(bytes);
        self.reject_if(is_shorter);
        self.state.bytes = bytes;
    }

    /// The same as [`FunctionWriter::need_fixed`], for bytes after `base`, whose 64-bit form is
    /// `wide`.
    fn need_based(&mut self, base: ValueId, wide: ir::Value, bytes: u64) {
        if self.state.has_based(wide, bytes) {
            return;
        }
        let bytes = bytes.max(self.input.need.based(self.node, base));
        let end = self.builder.ins().iadd_imm_u(wide, bytes.cast_signed());
        self.reject_behind(end);
        self.state.learn_based(wide, bytes);
    }

    fn reject_behind(&mut self, end: ir::Value) {
        let compare = IntCC::UnsignedGreaterThan;
        let is_behind = self.builder.ins().icmp(compare, end, self.packet.bytes);
        self.reject_if(is_behind);
    }

    fn compute(&mut self, operator: Operator, left: ir::Value, right: ir::Value) -> ir::Value {
        if let Operator::Divide | Operator::Modulo = operator {
            let is_zero = self.builder.ins().icmp_imm_u(IntCC::Equal, right, 0);
            self.reject_if(is_zero);
        }
        let ins = self.builder.ins();
        match operator {
            Operator::Add => ins.iadd(left, right),
            Operator::Subtract => ins.isub(left, right),
            Operator::Multiply => ins.imul(left, right),
            Operator::Divide => ins.udiv(left, right),
            Operator::Modulo => ins.urem(left, right),
            Operator::And => ins.band(left, right),
            Operator::Or => ins.bor(left, right),
            Operator::Xor => ins.bxor(left, right),
            // Both use the low five bits, as in the kernel.
            Operator::ShiftLeft => ins.ishl(left, right),
            Operator::ShiftRight => ins.ushr(left, right),
        }
    }

    /// Loads metadata.
    fn metadata(&mut self, offset: u32) -> ir::Value {
        let (known, field) = match offset {
            Ancillary::PACKET_TYPE => (
                PacketMetadata::PACKET_TYPE,
                offset_of!(PacketMetadata, packet_type),
            ),
            Ancillary::INTERFACE_INDEX => (
                PacketMetadata::INTERFACE_INDEX,
                offset_of!(PacketMetadata, interface_index),
            ),
            Ancillary::QUEUE => (PacketMetadata::QUEUE, offset_of!(PacketMetadata, queue)),
            Ancillary::VLAN_TAG => (0, offset_of!(PacketMetadata, vlan_tag)),
            Ancillary::VLAN_TAG_PRESENT => (0, offset_of!(PacketMetadata, has_vlan_tag)),
            Ancillary::XOR_X => return self.constant(0),
            _ => {
                // Never known. The code after this is unreachable.
                let always = self.constant(1);
                self.reject_if(always);
                return always;
            }
        };
        if known != 0 {
            let all = self.field(offset_of!(PacketMetadata, known));
            let bit = self.builder.ins().band_imm_u(all, i64::from(known));
            let is_unknown = self.builder.ins().icmp_imm_u(IntCC::Equal, bit, 0);
            self.reject_if(is_unknown);
        }
        self.field(field)
    }

    fn field(&mut self, offset: usize) -> ir::Value {
        let metadata = self.packet.metadata;
        let ins = self.builder.ins();
        ins.load(types::I32, plain(), metadata, offset.cast_signed() as i32)
    }
}
