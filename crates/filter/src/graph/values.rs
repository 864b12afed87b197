//! Values: numbers that depend on the packet, and their arena.

use crate::language::tree::Operator;
use std::collections::HashMap;

/// A variable of a filter: the offset of a header that is not at a fixed offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Variable(pub u8);

/// The id of a value in its arena; equal values have equal ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ValueId(u32);

impl ValueId {
    /// The index of the value. Operands have lower indexes.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Width {
    Byte,
    Half,
    Word,
}

/// A 32-bit number that depends only on the packet and the variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    Constant(u32),
    /// The packet's length on the wire.
    Length,
    /// Packet bytes in network order. Rejects the packet if they do not exist.
    Load {
        width: Width,
        base: Option<ValueId>,
        offset: u32,
    },
    /// Packet metadata, by its ancillary offset.
    Ancillary(Width, u32),
    /// The length of the IPv4 header at a fixed offset: four times the low half of the byte.
    HeaderLength(u32),
    Variable(Variable),
    Negate(ValueId),
    Binary(Operator, ValueId, ValueId),
}

#[derive(Clone)]
struct ValueInfo {
    value: Value,
    /// Bits that may be set.
    ones: u32,
    /// The variables it depends on, as a bit mask.
    variables: u16,
    /// Computing it needs the index register.
    needs_index: bool,
    /// Computing it can reject the packet.
    can_fail: bool,
    /// Computing it can reject packets that are not truncated.
    has_user_offset: bool,
}

/// All values of a filter, without duplicates, constant-folded when they are created.
#[derive(Clone, Default)]
pub(crate) struct Values {
    info: Vec<ValueInfo>,
    ids: HashMap<Value, ValueId>,
}

impl Value {
    /// The operands.
    pub(crate) fn operands(self) -> [Option<ValueId>; 2] {
        match self {
            Self::Load { base, .. } => [base, None],
            Self::Negate(operand) => [Some(operand), None],
            Self::Binary(_, left, right) => [Some(left), Some(right)],
            _ => [None, None],
        }
    }
}

impl Values {
    pub(crate) fn get(&self, id: ValueId) -> Value {
        self.info[id.0 as usize].value
    }

