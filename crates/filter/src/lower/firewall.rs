//! Terms about the log of OpenBSD's packet filter.

use crate::error::FilterErrorReason;
use crate::graph::condition::Condition;
use crate::graph::values::Width;
use crate::language::tree::{Firewall, Operator};
use crate::link_type::LinkType;
use crate::lower::frame::PAYLOAD_OFFSET;
use crate::lower::lowering::{FieldBase, Lowered, Lowering};

/// Bytes of a name in the header, with its final zero.
const NAME_BYTES: usize = 16;

impl Lowering<'_> {
    /// A field of the header of the packet filter's log.
    ///
    /// # Source
    /// `struct pfloghdr`, sys/net/if_pflog.h of OpenBSD.
    pub(super) fn firewall(&mut self, field: &Firewall) -> Lowered {
        if self.frame.link != LinkType::Pflog {
            return Err(self.unsupported(field.word()));
        }
        match field {
            Firewall::Action(action) => {
                self.equal(FieldBase::Header, 2, Width::Byte, u32::from(*action))
            }
            Firewall::Reason(reason) => self.equal(FieldBase::Header, 3, Width::Byte, *reason),
            Firewall::Interface(name) => self.name_at(4, "interface name", name),
            Firewall::Ruleset(name) => self.name_at(20, "ruleset name", name),
            Firewall::Rule(number) => self.equal(FieldBase::Header, 36, Width::Word, *number),
            Firewall::Subrule(number) => self.equal(FieldBase::Header, 40, Width::Word, *number),
        }
    }

    /// A name that begins with `name`, as in libpcap.
    fn name_at(&mut self, offset: u32, what: &'static str, name: &str) -> Lowered {
        if name.len() >= NAME_BYTES {
            let value = format!("{name:?}");
            return Err(FilterErrorReason::InvalidValue { what, value });
        }
        self.bytes(FieldBase::Header, offset, name.as_bytes())
    }

    /// Sets the offset of the network header: the length of the header, rounded up to 32 bits.
    pub(super) fn firewall_header_length(&mut self) -> Condition {
        let length = self.values.load(Width::Byte, None, 0);
        let length = self.values.binary_constant(Operator::Add, length, 3);
        let length = self.values.binary_constant(Operator::And, length, !3);
        Condition::Let(PAYLOAD_OFFSET, length)
    }
}
