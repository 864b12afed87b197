//! Decoders of payloads on the seeds of their fuzz target, whole and damaged.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tapline_wire::{Application, Escaped, Gre, TcpOption, TcpOptions};

/// The seeds by name: a byte that chooses the decoder, as in the fuzz target, and a message.
fn seeds() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/corpus/decode");
    let read = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read(path).unwrap())
    };
    let mut seeds: Vec<_> = fs::read_dir(folder).unwrap().map(read).collect();
    seeds.sort();
    seeds
}

fn decode(choice: u8, bytes: &[u8]) -> Option<Application<'_>> {
    match choice {
        4 => Application::of_udp((5000, 53), bytes),
        5 => Application::of_udp((5353, 5353), bytes),
        6 => Application::of_udp((67, 68), bytes),
        7 => Application::of_udp((546, 547), bytes),
        8 => Application::of_udp((123, 123), bytes),
        9 => Application::of_udp((443, 5000), bytes),
        10 => Application::of_tcp((53, 5000), bytes),
        _ => Application::of_tcp((5000, 443), bytes),
    }
}

fn is_harmless(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// All that is printed about the message; it must be harmless, and its length bounded by the message's.
fn shown(choice: u8, bytes: &[u8]) -> String {
    let Some(application) = decode(choice, bytes) else {
        return String::new();
    };
    for text in [format!("{application}"), format!("{application:#}")] {
        assert!(is_harmless(&text), "{text:?}");
        assert!(text.len() <= 2000 + 600 * bytes.len(), "{}", text.len());
    }
    application.to_string()
}

#[test]
fn the_seeds_are_what_they_are_called() {
    let expected = [
        (
            "dhcp",
            "DHCP Offer xid 0x12345678 client 02:00:00:00:00:01 requested 10.0.0.1 server 192.168.1.1",
        ),
        ("dhcpv6", "DHCPv6 Solicit xid 0x123456"),
        (
            "dns_answer",
            "DNS 4660 1/0/0 A? example.com. A 93.184.216.34",
        ),
        ("dns_loop", "DNS 4660 1/0/0 A? <invalid>"),
        ("dns_query", "mDNS 4660+ A? example.com."),
        (
            "dns_stream",
            "DNS 4660 1/0/0 A? example.com. A 93.184.216.34; 4660",
        ),
        ("http_request", "HTTP GET /index.html HTTP/1.1"),
        ("http_response", "HTTP HTTP/1.1 200 OK"),
        ("ntp", "NTP v4 server stratum 1 poll 6 ref GPS"),
        ("quic", "QUIC v1 Initial dcid 8394c8f03e515708"),
        (
            "tls_hello",
            "TLS ClientHello sni example.com alpn h2,http/1.1",
        ),
    ];
    let seeds = seeds();
    for (name, start) in expected {
        let (_, bytes) = seeds.iter().find(|(found, _)| found == name).expect(name);
        let text = shown(bytes[0], &bytes[1..]);
        assert!(text.starts_with(start), "{name}: {text}");
    }
}

#[test]
fn cut_messages_are_printed_harmlessly() {
    for (_, bytes) in seeds() {
        for end in 1..bytes.len() {
            shown(bytes[0], &bytes[1..end]);
        }
    }
}

#[test]
fn options_of_any_length_end() {
    // An option that is longer than the header, one of length 0, and one behind the end.
    for (bytes, expected) in [
        (&[2, 4, 5][..], vec![None]),
        (&[2, 0, 5, 180], vec![None]),
        (&[0, 2, 4, 5, 180], vec![Some(TcpOption::End)]),
        (
            &[1, 3, 3, 7],
            vec![Some(TcpOption::Nop), Some(TcpOption::WindowScale(7))],
        ),
    ] {
        assert_eq!(TcpOptions::new(bytes).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn the_optional_fields_of_gre_are_skipped() {
    // Checksum, key and sequence number: 4 bytes each.
    let bytes = [0xb0, 0, 8, 0, 1, 2, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 0x45];
    let (gre, rest) = Gre::split(&bytes, 0).unwrap();
    assert_eq!(
        (gre.key(), gre.protocol(), rest),
        (Some(9), 0x0800, &[0x45][..])
    );
}

proptest! {
    #[test]
    fn damaged_messages_are_printed_harmlessly(
        index: prop::sample::Index,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let seeds = seeds();
        let mut bytes = index.get(&seeds).1.clone();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        for choice in 4..=11 {
            shown(choice, &bytes[1..]);
        }
        for option in TcpOptions::new(&bytes).flatten() {
            prop_assert!(is_harmless(&option.to_string()));
        }
    }

    #[test]
    fn any_bytes_are_printed_harmlessly(
        choice in 4_u8..=11,
        bytes in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        shown(choice, &bytes);
        prop_assert!(is_harmless(&Escaped::new(&bytes, 100).to_string()));
    }
}