    /// All values, in index order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (ValueId, Value)> {
        let info = self.info.iter().enumerate();
        info.map(|(at, info)| (ValueId(at as u32), info.value))
    }

    pub(crate) fn as_constant(&self, id: ValueId) -> Option<u32> {
        match self.get(id) {
            Value::Constant(constant) => Some(constant),
            _ => None,
        }
    }

    /// Splits off a constant mask: the operand and the mask.
    pub(crate) fn strip(&self, id: ValueId) -> (ValueId, u32) {
        if let Value::Binary(Operator::And, operand, mask) = self.get(id)
            && let Some(mask) = self.as_constant(mask)
        {
            return (operand, mask);
        }
        (id, u32::MAX)
    }

    pub(crate) fn ones(&self, id: ValueId) -> u32 {
        self.info[id.0 as usize].ones
    }

    pub(crate) fn depends_on(&self, id: ValueId, variable: Variable) -> bool {
        self.variables(id) & 1 << variable.0 != 0
    }

    pub(crate) fn variables(&self, id: ValueId) -> u16 {
        self.info[id.0 as usize].variables
    }

    pub(crate) fn needs_index(&self, id: ValueId) -> bool {
        self.info[id.0 as usize].needs_index
    }

    pub(crate) fn can_fail(&self, id: ValueId) -> bool {
        self.info[id.0 as usize].can_fail
    }

    /// Whether packets that are not truncated may lack the bytes of the value.
    pub(crate) fn has_user_offset(&self, id: ValueId) -> bool {
        self.info[id.0 as usize].has_user_offset
    }

    /// Marks a load whose offset is from the filter text: whole packets may lack its bytes.
    pub(crate) fn mark_user_offset(&mut self, id: ValueId) {
        self.info[id.0 as usize].has_user_offset = true;
    }

    pub(crate) fn constant(&mut self, constant: u32) -> ValueId {
        self.intern(Value::Constant(constant))
    }

    pub(crate) fn length(&mut self) -> ValueId {
        self.intern(Value::Length)
    }

    pub(crate) fn variable(&mut self, variable: Variable) -> ValueId {
        self.intern(Value::Variable(variable))
    }

    /// The value of the variable, if the filter reads it.
    pub(crate) fn id_of(&self, variable: Variable) -> Option<ValueId> {
        self.ids.get(&Value::Variable(variable)).copied()
    }

    pub(crate) fn ancillary(&mut self, width: Width, offset: u32) -> ValueId {
        self.intern(Value::Ancillary(width, offset))
    }

    /// The packet's bytes at `base + offset`.
    pub(crate) fn load(&mut self, width: Width, base: Option<ValueId>, offset: u32) -> ValueId {
        let Some(base) = base else {
            // Larger offsets denote ancillary values in the kernel; no packet is that long.
            let offset = offset.min(i32::MAX.cast_unsigned());
            return self.intern(Value::Load {
                width,
                base: None,
                offset,
            });
        };
        match self.get(base) {
            Value::Constant(constant) => self.load(width, None, constant.wrapping_add(offset)),
            Value::Binary(Operator::Add, inner, constant)
                if self.as_constant(constant).is_some() =>
            {
                let constant = self.as_constant(constant).unwrap_or(0);
                self.load(width, Some(inner), constant.wrapping_add(offset))
            }
            _ => self.intern(Value::Load {
                width,
                base: Some(base),
                offset,
            }),
        }
    }

    /// The length of the IPv4 header at `base + offset`.
    pub(crate) fn header_length(&mut self, base: Option<ValueId>, offset: u32) -> ValueId {
        if base.is_none() {
            return self.intern(Value::HeaderLength(offset));
        }
        let byte = self.load(Width::Byte, base, offset);
        let words = self.binary_constant(Operator::And, byte, 0x0f);
        self.binary_constant(Operator::ShiftLeft, words, 2)
    }

    pub(crate) fn negate(&mut self, operand: ValueId) -> ValueId {
        match self.get(operand) {
            Value::Constant(constant) => self.constant(constant.wrapping_neg()),
            Value::Negate(inner) => inner,
            _ => self.intern(Value::Negate(operand)),
        }
    }

    pub(crate) fn binary_constant(
        &mut self,
        operator: Operator,
        left: ValueId,
        right: u32,
    ) -> ValueId {
        let right = self.constant(right);
        self.binary(operator, left, right)
    }

    /// `left operator right`, folded where constants allow it.
    pub(crate) fn binary(&mut self, operator: Operator, left: ValueId, right: ValueId) -> ValueId {
        use Operator::{Add, And, Multiply, Or, Subtract, Xor};
        let constants = (self.as_constant(left), self.as_constant(right));
        match (operator, constants) {
            (_, (Some(left), Some(right))) => {
                if let Some(result) = compute(operator, left, right) {
                    return self.constant(result);
                }
                let (left, right) = (self.constant(left), self.constant(right));
                self.intern(Value::Binary(operator, left, right))
            }
            (Add | And | Or | Xor | Multiply, (Some(_), None)) => {
                self.binary(operator, right, left)
            }
            (Subtract, (None, Some(constant))) => {
                self.binary_constant(Add, left, constant.wrapping_neg())
            }
            (_, (None, Some(constant))) => self.with_constant(operator, left, constant),
            _ => self.intern(Value::Binary(operator, left, right)),
        }
    }

    fn with_constant(&mut self, operator: Operator, left: ValueId, right: u32) -> ValueId {
        use Operator::{
            Add, And, Divide, Modulo, Multiply, Or, ShiftLeft, ShiftRight, Subtract, Xor,
        };
        let ones = self.ones(left);
        match (operator, right) {
            (Add | Subtract | Or | Xor | ShiftLeft | ShiftRight, 0) | (Multiply | Divide, 1) => {
                return left;
            }
            (Multiply | And, 0) | (Modulo, 1) => return self.constant(0),
            (And, mask) if mask & ones == ones => return left,
            _ => {}
        }
        // Reduce masks to the bits that may be set, so that equivalent tests are equal. A mask
        // without such bits stays: the bytes of the value must exist.
        let right = match right & ones {
            kept if operator == And && kept != 0 => kept,
            _ => right,
        };
        if let Value::Binary(inner, operand, constant) = self.get(left)
            && let Some(constant) = self.as_constant(constant)
            && inner == operator
            && matches!(operator, Add | And | Or | Xor | Multiply)
            && let Some(both) = compute(operator, constant, right)
        {
            return self.binary_constant(operator, operand, both);
        }
        let right = self.constant(right);
        self.intern(Value::Binary(operator, left, right))
    }

    fn intern(&mut self, value: Value) -> ValueId {
        if let Some(&id) = self.ids.get(&value) {
            return id;
        }
        let id = ValueId(self.info.len() as u32);
        let info = self.describe(value);
        self.info.push(info);
        self.ids.insert(value, id);
        id
    }

    fn describe(&self, value: Value) -> ValueInfo {
        let of = |id: ValueId| &self.info[id.0 as usize];
        let width_ones = |width| match width {
            Width::Byte => 0xff,
            Width::Half => 0xffff,
            Width::Word => u32::MAX,
        };
        let plain = ValueInfo {
            value,
            ones: u32::MAX,
            variables: 0,
            needs_index: false,
            can_fail: false,
            has_user_offset: false,
        };
        match value {
            Value::Constant(constant) => ValueInfo {
                ones: constant,
                ..plain
            },
            Value::Length => plain,
            Value::Ancillary(..) => ValueInfo {
                can_fail: true,
                ..plain
            },
            Value::Variable(variable) => ValueInfo {
                variables: 1 << variable.0,
                ..plain
            },
            Value::HeaderLength(_) => ValueInfo {
                ones: 0x3c,
                needs_index: true,
                can_fail: true,
                ..plain
            },
            Value::Load { width, base, .. } => ValueInfo {
                ones: width_ones(width),
                variables: base.map_or(0, |base| of(base).variables),
                needs_index: base.is_some(),
                can_fail: true,
                ..plain
            },
            Value::Negate(operand) => ValueInfo {
                variables: of(operand).variables,
                needs_index: of(operand).needs_index,
                can_fail: of(operand).can_fail,
                has_user_offset: of(operand).has_user_offset,
                ..plain
            },
            Value::Binary(operator, left, right) => {
                let constant = self.as_constant(right);
                let divides = matches!(operator, Operator::Divide | Operator::Modulo);
                ValueInfo {
                    ones: result_ones(operator, of(left).ones, of(right).ones, constant),
                    variables: of(left).variables | of(right).variables,
                    needs_index: of(left).needs_index || constant.is_none(),
                    can_fail: of(left).can_fail
                        || of(right).can_fail
                        || (divides && constant.is_none_or(|divisor| divisor == 0)),
                    has_user_offset: of(left).has_user_offset
                        || of(right).has_user_offset
                        || (divides && constant.is_none()),
                    ..plain
                }
            }
        }
    }
}

