//! eBPF code for loads from the packet, with their bounds checks.

use crate::backend::ebpf::codegen::analysis::{MAX_REACH, end, width_bytes};
use crate::backend::ebpf::codegen::writer::{FragmentWriter, Pointer, REGISTERS, REJECT};
use crate::backend::ebpf::context::{CONTEXT, DATA, DATA_END};
use crate::backend::ebpf::insn::{Alu, Condition, Helper, Insn, Label, Reg, Size};
use crate::error::FilterErrorReason;
use crate::graph::sets::SetId;
use crate::graph::values::{Value, ValueId, Width};
use crate::language::tree::Operator;
use crate::options::FilterTarget;

/// The register of the packet pointer.
const POINTER: Reg = Reg::R9;
/// Maximum displacement in an instruction.
const MAX_DISPLACEMENT: u32 = 0x7fff;
/// Maximum variable offset. It leaves room for loads after it below the verifier's bound. With
/// pages of up to 64 KiB, the linear part of a frame is shorter, because of headroom and
/// `skb_shared_info`.
const MAX_OFFSET: u32 = 0xff00;

impl FragmentWriter {
    /// A new register with the bytes at a fixed offset.
    pub(super) fn load(&mut self, width: Width, offset: u32) -> Result<Reg, FilterErrorReason> {
        let dst = self.free()?;
        if !self.analysis.is_direct(width, offset) {
            self.push(Insn::mov32(dst, offset.cast_signed()));
            return self.load_or_call(width, dst);
        }
        let end = end(width, offset);
        if self.state.proven < end {
            let needed = self.needed.max(end);
            self.check(dst, DATA, needed);
            self.state.proven = needed;
        }
        if offset > MAX_DISPLACEMENT {
            self.state.pointer = None;
            self.push(Insn::mov(POINTER, DATA));
            self.push(Insn::add(POINTER, offset.cast_signed()));
            self.read(width, dst, POINTER, 0);
        } else {
            self.read(width, dst, DATA, offset as i16);
        }
        Ok(dst)
    }

    /// A new register with the bytes at `base + offset` (32-bit sum).
    pub(super) fn load_at(
        &mut self,
        width: Width,
        base: ValueId,
        offset: u32,
    ) -> Result<Reg, FilterErrorReason> {
        if self.at != FilterTarget::Xdp {
            let dst = self.sum(base, offset)?;
            return self.load_or_call(width, dst);
        }
        let bytes = width_bytes(width);
        let origin = match self.state.pointer {
            Some(pointer) if pointer.base == base && reaches(pointer.origin, offset, bytes) => {
                pointer.origin
            }
            _ => self.point(base, offset, bytes)?,
        };
        let displacement = offset.wrapping_sub(origin);
        let dst = self.free()?;
        let end = displacement + bytes;
        if let Some(pointer) = &mut self.state.pointer
            && pointer.proven < end
        {
            pointer.proven = end;
            self.check(dst, POINTER, end);
        }
        self.read(width, dst, POINTER, displacement as i16);
        Ok(dst)
    }

    /// Points `R9` to `base`, or to `base + offset`; returns the origin.
    fn point(&mut self, base: ValueId, offset: u32, bytes: u32) -> Result<u32, FilterErrorReason> {
        self.state.pointer = None;
        let most = self.most(base);
        let is_near = most.saturating_add(offset).saturating_add(bytes) <= MAX_OFFSET
            && offset + bytes <= MAX_DISPLACEMENT;
        let origin = if is_near {
            let base_in = self.compute(base)?;
            self.push(Insn::mov(POINTER, DATA));
            self.push(Insn::alu64(Alu::Add, POINTER, base_in));
            0
        } else if self.is_header(base) && offset.saturating_add(bytes) <= MAX_REACH - MAX_OFFSET {
            // The pointer to the start of the header serves all its fields.
            let base_in = self.compute(base)?;
            let most = MAX_OFFSET.cast_signed();
            self.push(Insn::jump_if(Condition::Greater, base_in, most, REJECT));
            self.push(Insn::mov(POINTER, DATA));
            self.push(Insn::alu64(Alu::Add, POINTER, base_in));
            0
        } else {
            let sum = self.sum(base, offset)?;
            let most = MAX_OFFSET.cast_signed();
            self.push(Insn::jump_if(Condition::Greater, sum, most, REJECT));
            self.push(Insn::mov(POINTER, DATA));
            self.push(Insn::alu64(Alu::Add, POINTER, sum));
            offset
        };
        self.state.pointer = Some(Pointer {
            base,
            origin,
            proven: 0,
        });
        Ok(origin)
    }

    /// Whether it is a variable: the offset of a header, which is never negative.
    fn is_header(&self, base: ValueId) -> bool {
        matches!(self.values.get(base), Value::Variable(_))
    }

    /// A register with `base + offset` that the caller may write.
    fn sum(&mut self, base: ValueId, offset: u32) -> Result<Reg, FilterErrorReason> {
        let base_in = self.compute(base)?;
        let dst = self.own(base, base_in)?;
        if offset != 0 {
            self.push(Insn::alu32(Alu::Add, dst, offset.cast_signed()));
        }
        Ok(dst)
    }

