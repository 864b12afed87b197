#![no_main]

use std::str::FromStr;

use tapline::send::{
    AddressMap, Addresses, Clients, FlowRoles, Generator, PacketKind, Ports, Rewrite, SendQueue,
    Sizes, VxlanTunnel,
};
use wire::checksum::internet;
use wire::dissect;
use wire::dissect::Network;
use wire::protocol::link_type;
use wire::stamp::Stamp;

// Text is the flags of a generator, one a line: kind, sources, destinations, source ports, destination ports, lengths,
// address map, stream of a stamp, VLAN, network identifier of a tunnel. An empty line is a flag that is not given.
// Whatever the bytes are, they are also a frame that is changed, and from which the roles of its flow are learned.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let maps = [
        "10.0.0.0/8=192.0.2.0/24",
        "::/0=2001:db8::/32",
        "0.0.0.0/0=11.0.0.0/8",
    ];
    let mut rewrite = Rewrite::new();
    rewrite.maps = maps.iter().filter_map(|map| map.parse().ok()).collect();
    rewrite.fix_checksums = true;
    let mut frame = bytes.to_vec();
    rewrite.apply(&mut frame);
    assert_eq!(frame.len(), bytes.len());
    let mut roles = FlowRoles::default();
    roles.learn(bytes);
    // A flow whose client has the lower port is the exception.
    assert!(roles.reversed() <= 1);
    let by_ports = Clients::Auto.send(bytes);
    let is_reversed = roles.reversed() == 1;
    assert_eq!(Clients::Learned(roles).send(bytes), by_ports != is_reversed);
    if let Ok(text) = std::str::from_utf8(bytes) {
        generate(text);
    }
});

fn generate(text: &str) {
    let mut lines = text.lines();
    let kind = match lines.next() {
        Some("udp") => PacketKind::Udp,
        Some("tcp-syn") => PacketKind::TcpSyn,
        Some("icmp") => PacketKind::Icmp,
        Some("arp") => PacketKind::Arp,
        Some(line) => PacketKind::Raw(line.as_bytes().to_vec()),
        None => return,
    };
    fn next<'t, T: FromStr>(lines: &mut impl Iterator<Item = &'t str>) -> Option<T> {
        lines.next().unwrap_or_default().parse().ok()
    }
    let mut generator = Generator::new(kind).packets(40);
    generator.sources = next::<Addresses>(&mut lines);
    generator.destinations = next::<Addresses>(&mut lines);
    generator.source_ports = next::<Ports>(&mut lines);
    generator.destination_ports = next::<Ports>(&mut lines);
    generator.sizes = next::<Sizes>(&mut lines);
    let map = next::<AddressMap>(&mut lines);
    generator = generator
        .stamp(next::<u16>(&mut lines))
        .vlan(next::<u16>(&mut lines));
    let ends = |last| std::net::IpAddr::from([192, 0, 2, last]);
    let tunnel = |vni| VxlanTunnel {
        vni,
        source: ends(1),
        destination: ends(2),
    };
    generator = generator.vxlan(next::<u32>(&mut lines).map(tunnel));
    let (is_raw, has_stamp) = (
        matches!(generator.kind, PacketKind::Raw(_)),
        generator.stamp.is_some(),
    );
    let bounds = generator.sizes.as_ref().map(Sizes::bounds);
    let is_exact = generator
        .sizes
        .as_ref()
        .is_some_and(|sizes| *sizes != "imix".parse().expect("a mix"));
    let Ok(mut source) = generator.into_source() else {
        return;
    };
    let mut queue = SendQueue::default();
    source(&mut queue).expect("packets");
    assert!(queue.len() <= 40);
    let mut rewrite = Rewrite::new();
    rewrite.maps.extend(map);
    for packet in queue.packets() {
        if let (Some((least, most)), true) = (bounds, is_exact) {
            assert!((least..=most).contains(&packet.bytes.len()));
        }
        if is_raw {
            continue;
        }
        check(packet.bytes);
        assert_eq!(
            Stamp::find(link_type::ETHERNET, packet.bytes).is_some(),
            has_stamp
        );
        let mut frame = packet.bytes.to_vec();
        rewrite.apply(&mut frame);
        check(&frame);
    }
}

/// The headers fit together, and the checksum of an IPv4 header is right.
fn check(frame: &[u8]) {
    let summary = dissect(link_type::ETHERNET, frame);
    assert_eq!(summary.error, None, "{frame:02x?}");
    if let (Network::Ipv4(header), Some(at)) = (summary.network, summary.network_at()) {
        assert_eq!(internet(&frame[at..at + header.header_len()]), 0);
        assert_eq!(usize::from(header.total_length()), frame.len() - at);
    }
}
