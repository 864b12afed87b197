//! Counting compared with known numbers of packets: ingress and egress, with VLAN tags, on several CPUs, in many
//! classes.

use std::thread;

use crate::support::count::{open, options, start, tagged, totals, traffic, until, with};
use lab::generator::{Offered, offer_frames, pin_to_cpu, send_frames, udp_frame};
use lab::{Host, Net};
use tapline::count::{
    Count, CountDirection, CountHook, CountLayer, CountTotals, IngressHook, PacketDirection,
    XdpAttachMode,
};

/// Datagrams of 100 bytes, with and without a tag: the number of each kind.
const KINDS: [(usize, Option<u16>); 3] = [(30, None), (50, Some(7)), (70, Some(8))];

fn frames() -> Vec<Vec<u8>> {
    let frame = udp_frame(100);
    let of = |(count, vlan): (usize, Option<u16>)| {
        let frame = match vlan {
            Some(vlan) => tagged(0x8100, vlan, &frame),
            None => frame.clone(),
        };
        vec![frame; count]
    };
    KINDS.into_iter().flat_map(of).collect()
}

const FILTERS: [&str; 7] = [
    "udp port 9 and src host 198.18.0.1",
    "vlan",
    "vlan 7",
    "vlan 8 and udp",
    "udp and not vlan",
    "tcp or arp",
    "ether dst 02:00:00:00:00:02",
];

#[track_caller]
fn assert_counted(snapshot: &CountTotals) {
    let counted = FILTERS.map(|filter| totals(snapshot, filter).traffic);
    let all = traffic(150, 30 * 100 + 120 * 104);
    let expected = [
        all,
        traffic(120, 120 * 104),
        traffic(50, 50 * 104),
        traffic(70, 70 * 104),
        traffic(30, 30 * 100),
        traffic(0, 0),
        all,
    ];
    assert_eq!(counted, expected);
}

fn is_all(snapshot: &CountTotals) -> bool {
    totals(snapshot, FILTERS[6]).traffic.packets == 150
}

#[test]
fn filters_and_bytes_agree_at_every_hook() {
    let hooks = [
        (
            IngressHook::Xdp(XdpAttachMode::Native),
            CountHook::XdpNative,
        ),
        (IngressHook::Tc, CountHook::Tcx),
    ];
    for (ingress, hook) in hooks {
        let [left, right] = Net::new().pair();
        let mut out = start(&left, CountDirection::Out, &FILTERS);
        let mut arrived = open(
            &right,
            with!(options(&right, CountDirection::In, &FILTERS); ingress: ingress),
        );
        let places = |count: &Count| -> Vec<_> {
            count
                .points()
                .map(|place| (place.direction, place.hook))
                .collect()
        };
        assert_eq!(places(&out), [(PacketDirection::Out, CountHook::Tcx)]);
        assert_eq!(places(&arrived), [(PacketDirection::In, hook)]);
        left.send(frames());
        assert_counted(&until(&mut out, is_all));
        assert_counted(&until(&mut arrived, is_all));
    }
}

#[test]
fn layers_add_what_the_wire_adds_to_each_frame() {
    // Of 50 bytes, filled up to 60 on the wire, and of 1000.
    let frames = [vec![udp_frame(50); 10], vec![udp_frame(1000); 3]].concat();
    let layers = [
        (CountLayer::Ethernet, 10 * 50 + 3 * 1000),
        (CountLayer::EthernetFcs, 10 * 64 + 3 * 1004),
        (CountLayer::Wire, 10 * 84 + 3 * 1024),
    ];
    for (layer, bytes) in layers {
        let [left, right] = Net::new().pair();
        for (host, direction) in [(&left, CountDirection::Out), (&right, CountDirection::In)] {
            let options = with!(options(host, direction, &["udp port 9"]); layer: layer);
            let mut count = open(host, options);
            left.send(&frames);
            let snapshot = until(&mut count, |s| s.classes[0].traffic.packets == 13);
            assert_eq!(
                snapshot.classes[0].traffic.bytes, bytes,
                "{layer:?} {direction:?}"
            );
        }
    }
}

