//! Splitting classes by what packets have in common.

mod count_support;

use std::collections::BTreeMap;

use count_support::{named, open, options, tagged, tally, until};
use lab::generator::{send_frames, udp_frame};
use lab::{Host, Net};
use tapline::count::{Direction, Group, GroupKey, Ingress, Key, Options, Tally, XdpPlace};

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

/// What is sent, and how often.
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

/// How many packets there are of each group.
type Groups = Vec<(GroupKey, u64)>;

/// By key: the groups, and how many packets are in none.
fn expected() -> Vec<(Key, Groups, u64)> {
    let ip = 2 + 3 + 5 + 11;
    vec![
        (
            Key::Src,
            vec![(address("198.18.0.1"), ip), (address("2000::1"), 7)],
            13,
        ),
        (
            Key::Dst,
            vec![(address("198.18.0.2"), ip), (address("2000::2"), 7)],
            13,
        ),
        (
            Key::SrcPort,
            vec![(GroupKey::Port(9), 10), (GroupKey::Port(5), 7)],
            24,
        ),
        (
            Key::DstPort,
            vec![(GroupKey::Port(9), 10), (GroupKey::Port(6), 7)],
            24,
        ),
        (Key::Protocol, vec![(GroupKey::Protocol(17), ip + 7)], 13),
        (
            Key::Vlan,
            vec![(GroupKey::Vlan(9), 5), (GroupKey::Vlan(7), 3)],
            33,
        ),
        (
            Key::EtherType,
            vec![
                (GroupKey::EtherType(0x0800), ip),
                (GroupKey::EtherType(0x0806), 13),
                (GroupKey::EtherType(0x86dd), 7),
            ],
            0,
        ),
        (
            Key::SrcMac,
            vec![(GroupKey::Mac([2, 0, 0, 0, 0, 1]), 41)],
            0,
        ),
        (
            Key::DstMac,
            vec![(GroupKey::Mac([2, 0, 0, 0, 0, 2]), 41)],
            0,
        ),
    ]
}

#[test]
fn packets_are_told_apart_by_each_key_at_each_hook() {
    assert_eq!(expected().len(), Key::ALL.len());
    for (key, groups, without_key) in expected() {
        let [left, right] = Net::new().pair();
        let of = |host: &Host, direction, ingress| Options {
            by: Some(key),
            ingress,
            ..options(host, direction, &["ether src 02:00:00:00:00:01"])
        };
        let mut counts = [
            open(&left, of(&left, Direction::Out, Ingress::Auto)),
            open(
                &right,
                of(&right, Direction::In, Ingress::Xdp(XdpPlace::Native)),
            ),
            open(&right, of(&right, Direction::In, Ingress::Tc)),
        ];
        left.run(|| send_frames(left.interface().index, frames()).unwrap());
        for count in &mut counts {
            let snapshot = until(count, |s| s.classes[0].tally.packets == 41);
            let class = &snapshot.classes[0];
            let counted: Vec<_> = (class.groups.iter())
                .map(|group| (group.key, group.tally.packets))
                .collect();
            assert_eq!(counted, groups, "{key:?}");
            assert_eq!(class.without_key.packets, without_key, "{key:?}");
            assert_eq!(class.other, Tally::default());
            let bytes: u64 = class.groups.iter().map(|group| group.tally.bytes).sum();
            assert_eq!(bytes + class.without_key.bytes, class.tally.bytes);
        }
    }
}

/// Datagrams of which `of_each` come from each of `sources` addresses.
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
fn what_the_table_has_no_room_for_counts_as_other() {
    let [left, right] = Net::new().pair();
    let options = Options {
        by: Some(Key::Src),
        groups: 300,
        ..options(&right, Direction::In, &["udp port 9"])
    };
    let mut count = open(&right, options);
    left.run(|| send_frames(left.interface().index, from_many(1000, 4)).unwrap());
    let snapshot = until(&mut count, |s| s.classes[0].tally.packets == 4000);
    let class = &snapshot.classes[0];
    assert_eq!(class.groups.len(), 300);
    assert!(
        class
            .groups
            .iter()
            .all(|group| group.tally == tally(4, 400))
    );
    assert_eq!(class.other, tally(4 * 700, 400 * 700));
    assert_eq!(class.without_key, tally(0, 0));
}

#[test]
fn intervals_have_the_groups_of_their_own_packets_only() {
    let [left, right] = Net::new().pair();
    let mut options = Options {
        by: Some(Key::Src),
        ..options(&right, Direction::In, &["udp port 9"])
    };
    options.classes.push(named("none", "tcp port 1"));
    let mut count = open(&right, options);
    let mut sum = BTreeMap::new();
    for (round, sources) in [(1, 3), (2, 2)] {
        left.run(|| send_frames(left.interface().index, from_many(sources, round)).unwrap());
        let so_far = if round == 1 { 3 } else { 3 + 4 };
        until(&mut count, |s| s.classes[0].tally.packets == so_far);
        let stop = tapline::Stop::new().unwrap();
        stop.stopper().stop();
        let tapline::count::Event::Ended { last, .. } = count.next(&stop) else {
            panic!("it was asked to stop")
        };
        let last = last.unwrap();
        assert_eq!(last.classes[0].groups.len(), usize::from(sources));
        assert!(last.classes[1].groups.is_empty());
        for group in &last.classes[0].groups {
            assert_eq!(group.tally.packets, round as u64);
            *sum.entry(group.key).or_insert(0) += group.tally.packets;
        }
    }
    assert_eq!(sum.into_values().collect::<Vec<_>>(), [3, 3, 1]);
}

#[test]
fn as_many_classes_as_there_may_be_have_groups_of_their_own() {
    const CLASSES: u16 = 256;
    let [left, right] = Net::new().pair();
    let filters: Vec<String> = (1..=CLASSES)
        .map(|port| format!("udp dst portrange {port}-{CLASSES}"))
        .collect();
    let filters: Vec<&str> = filters.iter().map(String::as_str).collect();
    let with_groups = |host: &Host, direction| Options {
        by: Some(Key::DstPort),
        groups: 40_000,
        ..options(host, direction, &filters)
    };
    let mut counts = [
        open(&left, with_groups(&left, Direction::Out)),
        open(&right, with_groups(&right, Direction::In)),
    ];
    let frame = |port: u16| {
        let mut frame = udp_frame(60);
        frame[36..38].copy_from_slice(&port.to_be_bytes());
        frame
    };
    let frames: Vec<_> = (1..=CLASSES).map(frame).collect();
    left.run(|| send_frames(left.interface().index, &frames).unwrap());
    for count in &mut counts {
        let all = u64::from(CLASSES);
        let snapshot = until(count, |s| s.classes[0].tally.packets == all);
        for (first, class) in (1..).zip(&snapshot.classes) {
            let ports: Vec<_> = (first..=CLASSES).map(GroupKey::Port).collect();
            let mut keys: Vec<_> = class.groups.iter().map(|group| group.key).collect();
            keys.sort();
            assert_eq!(keys, ports, "{}", class.name);
            let is_one = |group: &Group| group.tally == tally(1, 60);
            assert!(class.groups.iter().all(is_one), "{}", class.name);
        }
    }
}
