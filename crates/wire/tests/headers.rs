//! Encoded headers parse to the same fields; invalid headers are rejected with a position.

use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};
use tapline_wire::*;

fn mac() -> impl Strategy<Value = MacAddress> {
    any::<[u8; 6]>().prop_map(MacAddress)
}

fn ipv4() -> impl Strategy<Value = Ipv4Addr> {
    any::<u32>().prop_map(Ipv4Addr::from_bits)
}

fn ipv6() -> impl Strategy<Value = Ipv6Addr> {
    any::<u128>().prop_map(Ipv6Addr::from_bits)
}

/// Encodes `fields`, parses them as `$view` and encodes them again.
macro_rules! assert_round_trip {
    ($view:ident, $fields:expr) => {{
        let fields = $fields;
        let bytes = fields.bytes();
        prop_assert_eq!(bytes.len(), $view::LEN);
        let (view, rest) = $view::split(&bytes, 0).unwrap();
        prop_assert!(rest.is_empty());
        prop_assert_eq!(view.fields(), fields);
        prop_assert_eq!(view.fields().bytes(), bytes);
    }};
}

proptest! {
    #[test]
    fn the_link_layer_reads_as_written(
        destination in mac(), source in mac(), ethertype: u16,
        id in 0_u16..4096, priority in 0_u8..8, drop_eligible: bool,
    ) {
        assert_round_trip!(Ethernet, EthernetFields { destination, source, ethertype });
        assert_round_trip!(Vlan, VlanFields { id, priority, drop_eligible, ethertype });
    }

    #[test]
    fn arp_reads_as_written(
        operation: u16, sender_mac in mac(), sender_ip in ipv4(), target_mac in mac(),
        target_ip in ipv4(),
    ) {
        let operation = ArpOperation(operation);
        assert_round_trip!(Arp, ArpFields { operation, sender_mac, sender_ip, target_mac, target_ip });
    }

    #[test]
    fn ipv4_reads_as_written(
        source in ipv4(), destination in ipv4(), words in 0_usize..16, dscp in 0_u8..64, ecn in 0_u8..4,
        (total_length, identification, checksum) in any::<(u16, u16, u16)>(), (ttl, protocol) in any::<(u8, u8)>(),
        (dont_fragment, more_fragments) in any::<(bool, bool)>(), offset in 0_u16..8192,
    ) {
        assert_round_trip!(Ipv4, Ipv4Fields {
            header_len: words * 4, dscp, ecn, total_length, identification, dont_fragment,
            more_fragments, fragment_offset: offset * 8, ttl, protocol, checksum, source, destination,
        });
    }

    #[test]
    fn ipv6_reads_as_written(
        source in ipv6(), destination in ipv6(), traffic_class: u8, flow_label in 0_u32..1 << 20,
        payload_length: u16, next_header: u8, hop_limit: u8,
        offset in 0_u16..8192, more: bool, identification: u32,
    ) {
        assert_round_trip!(Fragment, FragmentFields {
            next_header, offset: offset * 8, more, identification,
        });
        let fields = Ipv6Fields {
            traffic_class, flow_label, payload_length, next_header, hop_limit, source, destination,
        };
        assert_round_trip!(Ipv6, fields);
    }

    #[test]
    fn the_transport_layer_reads_as_written(
        (source_port, destination_port, length, checksum) in any::<(u16, u16, u16, u16)>(),
        (sequence, acknowledgment, window, urgent) in any::<(u32, u32, u16, u16)>(),
        words in 0_usize..16, flags in 0_u16..512,
        (kind, code) in any::<(u8, u8)>(), parameter in any::<[u8; 4]>(),
    ) {
        assert_round_trip!(Udp, UdpFields { source_port, destination_port, length, checksum });
        assert_round_trip!(Tcp, TcpFields {
            source_port, destination_port, sequence, acknowledgment, header_len: words * 4,
            flags: TcpFlags(flags), window, checksum, urgent,
        });
        assert_round_trip!(Icmpv4, Icmpv4Fields { kind, code, checksum, parameter });
        assert_round_trip!(Icmpv6, Icmpv6Fields { kind, code, checksum, parameter });
    }

    #[test]
    fn any_bytes_dissect_within_their_bounds(
        link_type in proptest::sample::select(vec![0_u16, 1, 9, 50, 101, 104, 108, 113, 228, 229, 276, 999]),
        ethertype in proptest::sample::select(vec![0x0800_u16, 0x0806, 0x8100, 0x86dd, 0x1234]),
        mut bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        if let Some(place) = bytes.get_mut(12..14) {
            place.copy_from_slice(&ethertype.to_be_bytes());
        }
        let summary = dissect(link_type, &bytes);
        prop_assert!(summary.at + summary.payload.len() <= bytes.len());
        prop_assert!(summary.vlans().count() <= dissect::MAX_VLANS);
        if let Some(HeaderError::Truncated(error)) = summary.error {
            prop_assert!(error.need > error.have && error.at <= bytes.len());
        }
    }
}

#[test]
fn a_truncated_header_reports_the_needed_length() {
    let error = Udp::split(&[0; 7], 34).unwrap_err();
    assert_eq!(
        (error.layer, error.at, error.need, error.have),
        ("UDP", 34, 8, 7)
    );
    assert_eq!(
        error.to_string(),
        "UDP header at byte 34 needs 8 bytes and has 7"
    );
}

#[test]
fn an_inconsistent_header_names_the_field() {
    let mut header = Ipv4Fields::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    header.header_len = 16;
    let bytes = header.bytes();
    let (view, rest) = Ipv4::split(&bytes, 14).unwrap();
    let error = view.split_options(rest, 14).unwrap_err();
    assert_eq!(
        error.to_string(),
        "IPv4 header at byte 14 has header length 16"
    );
    let error = Ipv6::split(&bytes, 14).unwrap_err();
    assert_eq!(error.to_string(), "IPv6 header at byte 14 has version 4");
}

#[test]
fn the_number_of_parsed_extension_headers_is_bounded() {
    // A destination-options header of 8 bytes that announces another one, many times.
    let chain = [60, 0, 0, 0, 0, 0, 0, 0].repeat(100);
    let walked = Extensions::walk(protocol::ip::DESTINATION, &chain, 54).unwrap();
    assert_eq!(
        (walked.count, walked.protocol),
        (MAX_EXTENSIONS, protocol::ip::DESTINATION)
    );
    assert_eq!(walked.at, 54 + 8 * MAX_EXTENSIONS);
}

#[test]
fn nothing_is_parsed_after_a_later_fragment() {
    let fields = FragmentFields {
        next_header: protocol::ip::DESTINATION,
        offset: 8,
        more: false,
        identification: 1,
    };
    let bytes = [fields.bytes(), [60; 8]].concat();
    let walked = Extensions::walk(protocol::ip::FRAGMENT, &bytes, 0).unwrap();
    assert_eq!((walked.count, walked.payload), (1, [60; 8].as_slice()));
}

#[test]
fn flags_are_printed_as_in_tcpdump() {
    assert_eq!((TcpFlags::SYN | TcpFlags::ACK).to_string(), "S.");
    assert_eq!(
        (TcpFlags::PSH | TcpFlags::FIN | TcpFlags::ACK).to_string(),
        "FP."
    );
    assert_eq!(TcpFlags(0).to_string(), "none");
}