#[test]
fn both_directions_and_all_interfaces_add_up_by_point() {
    let [left, right] = Net::new().pair();
    let mut both = start(&left, CountDirection::Both, &["udp port 9"]);
    let frame = udp_frame(200);
    left.run(|| send_frames(left.interface().index, vec![&frame; 40]).unwrap());
    right.run(|| send_frames(right.interface().index, vec![&frame; 2]).unwrap());
    let snapshot = until(&mut both, |s| s.classes[0].traffic.packets == 42);
    let class = &snapshot.classes[0];
    assert_eq!(class.traffic, traffic(42, 42 * 200));
    assert_eq!(class.points, [traffic(2, 400), traffic(40, 8000)]);
    let ways: Vec<_> = both.points().map(|place| place.direction).collect();
    assert_eq!(ways, [PacketDirection::In, PacketDirection::Out]);
}

/// Sends from every CPU at once. If the receiver is not scheduled for a while, the link drops frames after the egress
/// hook has counted them.
fn send_from_all(host: &Host, frames_each: usize) -> Offered {
    let cpus = thread::available_parallelism().unwrap().get();
    let frame = &udp_frame(100);
    let send = |cpu| {
        host.run(|| {
            pin_to_cpu(cpu).unwrap();
            offer_frames(host.interface().index, vec![frame; frames_each]).unwrap()
        })
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..cpus)
            .map(|cpu| scope.spawn(move || send(cpu)))
            .collect();
        let none = Offered {
            carried: 0,
            dropped: 0,
        };
        let sent = threads.into_iter().map(|thread| thread.join().unwrap());
        sent.fold(none, |all, each| Offered {
            carried: all.carried + each.carried,
            dropped: all.dropped + each.dropped,
        })
    })
}

#[test]
fn nothing_is_missed_when_all_cpus_send() {
    let [left, right] = Net::new().pair();
    let mut out = start(&left, CountDirection::Out, &["udp", "tcp", "udp port 9"]);
    let mut arrived = start(&right, CountDirection::In, &["udp", "tcp", "udp port 9"]);
    let Offered { carried, dropped } = send_from_all(&left, 20_000);
    for (count, sent) in [(&mut out, carried + dropped), (&mut arrived, carried)] {
        let snapshot = until(count, |s| s.classes[2].traffic.packets >= sent);
        let counted: Vec<_> = snapshot.classes.iter().map(|class| class.traffic).collect();
        let all = traffic(sent, sent * 100);
        assert_eq!([counted[1], counted[2]], [traffic(0, 0), all]);
        assert!(counted[0].packets >= sent);
    }
}

#[test]
fn sixty_four_classes_count_separately() {
    let [left, right] = Net::new().pair();
    // CountClass k has the datagrams to port 1000 + k, of which k + 1 are sent.
    let port = |number: usize| 1000 + number as u16;
    let filters: Vec<String> = (0..64)
        .map(|number| match number % 4 {
            0 => format!("udp dst port {} and src net 198.18.0.0/16", port(number)),
            1 => format!("dst port {} and (ip or ip6)", port(number)),
            2 => format!(
                "dst host 198.18.0.2 and dst port {} and udp[8:4] = 0",
                port(number)
            ),
            _ => format!("udp dst port {} or tcp dst port 1", port(number)),
        })
        .collect();
    let filters: Vec<&str> = filters.iter().map(String::as_str).collect();
    let mut out = start(&left, CountDirection::Out, &filters);
    let mut arrived = start(&right, CountDirection::In, &filters);
    let mut frames = Vec::new();
    for number in 0..64 {
        let mut frame = udp_frame(60);
        frame[36..38].copy_from_slice(&port(number).to_be_bytes());
        frames.extend(vec![frame; number + 1]);
    }
    left.send(&frames);
    for count in [&mut out, &mut arrived] {
        let snapshot = until(count, |s| s.classes[63].traffic.packets == 64);
        for (number, class) in (1..).zip(&snapshot.classes) {
            assert_eq!(
                class.traffic,
                traffic(number, number * 60),
                "{}",
                class.name
            );
        }
    }
}

#[test]
fn two_hundred_and_fifty_six_classes_load() {
    let [left, _right] = Net::new().pair();
    let filters: Vec<String> = (1..=256)
        .map(|number| format!("tcp port {number} or host 10.0.0.{}", number % 256))
        .collect();
    let filters: Vec<&str> = filters.iter().map(String::as_str).collect();
    let count = start(&left, CountDirection::Both, &filters);
    assert_eq!(count.classes().len(), 256);
}
