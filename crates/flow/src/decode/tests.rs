use proptest::prelude::*;
use wire::build::Frame;
use wire::{MacAddress, TcpFields};

use super::*;

fn frames() -> Vec<Vec<u8>> {
    let mac = MacAddress([2, 0, 0, 0, 0, 1]);
    let four = |last: u8| std::net::Ipv4Addr::new(10, 0, 0, last);
    let six = |last: u16| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last);
    let tcp = || TcpFields {
        source_port: 80,
        destination_port: 1000,
        ..TcpFields::default()
    };
    let ethernet = || Frame::ethernet(mac, mac);
    vec![
        ethernet()
            .ipv4(four(1), four(2))
            .udp(1000, 53)
            .payload(b"hello"),
        ethernet()
            .ipv4(four(2), four(1))
            .tcp(tcp())
            .payload(b"hello"),
        ethernet()
            .ipv6(six(1), six(2))
            .udp(1000, 53)
            .payload(b"hello"),
        ethernet().ipv6(six(2), six(1)).tcp(tcp()).payload(b"hello"),
        ethernet()
            .vlan(7)
            .ipv4(four(1), four(2))
            .udp(1000, 53)
            .payload(b"hello"),
    ]
}

proptest! {
    /// Both decoders agree on what both can decode, whatever is changed or cut off.
    #[test]
    fn the_direct_way_and_the_dissector_agree(
        frame in prop::sample::select(frames()),
        changes in prop::collection::vec((0..80_usize, any::<u8>()), 0..4),
        len in 0..80_usize,
        longer in 0..3000_u64,
    ) {
        let mut bytes = frame;
        for (at, value) in changes {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        bytes.truncate(len.max(1));
        let mut packet = FlowPacket::new(link_type::ETHERNET, &bytes, None);
        packet.len += longer;
        if let Some(segment) = plain(&packet) {
            prop_assert_eq!(Ok(segment), Segment::dissected(&packet));
        }
    }
}

#[test]
fn whole_frames_take_the_direct_way() {
    let plain_frames = frames().into_iter().take(4);
    for frame in plain_frames {
        assert!(plain(&FlowPacket::new(link_type::ETHERNET, &frame, None)).is_some());
    }
}

#[test]
fn what_has_no_flow_says_why() {
    let of = |bytes: &[u8]| {
        Segment::of(&FlowPacket::new(link_type::ETHERNET, bytes, None))
            .map(|segment| segment.key.ends().map(|end| end.port))
    };
    let frame = &frames()[0];
    assert_eq!(of(frame), Ok([1000, 53]));
    // A later fragment; the first one has its ports.
    let fragment = |field: u16| {
        let mut bytes = frame.clone();
        bytes[20..22].copy_from_slice(&field.to_be_bytes());
        bytes
    };
    assert_eq!(of(&fragment(0x2000)), Ok([1000, 53]));
    assert_eq!(of(&fragment(0x0010)), Err(NoFlow::Fragment));
    // Cut in the IP header, in the ports, and behind them.
    assert_eq!(of(&frame[..30]), Err(NoFlow::Malformed));
    assert_eq!(of(&frame[..37]), Err(NoFlow::Malformed));
    assert_eq!(of(&frame[..38]), Ok([1000, 53]));
    assert_eq!(of(&frame[..10]), Err(NoFlow::Malformed));
    let mut arp = frame.clone();
    arp[12..14].copy_from_slice(&[0x08, 0x06]);
    assert_eq!(of(&arp), Err(NoFlow::NotIp));
    assert_eq!(of(&arp[..20]), Err(NoFlow::NotIp));
    // SCTP has ports that nobody dissects; OSPF has none.
    for (protocol, ports) in [(132, [1000, 53]), (89, [0, 0])] {
        let mut other = frame.clone();
        other[23] = protocol;
        assert_eq!(of(&other), Ok(ports));
    }
}