/// Bits that may be set in the result, from those of the operands.
fn result_ones(operator: Operator, left: u32, right: u32, constant: Option<u32>) -> u32 {
    match (operator, constant) {
        (Operator::And, _) => left & right,
        (Operator::Or | Operator::Xor, _) => left | right,
        (Operator::ShiftLeft, Some(bits)) => left.checked_shl(bits).unwrap_or(0),
        (Operator::ShiftRight, Some(bits)) => left.checked_shr(bits).unwrap_or(0),
        _ => u32::MAX,
    }
}

/// The result of the operation; `None` for a division by zero or a constant shift above 31 bits.
pub(crate) fn compute(operator: Operator, left: u32, right: u32) -> Option<u32> {
    match operator {
        Operator::Add => Some(left.wrapping_add(right)),
        Operator::Subtract => Some(left.wrapping_sub(right)),
        Operator::Multiply => Some(left.wrapping_mul(right)),
        Operator::Divide => left.checked_div(right),
        Operator::Modulo => left.checked_rem(right),
        Operator::And => Some(left & right),
        Operator::Or => Some(left | right),
        Operator::Xor => Some(left ^ right),
        Operator::ShiftLeft => left.checked_shl(right),
        Operator::ShiftRight => left.checked_shr(right),
    }
}
