use crate::graph::condition::Condition;
use crate::graph::values::Width;
use crate::language::tree::Operator;
use crate::lower::layers::limits::GTP_EXTENSION_HEADERS;
use crate::lower::lowering::Lowering;
use crate::lower::protocol_numbers::{
    ETHERNET_IN_GENEVE, GENEVE_PORT, GRE, GTP_PORT, IPV4, IPV4_IN_IP, IPV6, IPV6_IN_IP, UDP,
    VXLAN_PORT,
};

/// Length of a UDP header.
const UDP_BYTES: u32 = 8;
/// The flags of GRE headers that are not passed: routing (RFC 1701), and versions other than 0.
const GRE_OTHER: u32 = 0x4007;
/// Version 1 with the flag "protocol type", and the message type of user data.
const GTP_VERSION: u32 = 0x30;
const GTP_DATA: u32 = 0xff;

impl Lowering<'_> {
    /// Passes the tunnel header of protocol `KIND` at `POSITION`. Sets `KIND` to the EtherType of what is inside.
    pub(super) fn tunnel_header(&mut self) -> Condition {
        let is_ip6 = Condition::all([self.is_kind(IPV6_IN_IP), self.set_kind(IPV6)]);
        let is_ip = self.is_kind(IPV4_IN_IP);
        let other = Condition::choose(is_ip, self.set_kind(IPV4), is_ip6);
        let is_gre = self.is_kind(GRE);
        let other = Condition::choose(is_gre, self.gre_header(), other);
        let is_udp = self.is_kind(UDP);
        Condition::choose(is_udp, self.udp_tunnel(), other)
    }

    fn udp_tunnel(&mut self) -> Condition {
        let port = self.position_field(Width::Half, 2);
        let gtp = Condition::all([self.values.equal(port, GTP_PORT), self.gtp_header()]);
        let is_geneve = self.values.equal(port, GENEVE_PORT);
        let other = Condition::choose(is_geneve, self.geneve_header(), gtp);
        let is_vxlan = self.values.equal(port, VXLAN_PORT);
        Condition::choose(is_vxlan, self.vxlan_header(), other)
    }

    /// RFC 2784 and 2890: checksum, key and sequence number are optional, 4 bytes each.
    fn gre_header(&mut self) -> Condition {
        let flags = self.position_field(Width::Half, 0);
        let is_other = self.values.any_bit(flags, GRE_OTHER);
        let kind = self.load_kind(Width::Half, 2);
        let flags = self.position_field(Width::Byte, 0);
        // Each flag (0x80, 0x20, 0x10) becomes 4 if it is set.
        let values = &mut self.values;
        let mut bytes = |shift| {
            let shifted = values.binary_constant(Operator::ShiftRight, flags, shift);
            values.binary_constant(Operator::And, shifted, 4)
        };
        let [checksum, key, sequence] = [bytes(5), bytes(3), bytes(2)];
        let optional = values.binary(Operator::Add, checksum, key);
        let optional = values.binary(Operator::Add, sequence, optional);
        let pass = self.advance_by(optional, 4);
        Condition::all([is_other.negate(), kind, pass])
    }

    /// RFC 7348: the flag for a valid network id is set.
    fn vxlan_header(&mut self) -> Condition {
        let flags = self.position_field(Width::Byte, UDP_BYTES);
        let has_id = self.values.any_bit(flags, 0x08);
        let kind = self.set_kind(ETHERNET_IN_GENEVE);
        Condition::all([has_id, kind, self.advance(UDP_BYTES + 8)])
    }

    /// RFC 8926: version 0, options of 4 bytes.
    fn geneve_header(&mut self) -> Condition {
        let first = self.position_field(Width::Byte, UDP_BYTES);
        let is_other = self.values.any_bit(first, 0xc0);
        let kind = self.load_kind(Width::Half, UDP_BYTES + 2);
        let words = self.values.binary_constant(Operator::And, first, 0x3f);
        let options = self.values.binary_constant(Operator::ShiftLeft, words, 2);
        let pass = self.advance_by(options, UDP_BYTES + 8);
        Condition::all([is_other.negate(), kind, pass])
    }

    /// 3GPP TS 29.281: user data in version 1, with optional fields and extension headers.
    fn gtp_header(&mut self) -> Condition {
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
