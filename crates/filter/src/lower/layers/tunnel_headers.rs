//! Skips tunnel headers.

use crate::graph::condition::Condition;
use crate::graph::values::{ValueId, Width};
use crate::language::tree::Operator;
use crate::lower::layers::limits::GTP_EXTENSION_HEADERS;
use crate::lower::lowering::{FieldBase, KIND, Lowered, Lowering};
use crate::lower::protocol_numbers::{
    ETHERNET_IN_GENEVE, GENEVE_PORT, GRE, GTP_PORT, IPV4, IPV4_IN_IP, IPV6, IPV6_IN_IP, VXLAN_PORT,
};

/// Length of a UDP header.
const UDP_BYTES: u32 = 8;
/// The flags of GRE headers that are not passed: routing (RFC 1701), and versions other than 0.
const GRE_OTHER: u32 = 0x4007;
/// Version 1 with the flag "protocol type", and the message type of user data.
const GTP_VERSION: u32 = 0x30;
const GTP_DATA: u32 = 0xff;

impl Lowering<'_> {
    /// Passes the tunnel header of this IP protocol at `base`, except for UDP. Sets `KIND` to the EtherType of what is
    /// inside and `POSITION` to its offset.
    pub(super) fn ip_tunnel(&mut self, protocol: ValueId, base: FieldBase) -> Lowered {
        let inside = [(IPV4_IN_IP, IPV4), (IPV6_IN_IP, IPV6)];
        let mut other = Condition::Constant(false);
        for (number, kind) in inside {
            let is_this = self.values.equal(protocol, number);
            let pass = Condition::all([self.go_to(base, None, 0)?, self.set_kind(kind)]);
            other = Condition::choose(is_this, pass, other);
        }
        let is_gre = self.values.equal(protocol, GRE);
        Ok(Condition::choose(is_gre, self.gre_header(base)?, other))
    }

    /// The same for a UDP header. `gtp` passes the header of GTP-U, which is long.
    pub(super) fn udp_tunnel(&mut self, base: FieldBase, gtp: Condition) -> Lowered {
        let port = self.load(base, 2, Width::Half)?;
        let gtp = Condition::all([self.values.equal(port, GTP_PORT), gtp]);
        let is_geneve = self.values.equal(port, GENEVE_PORT);
        let other = Condition::choose(is_geneve, self.geneve_header(base)?, gtp);
        let is_vxlan = self.values.equal(port, VXLAN_PORT);
        Ok(Condition::choose(is_vxlan, self.vxlan_header(base)?, other))
    }

    /// RFC 2784 and 2890: checksum, key and sequence number are optional, 4 bytes each.
    fn gre_header(&mut self, base: FieldBase) -> Lowered {
        let flags = self.load(base, 0, Width::Half)?;
        let is_other = self.values.any_bit(flags, GRE_OTHER);
        let kind = Condition::Let(KIND, self.load(base, 2, Width::Half)?);
        let flags = self.load(base, 0, Width::Byte)?;
        // Each flag (0x80, 0x20, 0x10) becomes 4 if it is set.
        let values = &mut self.values;
        let mut bytes = |shift| {
            let shifted = values.binary_constant(Operator::ShiftRight, flags, shift);
            values.binary_constant(Operator::And, shifted, 4)
        };
        let [checksum, key, sequence] = [bytes(5), bytes(3), bytes(2)];
        let optional = values.binary(Operator::Add, checksum, key);
        let optional = values.binary(Operator::Add, sequence, optional);
        let pass = self.go_to(base, Some(optional), 4)?;
        Ok(Condition::all([is_other.negate(), kind, pass]))
    }

    /// RFC 7348: the flag for a valid network id is set.
    fn vxlan_header(&mut self, base: FieldBase) -> Lowered {
        let flags = self.load(base, UDP_BYTES, Width::Byte)?;
        let has_id = self.values.any_bit(flags, 0x08);
        let pass = self.go_to(base, None, UDP_BYTES + 8)?;
        Ok(Condition::all([
            has_id,
            pass,
            self.set_kind(ETHERNET_IN_GENEVE),
        ]))
    }

    /// RFC 8926: version 0, options of 4 bytes.
    fn geneve_header(&mut self, base: FieldBase) -> Lowered {
        let first = self.load(base, UDP_BYTES, Width::Byte)?;
        let is_other = self.values.any_bit(first, 0xc0);
        let kind = Condition::Let(KIND, self.load(base, UDP_BYTES + 2, Width::Half)?);
        let words = self.values.binary_constant(Operator::And, first, 0x3f);
        let options = self.values.binary_constant(Operator::ShiftLeft, words, 2);
        let pass = self.go_to(base, Some(options), UDP_BYTES + 8)?;
        Ok(Condition::all([is_other.negate(), kind, pass]))
    }

    /// 3GPP TS 29.281: user data in version 1, with optional fields and extension headers. At `POSITION`.
    pub(super) fn gtp_header(&mut self) -> Condition {
        let first = self.position_field(Width::Byte, UDP_BYTES);
        let is_version = self.values.masked_equal(first, 0xf0, GTP_VERSION);
        let message = self.position_field(Width::Byte, UDP_BYTES + 1);
        let is_data = self.values.equal(message, GTP_DATA);
        let has_fields = self.values.any_bit(first, 0x07);
        let has_extensions = self.values.any_bit(first, 0x04);
        let first_extension = self.load_kind(Width::Byte, UDP_BYTES + 11);
        let mut optional = vec![
            Condition::choose(has_extensions, first_extension, self.set_kind(0)),
            self.advance(UDP_BYTES + 12),
        ];
        for _ in 0..GTP_EXTENSION_HEADERS {
            let is_end = self.is_kind(0);
            let words = self.position_field(Width::Byte, 0);
            let length = self.values.binary_constant(Operator::ShiftLeft, words, 2);
            // The last byte is the type of the next extension header.
            let last = self
                .values
                .binary_constant(Operator::Add, length, 1u32.wrapping_neg());
            let pass = [
                self.advance_by(last, 0),
                self.load_kind(Width::Byte, 0),
                self.advance(1),
            ];
            let pass = Condition::all(pass);
            optional.push(Condition::choose(is_end, Condition::Constant(true), pass));
        }
        optional.push(self.is_kind(0));
        let plain = self.advance(UDP_BYTES + 8);
        Condition::all([
            is_version,
            is_data,
            Condition::choose(has_fields, Condition::all(optional), plain),
            self.ip_version(),
        ])
    }
}
