//! Grouping a class's packets by key.

use std::collections::BTreeMap;

use crate::support::count::{named, open, options, tagged, traffic, until, with};
use lab::generator::udp_frame;
use lab::kernel::{LONG_JUMPS, XDP_FRAGMENTS};
use lab::skip::without;
use lab::{Host, Net};
use tapline::count::{
    CountDirection, Group, GroupBy, GroupKey, IngressHook, Traffic, XdpAttachMode,
};

const IPV6_HEADER: [u8; 40] = {
    let mut header = [0; 40];
    header[0] = 0x60;
    header[5] = 16;
    header[7] = 64;
    header[8] = 0x20;
    header[23] = 1;
    header[24] = 0x20;
    header[39] = 2;
    header
};

/// A datagram over IPv6 behind a hop-by-hop header, from port 5 to port 6.
fn ipv6() -> Vec<u8> {
    let ethernet = &udp_frame(60)[..12];
    let mut header = IPV6_HEADER;
    let hop_by_hop = [17, 0, 1, 4, 0, 0, 0, 0];
    header[6] = 0;
    let udp = [0, 5, 0, 6, 0, 8, 0, 0];
    [ethernet, &[0x86, 0xdd], &header, &hop_by_hop, &udp].concat()
}

/// A later fragment: it has no ports.
fn fragment() -> Vec<u8> {
    let mut frame = udp_frame(60);
    frame[20..22].copy_from_slice(&[0, 9]);
    frame
}

fn arp() -> Vec<u8> {
    let mut frame = udp_frame(60);
    frame[12..14].copy_from_slice(&[8, 6]);
    frame
}

/// The frames to send, repeated as often as expected.
fn frames() -> Vec<Vec<u8>> {
    let kinds = [
        (2, udp_frame(60)),
        (3, tagged(0x8100, 7, &udp_frame(60))),
        (5, tagged(0x88a8, 9, &tagged(0x8100, 8, &udp_frame(60)))),
        (7, ipv6()),
        (11, fragment()),
        (13, arp()),
    ];
    let repeat = |(count, frame): (usize, Vec<u8>)| vec![frame; count];
    kinds.into_iter().flat_map(repeat).collect()
}

fn address(text: &str) -> GroupKey {
    GroupKey::Address(text.parse().unwrap())
}

/// Number of packets per group.
type Groups = Vec<(GroupKey, u64)>;

/// For each key: the groups, and the number of packets in no group.
fn expected() -> Vec<(GroupBy, Groups, u64)> {
    let ip = 2 + 3 + 5 + 11;
    vec![
        (
            GroupBy::Src,
            vec![(address("198.18.0.1"), ip), (address("2000::1"), 7)],
            13,
        ),
        (
            GroupBy::Dst,
            vec![(address("198.18.0.2"), ip), (address("2000::2"), 7)],
            13,
        ),
        (
            GroupBy::SrcPort,
            vec![(GroupKey::Port(9), 10), (GroupKey::Port(5), 7)],
            24,
        ),
        (
            GroupBy::DstPort,
            vec![(GroupKey::Port(9), 10), (GroupKey::Port(6), 7)],
            24,
        ),
        (
            GroupBy::Protocol,
            vec![(GroupKey::Protocol(17), ip + 7)],
            13,
        ),
        (
            GroupBy::Vlan,
            vec![(GroupKey::Vlan(9), 5), (GroupKey::Vlan(7), 3)],
            33,
        ),
        (
            GroupBy::EtherType,
            vec![
                (GroupKey::EtherType(0x0800), ip),
                (GroupKey::EtherType(0x0806), 13),
                (GroupKey::EtherType(0x86dd), 7),
            ],
            0,
        ),
        (
            GroupBy::SrcMac,
            vec![(GroupKey::Mac([2, 0, 0, 0, 0, 1]), 41)],
            0,
        ),
        (
            GroupBy::DstMac,
            vec![(GroupKey::Mac([2, 0, 0, 0, 0, 2]), 41)],
            0,
        ),
    ]
}

