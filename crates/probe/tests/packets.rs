//! Bytes of probes and replies, compared with the frame builders of `wire`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use tapline_probe::{EchoRequest, IcmpMessage, parse_icmpv4, parse_icmpv6, parse_ipv4, parse_ipv6};
use wire::build::{Extension, Frame};
use wire::{FragmentFields, Icmpv4Fields, Ipv4, Ipv4Fields, Ipv6, Ipv6Fields};

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const ROUTER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const NEAR6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
const FAR6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);
const ROUTER6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 1, 1);

fn icmp(kind: u8, code: u8, parameter: [u8; 4]) -> Icmpv4Fields {
    Icmpv4Fields {
        kind,
        code,
        checksum: 0,
        parameter,
    }
}

/// The identifier 0x1234 and the sequence number 0x5678.
const ECHO: [u8; 4] = [0x12, 0x34, 0x56, 0x78];

fn reply_v4(payload: &[u8]) -> Vec<u8> {
    Frame::raw()
        .ipv4(FAR, NEAR)
        .icmp(icmp(0, 0, ECHO))
        .payload(payload)
}

fn reply_v6(payload: &[u8]) -> Vec<u8> {
    Frame::raw()
        .ipv6(FAR6, NEAR6)
        .icmp(icmp(129, 0, ECHO))
        .payload(payload)
}

fn error_v4(kind: u8, quoted: &[u8]) -> Vec<u8> {
    Frame::raw()
        .ipv4(ROUTER, NEAR)
        .icmp(icmp(kind, 1, [0; 4]))
        .payload(quoted)
}

fn error_v6(kind: u8, quoted: &[u8]) -> Vec<u8> {
    Frame::raw()
        .ipv6(ROUTER6, NEAR6)
        .icmp(icmp(kind, 1, [0; 4]))
        .payload(quoted)
}

#[test]
fn requests_are_those_of_the_frame_builder() {
    for filler in [&[][..], &[1], &[0xff; 40], &[7; 1384]] {
        let mut v4 = EchoRequest::icmpv4(0x1234, filler);
        let mut v6 = EchoRequest::icmpv6(0x1234, filler);
        for (sequence, byte) in [(0, 0), (1, 0xff), (0xffff, 0x80), (0x5678, 3)] {
            let cookie = [byte; 16];
            let payload = [&cookie, filler].concat();
            let frame = Frame::raw().ipv4(NEAR, FAR).echo_request(0x1234, sequence);
            assert_eq!(
                v4.write(sequence, &cookie),
                &frame.payload(&payload)[Ipv4::LEN..]
            );
            let frame = Frame::raw()
                .ipv6(NEAR6, FAR6)
                .echo_request(0x1234, sequence);
            let written = v6.write_ipv6(sequence, &cookie, NEAR6, FAR6);
            assert_eq!(written, &frame.payload(&payload)[Ipv6::LEN..]);
            assert_eq!(v6.len(), 8 + 16 + filler.len());
        }
    }
}

#[test]
fn replies_are_read_with_their_padding_cut_off() {
    let payload = [9; 16];
    for (packet, source) in [
        (reply_v4(&payload), IpAddr::from(FAR)),
        (reply_v6(&payload), FAR6.into()),
    ] {
        let mut padded = packet.clone();
        padded.extend([0; 20]);
        let read = if source.is_ipv4() {
            parse_ipv4
        } else {
            parse_ipv6
        };
        for packet in [packet, padded] {
            let Some(IcmpMessage::Reply(reply)) = read(&packet) else {
                panic!("no reply");
            };
            assert_eq!((reply.source, reply.hops), (source, Some(64)));
            assert_eq!((reply.identifier, reply.sequence), (0x1234, 0x5678));
            assert_eq!((reply.intact, reply.payload), (true, &payload[..]));
        }
    }
}

#[test]
fn a_flipped_bit_anywhere_in_the_message_is_seen() {
    for at in (Ipv4::LEN + 1) * 8..reply_v4(&[9; 16]).len() * 8 {
        let mut packet = reply_v4(&[9; 16]);
        packet[at / 8] ^= 1 << (at % 8);
        assert!(matches!(parse_ipv4(&packet), Some(IcmpMessage::Reply(reply)) if !reply.intact));
        let mut packet = reply_v6(&[9; 16]);
        packet[at / 8 + Ipv6::LEN - Ipv4::LEN] ^= 1 << (at % 8);
        assert!(matches!(parse_ipv6(&packet), Some(IcmpMessage::Reply(reply)) if !reply.intact));
    }
}