    /// At tc: replaces the offset in `dst` by the bytes there. Calls a helper if they are not in
    /// the linear part.
    fn load_or_call(&mut self, width: Width, dst: Reg) -> Result<Reg, FilterErrorReason> {
        self.pin(dst);
        let end = self.free()?;
        self.unpin(dst);
        self.state.pointer = None;
        let (call, done) = (self.new_label(), self.new_label());
        if self.hides_ranges {
            self.push(Insn::Jump { target: call });
        } else {
            let most = MAX_OFFSET.cast_signed();
            self.push(Insn::jump_if(Condition::Greater, dst, most, call));
            self.push(Insn::mov(POINTER, DATA));
            self.push(Insn::alu64(Alu::Add, POINTER, dst));
            self.push(Insn::mov(end, POINTER));
            self.push(Insn::add(end, width_bytes(width).cast_signed()));
            self.push(Insn::jump_if(Condition::Greater, end, DATA_END, call));
            self.push(Insn::load(size(width), dst, POINTER, 0));
        }
        self.push(Insn::Place(done));
        self.swap(width, dst);
        self.call_aside(width, dst, [call, done]);
        Ok(dst)
    }

    /// The slow path: calls the helper for the bytes at the offset in `dst`.
    fn call_aside(&mut self, width: Width, dst: Reg, [call, done]: [Label; 2]) {
        let buffer = self.stack.buffer;
        // Pinned registers are live even if they hold no tracked value.
        let slots = (self.stack.saved..).step_by(8);
        let live: Vec<(Reg, i16)> = (REGISTERS.iter().enumerate().zip(slots))
            .filter(|&((at, &register), _)| {
                let is_in_use = self.state.held[at].is_some() || self.pinned & 1 << at != 0;
                is_in_use && register != dst
            })
            .map(|((_, &register), slot)| (register, slot))
            .collect();
        let mut code: Vec<Insn<SetId>> = vec![Insn::Place(call)];
        let save =
            |&(register, slot): &(Reg, i16)| Insn::store(Size::Double, Reg::R10, slot, register);
        code.extend(live.iter().map(save));
        code.extend([
            Insn::mov(Reg::R2, dst),
            Insn::mov(Reg::R1, CONTEXT),
            Insn::mov(Reg::R3, Reg::R10),
            Insn::add(Reg::R3, i32::from(buffer)),
            Insn::mov32(Reg::R4, width_bytes(width).cast_signed()),
            Insn::Call(Helper::SkbLoadBytes),
            Insn::jump_if(Condition::NotEqual, Reg::R0, 0, REJECT),
            Insn::load(size(width), dst, Reg::R10, buffer),
        ]);
        let restore =
            |&(register, slot): &(Reg, i16)| Insn::load(Size::Double, register, Reg::R10, slot);
        code.extend(live.iter().map(restore));
        code.push(Insn::Jump { target: done });
        self.aside.append(&mut code);
    }

    /// Rejects the packet if it has fewer than `bytes` bytes after `pointer`.
    fn check(&mut self, scratch: Reg, pointer: Reg, bytes: u32) {
        self.push(Insn::mov(scratch, pointer));
        self.push(Insn::add(scratch, bytes.cast_signed()));
        self.push(Insn::jump_if(Condition::Greater, scratch, DATA_END, REJECT));
    }

    fn read(&mut self, width: Width, dst: Reg, pointer: Reg, displacement: i16) {
        self.push(Insn::load(size(width), dst, pointer, displacement));
        self.swap(width, dst);
    }

    fn swap(&mut self, width: Width, dst: Reg) {
        match width {
            Width::Byte => {}
            Width::Half => self.push(Insn::Be16ToHost { dst }),
            Width::Word => self.push(Insn::Be32ToHost { dst }),
        }
    }

    /// The upper bound of the value that the verifier can prove.
    fn most(&self, value: ValueId) -> u32 {
        match self.values.get(value) {
            Value::Constant(constant) => constant,
            Value::HeaderLength(_) => 60,
            Value::Load {
                width: Width::Byte, ..
            } => 255,
            Value::Binary(Operator::And, left, right) => self.most(left).min(self.most(right)),
            Value::Binary(Operator::ShiftRight, left, right) => {
                let bits = self.values.as_constant(right).unwrap_or(0);
                self.most(left) >> (bits & 31)
            }
            Value::Binary(Operator::ShiftLeft, left, right) => {
                let bits = self.values.as_constant(right).unwrap_or(31);
                let most = u64::from(self.most(left)) << (bits & 31);
                u32::try_from(most).unwrap_or(u32::MAX)
            }
            Value::Binary(Operator::Add, left, right) => {
                self.most(left).saturating_add(self.most(right))
            }
            _ => u32::MAX,
        }
    }
}

/// Whether `bytes` at `offset` can be read through a pointer at `origin`.
fn reaches(origin: u32, offset: u32, bytes: u32) -> bool {
    // A pointer at `base` itself reaches even further.
    let behind = MAX_REACH - MAX_OFFSET;
    offset.wrapping_sub(origin) <= behind - bytes
}

fn size(width: Width) -> Size {
    match width {
        Width::Byte => Size::Byte,
        Width::Half => Size::Half,
        Width::Word => Size::Word,
    }
}
