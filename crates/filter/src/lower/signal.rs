use super::lowering::Lowering;
use crate::LinkType;
use crate::error::Reason;
use crate::graph::condition::{Comparison, Condition};
use crate::graph::values::{ValueId, Width};
use crate::language::tree::{Operator, Signal, SignalField};

impl Lowering<'_> {
    /// Signal units of SS7 by their length indicator, and fields of message signal units.
    pub(super) fn signal(&mut self, signal: Signal) -> Result<Condition, Reason> {
        let link = self.frame.link;
        if link != LinkType::Mtp2 {
            let what = "SS7";
            return Err(Reason::NotSupported { what, link });
        }
        Ok(match signal {
            Signal::FillIn => {
                let length = self.field(2, Width::Byte, 0x3f);
                self.values.equal(length, 0)
            }
            Signal::LinkStatus => {
                let length = self.field(2, Width::Byte, 0x3f);
                let two = self.values.constant(2);
                let is_message = self.values.test(Comparison::Greater, length, two);
                let is_fill_in = self.values.equal(length, 0);
                Condition::all([is_fill_in.negate(), is_message.negate()])
            }
            Signal::Message => {
                let length = self.field(2, Width::Byte, 0x3f);
                let two = self.values.constant(2);
                self.values.test(Comparison::Greater, length, two)
            }
            Signal::Field(field, relation, value) => {
                // The routing label is little-endian, so its fields are where these bytes are.
                let (field, value) = match field {
                    SignalField::ServiceIndicator => (self.field(3, Width::Byte, 0xff), value),
                    SignalField::OriginCode => {
                        let mask = (0x3fff_u32 << 14).swap_bytes();
                        (self.field(4, Width::Word, mask), (value << 14).swap_bytes())
                    }
                    SignalField::DestinationCode => {
                        let mask = u32::from(0x3fff_u16.swap_bytes());
                        let value = u32::from((value as u16).swap_bytes());
                        (self.field(4, Width::Half, mask), value)
                    }
                    SignalField::LinkSelection => (self.field(7, Width::Byte, 0xf0), value << 4),
                };
                let value = self.values.constant(value);
                self.compare(relation, field, value)
            }
        })
    }

    fn field(&mut self, offset: u32, width: Width, mask: u32) -> ValueId {
        let field = self.values.load(width, None, offset);
        self.values.binary_constant(Operator::And, field, mask)
    }
}