#[test]
fn packets_are_grouped_by_each_key_at_each_hook() {
    if without(&XDP_FRAGMENTS) {
        return;
    }
    assert_eq!(expected().len(), GroupBy::ALL.len());
    for (key, groups, without_key) in expected() {
        let [left, right] = Net::new().pair();
        let of = |host: &Host, direction, ingress| {
            with!(
                options(host, direction, &["ether src 02:00:00:00:00:01"]);
                by: Some(key),
                ingress: ingress,
            )
        };
        let mut counts = [
            open(&left, of(&left, CountDirection::Out, IngressHook::Auto)),
            open(
                &right,
                of(
                    &right,
                    CountDirection::In,
                    IngressHook::Xdp(XdpAttachMode::Native),
                ),
            ),
            open(&right, of(&right, CountDirection::In, IngressHook::Tc)),
        ];
        left.send(frames());
        for count in &mut counts {
            let snapshot = until(count, |s| s.classes[0].traffic.packets == 41);
            let class = &snapshot.classes[0];
            let counted: Vec<_> = (class.groups.iter())
                .map(|group| (group.key, group.traffic.packets))
                .collect();
            assert_eq!(counted, groups, "{key:?}");
            assert_eq!(class.without_key.packets, without_key, "{key:?}");
            assert_eq!(class.other, Traffic::default());
            let bytes: u64 = class.groups.iter().map(|group| group.traffic.bytes).sum();
            assert_eq!(bytes + class.without_key.bytes, class.traffic.bytes);
        }
    }
}

/// Datagrams from `sources` addresses, `of_each` from each.
fn from_many(sources: u16, of_each: usize) -> Vec<Vec<u8>> {
    let frame = |source: u16| {
        let mut frame = udp_frame(100);
        frame[28..30].copy_from_slice(&source.to_be_bytes());
        frame
    };
    let round: Vec<_> = (0..sources).map(frame).collect();
    vec![round; of_each].concat()
}

#[test]
fn groups_beyond_the_maximum_count_as_other() {
    let [left, right] = Net::new().pair();
    let options = with!(
        options(&right, CountDirection::In, &["udp port 9"]);
        by: Some(GroupBy::Src),
        groups: 300,
    );
    let mut count = open(&right, options);
    left.send(from_many(1000, 4));
    let snapshot = until(&mut count, |s| s.classes[0].traffic.packets == 4000);
    let class = &snapshot.classes[0];
    assert_eq!(class.groups.len(), 300);
    assert!(
        class
            .groups
            .iter()
            .all(|group| group.traffic == traffic(4, 400))
    );
    assert_eq!(class.other, traffic(4 * 700, 400 * 700));
    assert_eq!(class.without_key, traffic(0, 0));
}

#[test]
fn intervals_have_the_groups_of_their_own_packets_only() {
    let [left, right] = Net::new().pair();
    let mut options = with!(
        options(&right, CountDirection::In, &["udp port 9"]);
        by: Some(GroupBy::Src),
    );
    options.classes.push(named("none", "tcp port 1"));
    let mut count = open(&right, options);
    let mut sum = BTreeMap::new();
    for (round, sources) in [(1, 3), (2, 2)] {
        left.send(from_many(sources, round));
        let so_far = if round == 1 { 3 } else { 3 + 4 };
        until(&mut count, |s| s.classes[0].traffic.packets == so_far);
        let last = count.end_interval().unwrap();
        assert_eq!(last.classes[0].groups.len(), usize::from(sources));
        assert!(last.classes[1].groups.is_empty());
        for group in &last.classes[0].groups {
            assert_eq!(group.traffic.packets, round as u64);
            *sum.entry(group.key).or_insert(0) += group.traffic.packets;
        }
    }
    assert_eq!(sum.into_values().collect::<Vec<_>>(), [3, 3, 1]);
}

#[test]
fn the_maximum_number_of_classes_have_separate_groups() {
    const CLASSES: u16 = 256;
    if without(&LONG_JUMPS) {
        return;
    }
    let [left, right] = Net::new().pair();
    let filters: Vec<String> = (1..=CLASSES)
        .map(|port| format!("udp dst portrange {port}-{CLASSES}"))
        .collect();
    let filters: Vec<&str> = filters.iter().map(String::as_str).collect();
    let with_groups = |host: &Host, direction| {
        with!(
            options(host, direction, &filters);
            by: Some(GroupBy::DstPort),
            groups: 40_000,
        )
    };
    let mut counts = [
        open(&left, with_groups(&left, CountDirection::Out)),
        open(&right, with_groups(&right, CountDirection::In)),
    ];
    let frame = |port: u16| {
        let mut frame = udp_frame(60);
        frame[36..38].copy_from_slice(&port.to_be_bytes());
        frame
    };
    let frames: Vec<_> = (1..=CLASSES).map(frame).collect();
    left.send(&frames);
    for count in &mut counts {
        let all = u64::from(CLASSES);
        let snapshot = until(count, |s| s.classes[0].traffic.packets == all);
        for (first, class) in (1..).zip(&snapshot.classes) {
            let ports: Vec<_> = (first..=CLASSES).map(GroupKey::Port).collect();
            let mut keys: Vec<_> = class.groups.iter().map(|group| group.key).collect();
            keys.sort();
            assert_eq!(keys, ports, "{}", class.name);
            let is_one = |group: &Group| group.traffic == traffic(1, 60);
            assert!(class.groups.iter().all(is_one), "{}", class.name);
        }
    }
}
