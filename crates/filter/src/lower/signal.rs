//! Terms about SS7 signal units.

use crate::graph::condition::{Comparison, Condition};
use crate::graph::values::{ValueId, Width};
use crate::language::tree::{FieldValues, Operator, Signal, SignalField, SignalKind, SignalUnit};
use crate::link_type::LinkType;
use crate::lower::lowering::{Lowered, Lowering};

impl Lowering<'_> {
    /// SS7 signal units, by their length indicator, and fields of message signal units.
    pub(super) fn signal(&mut self, signal: &Signal) -> Lowered {
        let unit = match self.frame.link {
            LinkType::Mtp2 => 0,
            LinkType::Mtp2WithHeader => 4,
            LinkType::Erf => 20,
            _ => return Err(self.unsupported(signal.word())),
        };
        let Signal { kind, is_fast } = signal;
        Ok(match kind {
            SignalKind::Unit(SignalUnit::FillIn) => {
                let length = self.length_indicator(unit, *is_fast);
                self.values.equal(length, 0)
            }
            SignalKind::Unit(SignalUnit::LinkStatus) => {
                let length = self.length_indicator(unit, *is_fast);
                let is_message = self.is_message(length, *is_fast);
                let is_fill_in = self.values.equal(length, 0);
                Condition::all([is_fill_in.negate(), is_message.negate()])
            }
            SignalKind::Unit(SignalUnit::Message) => {
                let length = self.length_indicator(unit, *is_fast);
                self.is_message(length, *is_fast)
            }
            SignalKind::Field(field, values) => {
                // The sequence numbers and the length indicator of fast links have three more bytes.
                let unit = unit + if *is_fast { 3 } else { 0 };
                self.signal_field(unit, *field, values)
            }
        })
    }

    fn signal_field(&mut self, unit: u32, field: SignalField, values: &FieldValues) -> Condition {
        // The routing label is little-endian, so masks and values are byte-swapped.
        let (field, encode): (_, fn(u32) -> u32) = match field {
            SignalField::ServiceIndicator => {
                (self.field(unit + 3, Width::Byte, 0xff), |value| value)
            }
            SignalField::OriginCode => {
                let mask = (0x3fff_u32 << 14).swap_bytes();
                let field = self.field(unit + 4, Width::Word, mask);
                (field, |value| (value << 14).swap_bytes())
            }
            SignalField::DestinationCode => {
                let mask = u32::from(0x3fff_u16.swap_bytes());
                let field = self.field(unit + 4, Width::Half, mask);
                (field, |value| u32::from((value as u16).swap_bytes()))
            }
            SignalField::LinkSelection => {
                (self.field(unit + 7, Width::Byte, 0xf0), |value| value << 4)
            }
        };
        self.field_values(field, values, encode)
    }

    /// The length indicator: six bits, on fast links the upper nine of sixteen.
    fn length_indicator(&mut self, unit: u32, is_fast: bool) -> ValueId {
        if is_fast {
            self.field(unit + 4, Width::Half, 0xff80)
        } else {
            self.field(unit + 2, Width::Byte, 0x3f)
        }
    }

    /// Message signal units have more than two bytes.
    fn is_message(&mut self, length: ValueId, is_fast: bool) -> Condition {
        let two = self.values.constant(if is_fast { 2 << 7 } else { 2 });
        self.values.test(Comparison::Greater, length, two)
    }

    fn field(&mut self, offset: u32, width: Width, mask: u32) -> ValueId {
        let field = self.values.load(width, None, offset);
        self.values.binary_constant(Operator::And, field, mask)
    }

    /// `field` has one of the values.
    pub(super) fn field_values(
        &mut self,
        field: ValueId,
        values: &FieldValues,
        encode: impl Fn(u32) -> u32,
    ) -> Condition {
        match values {
            FieldValues::Compared(relation, value) => {
                let value = self.values.constant(encode(*value));
                self.compare(*relation, field, value)
            }
            FieldValues::OneOf(values) => {
                let tests: Vec<_> = values
                    .iter()
                    .map(|value| self.values.equal(field, encode(*value)))
                    .collect();
                Condition::any(tests)
            }
        }
    }
}
