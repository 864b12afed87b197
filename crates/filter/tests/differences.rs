//! Filters for which back ends must agree in corner cases. Expected values are from libpcap 1.10.3,
//! or computed by hand.

use tapline_filter::classic::Ancillary;
use tapline_filter::{Filter, FilterOptions, LinkType, NoNames};

/// The value of the interpreter; asserts that the classic program returns the same.
#[track_caller]
fn value(link: LinkType, text: &str, packet: &[u8]) -> u32 {
    let filter = Filter::new(text, &FilterOptions::new(link), &NoNames).unwrap();
    let length = packet.len() as u32;
    let walked = filter.run(packet, length, &Ancillary::default());
    let program = filter.classic().unwrap();
    assert_eq!(program.run(packet, length), walked, "{}", program.listing());
    walked
}

fn ports(range: std::ops::Range<u16>) -> String {
    let ports: Vec<String> = range.map(|port| format!("port {}", 3 * port)).collect();
    ports.join(" or ")
}

#[test]
fn a_unary_minus_binds_looser_than_modulo_and_xor() {
    // -(17 % 28), not (-17) % 28, which is 7.
    assert_ne!(value(LinkType::Ipv4, "-ip[0] % 28 > 9", &[17]), 0);
    assert_ne!(value(LinkType::Ipv4, "- ip[0] ^ 1 = 0xfffffff0", &[17]), 0);
    assert_ne!(value(LinkType::Ipv4, "-ip[0] + 18 = 1", &[17]), 0);
    assert_eq!(value(LinkType::Ipv4, "-ip[0] * 2 = 34", &[17]), 0);
}

#[test]
fn a_list_before_a_redundant_test() {
    let protocols: Vec<String> = (20..36).map(|number| format!("proto {number}")).collect();
    let text = format!("{} or not ether proto 0xf0", protocols.join(" or "));
    let mut frame = [0; 60];
    frame[12] = 8;
    for end in 0..frame.len() {
        value(LinkType::Ethernet, &text, &frame[..end]);
    }
}

#[test]
fn a_list_of_every_number_still_reads_the_field() {
    let text = format!(
        "{} or portrange 0-40000 or portrange 30000-65535",
        ports(1..20)
    );
    let mut packet = vec![0; 24];
    packet[..10].copy_from_slice(&[0x45, 0, 0, 24, 0, 0, 0, 0, 64, 17]);
    assert_ne!(value(LinkType::Ipv4, &text, &packet), 0);
    for end in 0..packet.len() {
        let expected = if end < 22 { 0 } else { 262_144 };
        assert_eq!(value(LinkType::Ipv4, &text, &packet[..end]), expected);
    }
}

#[test]
fn ranges_of_a_list_match_at_both_ends() {
    let mut text = ports(1..20);
    text += " or portrange 100-200 or portrange 65000-65535";
    let takes = |port: u16| {
        let mut packet = vec![0; 24];
        packet[..10].copy_from_slice(&[0x45, 0, 0, 24, 0, 0, 0, 0, 64, 6]);
        packet[20..22].copy_from_slice(&port.to_be_bytes());
        packet[22..24].copy_from_slice(&1u16.to_be_bytes());
        value(LinkType::Ipv4, &text, &packet) != 0
    };
    let listed = |port: u16| {
        (3..60).contains(&port) && port.is_multiple_of(3)
            || (100..=200).contains(&port)
            || port >= 65_000
    };
    for port in (0..400).chain(64_990..=65_535) {
        assert_eq!(takes(port), listed(port), "{port}");
    }
}

#[test]
fn a_coarse_program_accepts_tunnels_after_a_list() {
    let protocols: Vec<String> = (100..117).map(|number| format!("proto {number}")).collect();
    let text = format!("({} or geneve) and net 10.0.0.0/8", protocols.join(" or "));
    let mut packet = vec![0; 64];
    packet[0] = 0x45;
    packet[9] = 17;
    packet[22..24].copy_from_slice(&6081u16.to_be_bytes());
    // Geneve with an IPv4 packet inside, from 10.0.0.0.
    packet[30..32].copy_from_slice(&[8, 0]);
    packet[36] = 0x45;
    packet[48] = 10;
    assert_ne!(value(LinkType::Ipv4, &text, &packet), 0);
    let filter = Filter::new(&text, &FilterOptions::new(LinkType::Ipv4), &NoNames).unwrap();
    assert_ne!(filter.coarse().run(&packet, 64), 0);
}
