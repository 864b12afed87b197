//! Terms about 802.11.

use crate::error::FilterErrorReason;
use crate::graph::condition::Condition;
use crate::graph::values::{ValueId, Values, Variable, Width};
use crate::language::tree::{Direction, Operator};
use crate::link_type::LinkType;
use crate::lower::frame::{HEADER_OFFSET, PAYLOAD_OFFSET};
use crate::lower::lowering::{FieldBase, Lowered, Lowering};

const TYPE_CONTROL: u32 = 0x04;
const TYPE_DATA: u32 = 0x08;
const TYPE_MASK: u32 = 0x0c;
const QUALITY_OF_SERVICE: u32 = 0x80;
const TO_DISTRIBUTION: u32 = 0x01;
const FROM_DISTRIBUTION: u32 = 0x02;
/// The link type in a PPI header, little-endian: 802.11.
const PPI_WLAN: u32 = 105_u32.swap_bytes();
/// Length of a Prism header.
const PRISM_BYTES: u32 = 144;
/// The first bytes of an AVS header; the last 12 bits are the version.
const AVS_COOKIE: u32 = 0x8021_1000;
const AVS_COOKIE_MASK: u32 = 0xffff_f000;

impl Lowering<'_> {
    pub(super) fn is_data_frame(&mut self) -> Lowered {
        self.masked(FieldBase::Header, 0, Width::Byte, TYPE_MASK, TYPE_DATA)
    }

    pub(super) fn wlan_type(&mut self, value: u8, mask: u8) -> Lowered {
        self.needs_wlan("type/subtype")?;
        let (value, mask) = (u32::from(value), u32::from(mask));
        self.masked(FieldBase::Header, 0, Width::Byte, mask, value)
    }

    pub(super) fn wlan_direction(&mut self, value: u8) -> Lowered {
        self.needs_wlan("dir")?;
        self.masked(FieldBase::Header, 1, Width::Byte, 0x03, u32::from(value))
    }

    fn needs_wlan(&self, what: &'static str) -> Result<(), FilterErrorReason> {
        if self.frame.link.is_wlan() {
            return Ok(());
        }
        let link = self.frame.link;
        Err(FilterErrorReason::NotSupported { what, link })
    }

    /// An address of an 802.11 frame, by direction or by number.
    pub(super) fn wlan_host(&mut self, mac: [u8; 6], direction: Direction) -> Lowered {
        match direction {
            Direction::Source => self.wlan_end(mac, true),
            Direction::Destination => self.wlan_end(mac, false),
            Direction::Either => {
                let source = self.wlan_end(mac, true)?;
                Ok(Condition::any([source, self.wlan_end(mac, false)?]))
            }
            Direction::Both => {
                let source = self.wlan_end(mac, true)?;
                Ok(Condition::all([source, self.wlan_end(mac, false)?]))
            }
            Direction::Address1 => self.bytes(FieldBase::Header, 4, &mac),
            Direction::Address2 => {
                let has = self.has_transmitter()?;
                Ok(Condition::all([
                    has,
                    self.bytes(FieldBase::Header, 10, &mac)?,
                ]))
            }
            Direction::Address3 => {
                let control =
                    self.masked(FieldBase::Header, 0, Width::Byte, TYPE_MASK, TYPE_CONTROL)?;
                let address = self.bytes(FieldBase::Header, 16, &mac)?;
                Ok(Condition::all([control.negate(), address]))
            }
            Direction::Address4 => {
                let both = self.masked(FieldBase::Header, 1, Width::Byte, 0x03, 0x03)?;
                Ok(Condition::all([
                    both,
                    self.bytes(FieldBase::Header, 24, &mac)?,
                ]))
            }
            Direction::Receiver => {
                let data = self.any_bit(FieldBase::Header, 0, TYPE_DATA)?;
                Ok(Condition::all([
                    data,
                    self.bytes(FieldBase::Header, 4, &mac)?,
                ]))
            }
            Direction::Transmitter => {
                let data = self.any_bit(FieldBase::Header, 0, TYPE_DATA)?;
                let has = self.has_transmitter()?;
                let address = self.bytes(FieldBase::Header, 10, &mac)?;
                Ok(Condition::all([data, has, address]))
            }
        }
    }

    /// Every frame has a second address, except the control frames CTS and ACK.
    fn has_transmitter(&mut self) -> Lowered {
        let control = self.masked(FieldBase::Header, 0, Width::Byte, TYPE_MASK, TYPE_CONTROL)?;
        let clear = self.masked(FieldBase::Header, 0, Width::Byte, 0xf0, 0xc0)?;
        let acknowledge = self.masked(FieldBase::Header, 0, Width::Byte, 0xf0, 0xd0)?;
        let neither = Condition::all([clear.negate(), acknowledge.negate()]);
        Ok(Condition::any([control.negate(), neither]))
    }

    /// The source or destination address. The frame control field decides which of the four
    /// addresses it is.
    fn wlan_end(&mut self, mac: [u8; 6], is_source: bool) -> Lowered {
        let no_control = self.any_bit(FieldBase::Header, 0, TYPE_CONTROL)?.negate();
        let data = self.any_bit(FieldBase::Header, 0, TYPE_DATA)?;
        let to = self.any_bit(FieldBase::Header, 1, TO_DISTRIBUTION)?;
        let from = self.any_bit(FieldBase::Header, 1, FROM_DISTRIBUTION)?;
        let mut at = |offset| self.bytes(FieldBase::Header, offset, &mac);
        let (management, in_data) = if is_source {
            let relayed = choose(to, at(24)?, at(16)?);
            (at(10)?, choose(from, relayed, at(10)?))
        } else {
            (at(4)?, choose(to, at(16)?, at(4)?))
        };
        Ok(Condition::all([
            no_control,
            choose(data, in_data, management),
        ]))
    }

    /// The destination address is a multicast address.
    pub(super) fn wlan_multicast(&mut self) -> Lowered {
        let no_control = self.any_bit(FieldBase::Header, 0, TYPE_CONTROL)?.negate();
        let data = self.any_bit(FieldBase::Header, 0, TYPE_DATA)?;
        let to = self.any_bit(FieldBase::Header, 1, TO_DISTRIBUTION)?;
        let third = self.any_bit(FieldBase::Header, 16, 1)?;
        let first = self.any_bit(FieldBase::Header, 4, 1)?;
        let in_data = choose(to, third, first.clone());
        Ok(Condition::all([no_control, choose(data, in_data, first)]))
    }

    /// The conditions that compute the offsets of header and payload. They run before the first
    /// term.
    pub(super) fn header_offsets(&mut self, condition: &Condition) -> Vec<Condition> {
        let link = self.options.link;
        if !link.has_variable_headers() || *condition == Condition::Constant(true) {
            return Vec::new();
        }
        let mut terms = Vec::new();
        if link == LinkType::Ppi {
            let number = self.values.load(Width::Word, None, 4);
            terms.push(self.values.equal(number, PPI_WLAN));
        }
        let used = used_variables(condition, &self.values);
        let uses = |variable: Variable| used & 1 << variable.0 != 0;
        if !(uses(HEADER_OFFSET) || uses(PAYLOAD_OFFSET)) {
            return terms;
        }
        if link == LinkType::Pflog {
            terms.push(self.firewall_header_length());
            return terms;
        }
        if self.has_header_variable() {
            terms.push(self.radio_header_length());
        }
        if uses(PAYLOAD_OFFSET) {
            terms.extend(self.payload_offset());
        }
        terms
    }

    /// Sets the offset of the 802.11 header to the length of the header before it.
    fn radio_header_length(&mut self) -> Condition {
        let values = &mut self.values;
        if matches!(self.options.link, LinkType::Prism | LinkType::Avs) {
            let length = values.load(Width::Word, None, 4);
            let length = Condition::Let(HEADER_OFFSET, length);
            if self.options.link == LinkType::Avs {
                return length;
            }
            // Some drivers deliver an AVS header instead.
            let cookie = values.load(Width::Word, None, 0);
            let is_avs = values.masked_equal(cookie, AVS_COOKIE_MASK, AVS_COOKIE);
            let prism = values.constant(PRISM_BYTES);
            return choose(is_avs, length, Condition::Let(HEADER_OFFSET, prism));
        }
        let high = values.load(Width::Byte, None, 3);
        let high = values.binary_constant(Operator::ShiftLeft, high, 8);
        let low = values.load(Width::Byte, None, 2);
        let length = values.binary(Operator::Or, high, low);
        Condition::Let(HEADER_OFFSET, length)
    }

    /// 24 bytes of header, two more in QoS frames, then optional padding.
    fn payload_offset(&mut self) -> Vec<Condition> {
        let header = self.has_header_variable();
        let header = header.then(|| self.values.variable(HEADER_OFFSET));
        let control = self.values.load(Width::Byte, header, 0);
        let start = match header {
            Some(header) => self.values.binary_constant(Operator::Add, header, 24),
            None => self.values.constant(24),
        };
        let payload = self.values.variable(PAYLOAD_OFFSET);
        let longer = self.values.binary_constant(Operator::Add, payload, 2);
        let quality = self.values.any_bit(control, QUALITY_OF_SERVICE);
        let mut steps = vec![
            self.values.any_bit(control, TYPE_DATA),
            self.values.any_bit(control, TYPE_CONTROL).negate(),
            when(quality, Condition::Let(PAYLOAD_OFFSET, longer)),
        ];
        if self.options.link == LinkType::Radiotap {
            steps.push(self.padding(payload));
        }
        // Read the first byte even if the payload is not needed: it must exist.
        let touch = Condition::Let(PAYLOAD_OFFSET, control);
        vec![
            touch,
            Condition::Let(PAYLOAD_OFFSET, start),
            Condition::any([Condition::all(steps), Condition::Constant(true)]),
        ]
    }

    /// A flag in the radiotap header tells that the 802.11 header is padded to 32 bits.
    fn padding(&mut self, payload: ValueId) -> Condition {
        let values = &mut self.values;
        let present = values.load(Width::Word, None, 4);
        let late_flags = values.load(Width::Byte, None, 16);
        let early_flags = values.load(Width::Byte, None, 8);
        let has_flags = values.any_bit(present, 0x0200_0000);
        let has_more = values.any_bit(present, 0x0000_0080);
        let has_time = values.any_bit(present, 0x0100_0000);
        let late = values.any_bit(late_flags, 0x20);
        let early = values.any_bit(early_flags, 0x20);
        let padded = values.binary_constant(Operator::Add, payload, 3);
        let padded = values.binary_constant(Operator::And, padded, !3);
        when(
            Condition::all([has_flags, has_more.negate(), choose(has_time, late, early)]),
            Condition::Let(PAYLOAD_OFFSET, padded),
        )
    }
}

/// `condition ? yes : no`
fn choose(condition: Condition, yes: Condition, no: Condition) -> Condition {
    let otherwise = Condition::all([condition.clone().negate(), no]);
    Condition::any([otherwise, Condition::all([condition, yes])])
}

/// Evaluates `then` if `condition` holds; always true.
fn when(condition: Condition, then: Condition) -> Condition {
    Condition::any([Condition::all([condition, then]), Condition::Constant(true)])
}

fn used_variables(condition: &Condition, values: &Values) -> u16 {
    match condition {
        // Sets are built only from complete conditions, later.
        Condition::Constant(_) | Condition::Member(_) => 0,
        Condition::Test(test) => values.variables(test.left) | values.variables(test.right),
        Condition::Let(_, value) => values.variables(*value),
        Condition::Not(inner) => used_variables(inner, values),
        Condition::All(terms) | Condition::Any(terms) => terms
            .iter()
            .fold(0, |used, term| used | used_variables(term, values)),
        Condition::If(parts) => parts
            .iter()
            .fold(0, |used, part| used | used_variables(part, values)),
        Condition::Choice(value, cases) => {
            cases.iter().fold(values.variables(*value), |used, case| {
                used | used_variables(&case.1, values)
            })
        }
    }
}