#[test]
fn errors_are_read_however_little_they_quote() {
    let payload = [9; 32];
    let request = Frame::raw()
        .ipv4(NEAR, FAR)
        .echo_request(0x1234, 0x5678)
        .payload(&payload);
    let request6 = Frame::raw()
        .ipv6(NEAR6, FAR6)
        .echo_request(0x1234, 0x5678)
        .payload(&payload);
    for quoted in 0..=request.len() {
        let packet = error_v4(3, &request[..quoted]);
        let Some(IcmpMessage::Error(error)) = parse_ipv4(&packet) else {
            assert!(quoted < 28, "{quoted} bytes name the probe");
            continue;
        };
        assert!(quoted >= 28);
        assert_eq!(
            (error.router, error.kind, error.code),
            (ROUTER.into(), 3, 1)
        );
        assert_eq!(error.quote.destination, IpAddr::from(FAR));
        assert_eq!(
            (error.quote.identifier, error.quote.sequence),
            (0x1234, 0x5678)
        );
        assert_eq!(error.quote.payload, &payload[..quoted - 28]);
    }
    for quoted in 0..=request6.len() {
        let packet = error_v6(1, &request6[..quoted]);
        let Some(IcmpMessage::Error(error)) = parse_ipv6(&packet) else {
            assert!(quoted < 48, "{quoted} bytes name the probe");
            continue;
        };
        assert_eq!(
            (error.router, error.quote.destination),
            (ROUTER6.into(), FAR6.into())
        );
        assert_eq!(error.quote.payload, &payload[..quoted - 48]);
    }
}

#[test]
fn what_is_no_answer_is_passed_over() {
    let request = Frame::raw()
        .ipv4(NEAR, FAR)
        .echo_request(1, 1)
        .payload(&[9; 16]);
    assert_eq!(parse_ipv4(&request), None, "a request");
    let request6 = Frame::raw()
        .ipv6(NEAR6, FAR6)
        .echo_request(1, 1)
        .payload(&[9; 16]);
    assert_eq!(parse_ipv6(&request6), None, "a request");
    assert_eq!(
        parse_ipv4(&error_v4(3, &reply_v4(&[9; 16]))),
        None,
        "an error about a reply"
    );
    let udp = Frame::raw().ipv4(NEAR, FAR).udp(1, 2).payload(&[9; 16]);
    assert_eq!(parse_ipv4(&udp), None, "UDP");
    assert_eq!(parse_ipv4(&error_v4(3, &udp)), None, "an error about UDP");
    let fields = Ipv4Fields {
        more_fragments: true,
        ..Ipv4Fields::new(FAR, NEAR)
    };
    let fragment = Frame::raw()
        .ipv4_with(fields)
        .icmp(icmp(0, 0, ECHO))
        .payload(&[9; 16]);
    assert_eq!(parse_ipv4(&fragment), None, "a fragment");
    let fragment = Extension::Fragment(FragmentFields::default());
    let fields = Ipv6Fields::new(FAR6, NEAR6);
    let packet = Frame::raw()
        .ipv6_with(fields, &[fragment])
        .icmp(icmp(129, 0, ECHO));
    assert_eq!(parse_ipv6(&packet.payload(&[9; 16])), None, "a fragment");
    let options = Extension::Destination(&[0; 6]);
    let packet = Frame::raw()
        .ipv6_with(fields, &[options])
        .icmp(icmp(129, 0, ECHO));
    assert!(
        parse_ipv6(&packet.payload(&[9; 16])).is_some(),
        "behind options"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read(
        choice in 0..6,
        noise in prop::collection::vec(any::<u8>(), 0..120),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = match choice {
            0 => reply_v4(&noise),
            1 => reply_v6(&noise),
            2 => error_v4(11, &Frame::raw().ipv4(NEAR, FAR).echo_request(1, 2).payload(&noise)),
            3 => error_v6(3, &Frame::raw().ipv6(NEAR6, FAR6).echo_request(1, 2).payload(&noise)),
            _ => noise,
        };
        for (at, byte) in changes {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        bytes.truncate(end.index(bytes.len() + 1));
        for message in [
            parse_ipv4(&bytes),
            parse_ipv6(&bytes),
            parse_icmpv4(FAR.into(), None, &bytes, true),
            parse_icmpv6(FAR6, None, &bytes),
        ].into_iter().flatten() {
            let payload = match message {
                IcmpMessage::Reply(reply) => reply.payload,
                IcmpMessage::Error(error) => error.quote.payload,
            };
            prop_assert!(payload.len() < bytes.len());
        }
    }
}
