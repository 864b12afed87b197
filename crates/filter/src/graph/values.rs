use crate::language::tree::Operator;
use std::collections::HashMap;

/// A place that a filter writes itself: where a header starts that is not at a fixed offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Variable(pub u8);

/// A value of an arena; equal values have equal ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ValueId(u32);

impl ValueId {
    /// The value's place among all: after those of the values it is made of.
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

/// A number of 32 bits that depends on nothing but the packet and the variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    Constant(u32),
    /// The packet's length on the wire.
    Length,
    /// Bytes of the packet in network order; refuses the packet where they are not there.
    Load {
        width: Width,
        base: Option<ValueId>,
        offset: u32,
    },
    /// What the kernel knows beside the bytes, by its offset.
    Ancillary(Width, u32),
    /// Four times the low half of the byte at a fixed offset: the length of an IPv4 header.
    HeaderLength(u32),
    Variable(Variable),
    Negate(ValueId),
    Binary(Operator, ValueId, ValueId),
}

#[derive(Clone)]
struct Facts {
    value: Value,
    /// Bits that can be set.
    ones: u32,
    /// The variables it is made of, a bit each.
    variables: u16,
    /// Computing it needs the index register.
    needs_index: bool,
    /// Computing it can refuse the packet.
    can_fail: bool,
    /// Computing it can refuse packets that are whole.
    is_remote: bool,
}

/// All values of a filter, each once, folded as they are made.
#[derive(Clone, Default)]
pub(crate) struct Values {
    facts: Vec<Facts>,
    ids: HashMap<Value, ValueId>,
}

impl Value {
    /// The values that it is made of.
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
        self.facts[id.0 as usize].value
    }

    /// All values, in the order of their places.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (ValueId, Value)> {
        let facts = self.facts.iter().enumerate();
        facts.map(|(at, facts)| (ValueId(at as u32), facts.value))
    }

    pub(crate) fn as_constant(&self, id: ValueId) -> Option<u32> {
        match self.get(id) {
            Value::Constant(constant) => Some(constant),
            _ => None,
        }
    }

    /// The value as another and the constant mask that is applied to it.
    pub(crate) fn strip(&self, id: ValueId) -> (ValueId, u32) {
        if let Value::Binary(Operator::And, operand, mask) = self.get(id)
            && let Some(mask) = self.as_constant(mask)
        {
            return (operand, mask);
        }
        (id, u32::MAX)
    }

    pub(crate) fn ones(&self, id: ValueId) -> u32 {
        self.facts[id.0 as usize].ones
    }

    pub(crate) fn depends_on(&self, id: ValueId, variable: Variable) -> bool {
        self.variables(id) & 1 << variable.0 != 0
    }

    pub(crate) fn variables(&self, id: ValueId) -> u16 {
        self.facts[id.0 as usize].variables
    }

    pub(crate) fn needs_index(&self, id: ValueId) -> bool {
        self.facts[id.0 as usize].needs_index
    }

    pub(crate) fn can_fail(&self, id: ValueId) -> bool {
        self.facts[id.0 as usize].can_fail
    }

    /// Whether whole packets may lack the value's bytes.
    pub(crate) fn is_remote(&self, id: ValueId) -> bool {
        self.facts[id.0 as usize].is_remote
    }

    /// Says that whole packets may lack the value's bytes, because a filter gave its offset.
    pub(crate) fn mark_remote(&mut self, id: ValueId) {
        self.facts[id.0 as usize].is_remote = true;
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

    pub(crate) fn ancillary(&mut self, width: Width, offset: u32) -> ValueId {
        self.intern(Value::Ancillary(width, offset))
    }

    /// The packet's bytes at `base + offset`.
    pub(crate) fn load(&mut self, width: Width, base: Option<ValueId>, offset: u32) -> ValueId {
        let Some(base) = base else {
            // Offsets above are the kernel's door to ancillary values; no packet is that long.
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
        // Masks are kept to the bits that can be set, so that equal tests look equal. A mask of others
        // stays: the value's bytes have to be there.
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
        let id = ValueId(self.facts.len() as u32);
        let facts = self.describe(value);
        self.facts.push(facts);
        self.ids.insert(value, id);
        id
    }

    fn describe(&self, value: Value) -> Facts {
        let of = |id: ValueId| &self.facts[id.0 as usize];
        let width_ones = |width| match width {
            Width::Byte => 0xff,
            Width::Half => 0xffff,
            Width::Word => u32::MAX,
        };
        let plain = Facts {
            value,
            ones: u32::MAX,
            variables: 0,
            needs_index: false,
            can_fail: false,
            is_remote: false,
        };
        match value {
            Value::Constant(constant) => Facts {
                ones: constant,
                ..plain
            },
            Value::Length => plain,
            Value::Ancillary(..) => Facts {
                can_fail: true,
                ..plain
            },
            Value::Variable(variable) => Facts {
                variables: 1 << variable.0,
                ..plain
            },
            Value::HeaderLength(_) => Facts {
                ones: 0x3c,
                needs_index: true,
                can_fail: true,
                ..plain
            },
            Value::Load { width, base, .. } => Facts {
                ones: width_ones(width),
                variables: base.map_or(0, |base| of(base).variables),
                needs_index: base.is_some(),
                can_fail: true,
                ..plain
            },
            Value::Negate(operand) => Facts {
                variables: of(operand).variables,
                needs_index: of(operand).needs_index,
                can_fail: of(operand).can_fail,
                is_remote: of(operand).is_remote,
                ..plain
            },
            Value::Binary(operator, left, right) => {
                let constant = self.as_constant(right);
                let divides = matches!(operator, Operator::Divide | Operator::Modulo);
                Facts {
                    ones: result_ones(operator, of(left).ones, of(right).ones, constant),
                    variables: of(left).variables | of(right).variables,
                    needs_index: of(left).needs_index || constant.is_none(),
                    can_fail: of(left).can_fail
                        || of(right).can_fail
                        || (divides && constant.is_none_or(|divisor| divisor == 0)),
                    is_remote: of(left).is_remote
                        || of(right).is_remote
                        || (divides && constant.is_none()),
                    ..plain
                }
            }
        }
    }
}

/// Bits that can be set in the result, from those of the operands.
fn result_ones(operator: Operator, left: u32, right: u32, constant: Option<u32>) -> u32 {
    match (operator, constant) {
        (Operator::And, _) => left & right,
        (Operator::Or | Operator::Xor, _) => left | right,
        (Operator::ShiftLeft, Some(bits)) => left.checked_shl(bits).unwrap_or(0),
        (Operator::ShiftRight, Some(bits)) => left.checked_shr(bits).unwrap_or(0),
        _ => u32::MAX,
    }
}

/// The machine's result; `None` where it has none or the kernel refuses the constant.
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
