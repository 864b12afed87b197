//! Adding and removing classes while packets flow.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::support::count::{class, named, open, options, start, totals, traffic, until, with};
use lab::Net;
use lab::generator::{pin_to_cpu, send_frames, udp_frame};
use tapline::count::{CountDirection, CountEnd, CountError, GroupBy};

#[test]
fn changing_classes_under_traffic_neither_misses_nor_doubles_packets() {
    change_under_traffic(&["udp port 9", "tcp"], "udp and not tcp", 12);
}

/// The filters are too long for one program: the class that is changed is in the second one.
#[test]
fn changing_a_chain_of_programs_under_traffic_neither_misses_nor_doubles_packets() {
    let filters = [
        "udp port 9",
        "tcp",
        "any port 80",
        "inner udp",
        "any host 192.0.2.1",
    ];
    change_under_traffic(&filters, "any udp", 2);
}

/// Adds a class with the filter `late` and removes it, `rounds` times. The first filter accepts all packets, the second none.
fn change_under_traffic(filters: &[&str], late: &str, rounds: u32) {
    let [left, right] = Net::new().pair();
    let mut out = start(&left, CountDirection::Out, filters);
    let mut arrived = start(&right, CountDirection::In, filters);
    let is_done = AtomicBool::new(false);
    let frame = udp_frame(100);
    let sent: u64 = thread::scope(|scope| {
        let send = |cpu| {
            left.run(|| {
                pin_to_cpu(cpu).unwrap();
                let mut sent = 0;
                while !is_done.load(Ordering::Relaxed) {
                    sent += send_frames(left.interface().index, vec![&frame; 64]).unwrap();
                }
                sent
            })
        };
        let cpus = thread::available_parallelism().unwrap().get();
        let threads: Vec<_> = (0..cpus)
            .map(|cpu| scope.spawn(move || send(cpu)))
            .collect();
        for round in 0..rounds {
            for count in [&mut out, &mut arrived] {
                count.add_class(named("late", late)).unwrap();
                let before = count.read().unwrap();
                let [all, added] = ["udp port 9", "late"].map(|name| totals(&before, name).traffic);
                assert!(added.packets <= all.packets, "round {round}");
                let last = count.remove_class("late").unwrap();
                let after = count.read().unwrap();
                assert!(last.traffic.packets >= added.packets);
                assert!(last.traffic.packets <= totals(&after, "udp port 9").traffic.packets);
            }
        }
        is_done.store(true, Ordering::Relaxed);
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    for count in [&mut out, &mut arrived] {
        let snapshot = until(count, |s| s.classes[0].traffic.packets >= sent);
        assert_eq!(snapshot.classes[0].traffic, traffic(sent, sent * 100));
        assert_eq!(snapshot.classes[1].traffic, traffic(0, 0));
    }
}

#[test]
fn a_new_class_starts_at_zero_in_a_reused_slot() {
    let [left, right] = Net::new().pair();
    let options = with!(
        options(&right, CountDirection::In, &["udp port 9", "ip"]);
        by: Some(GroupBy::SrcPort),
        groups: 8,
    );
    let mut count = open(&right, options);
    let send = |frames| left.send(frames);
    let frame = udp_frame(100);
    send(vec![&frame; 10]);
    until(&mut count, |s| s.classes[0].traffic.packets == 10);
    let last = count.remove_class("udp port 9").unwrap();
    assert_eq!((last.traffic, last.groups.len()), (traffic(10, 1000), 1));
    count.add_class(class("udp dst port 9")).unwrap();
    assert_eq!(count.read().unwrap().classes[1].traffic, traffic(0, 0));
    assert!(count.read().unwrap().classes[1].groups.is_empty());
    send(vec![&frame; 3]);
    let snapshot = until(&mut count, |s| s.classes[1].traffic.packets == 3);
    let names: Vec<_> = snapshot
        .classes
        .iter()
        .map(|class| class.name.as_str())
        .collect();
    assert_eq!(names, ["ip", "udp dst port 9"]);
    assert_eq!(snapshot.classes[0].traffic.packets, 13);
    assert_eq!(snapshot.classes[1].groups[0].traffic, traffic(3, 300));
}

#[test]
fn a_failed_change_leaves_the_count_unchanged() {
    let [left, right] = Net::new().pair();
    let mut count = start(&right, CountDirection::In, &["udp port 9"]);
    let twice = count.add_class(class("udp port 9"));
    assert!(matches!(twice, Err(CountError::DuplicateClass { .. })));
    let wrong = count.add_class(class("udp prot 9"));
    assert!(matches!(wrong, Err(CountError::Filter { class, .. }) if class == "udp prot 9"));
    let missing = count.remove_class("tcp");
    assert!(matches!(missing, Err(CountError::UnknownClass { class }) if class == "tcp"));
    left.send([udp_frame(60)]);
    let snapshot = until(&mut count, |s| s.classes[0].traffic.packets == 1);
    assert_eq!(snapshot.classes.len(), 1);
    // A veth may have the tag beside the bytes, where XDP does not see it.
    let tag = count.add_class(class("vlan 7"));
    assert!(matches!(tag, Err(CountError::VlanStripped { class, .. }) if class == "vlan 7"));
    // The slots of those that were refused are free again.
    for number in 0..63 {
        count.add_class(named(&number.to_string(), "tcp")).unwrap();
    }
    let full = count.add_class(class("ip"));
    assert!(matches!(full, Err(CountError::TooManyClasses { most: 64 })));
}

#[test]
fn the_consumer_of_intervals_may_change_the_classes() {
    let [left, right] = Net::new().pair();
    let mut options = options(&right, CountDirection::In, &["udp port 9"]);
    options.interval = std::time::Duration::from_millis(1);
    let count = open(&right, options);
    let mut seen = Vec::new();
    let summary = count.run(|count, interval| {
        seen.push(interval.classes.len());
        if seen.len() == 1 {
            count.add_class(class("ip")).unwrap();
            left.send([udp_frame(60)]);
        }
        match interval.classes.get(1).map(|class| class.traffic.packets) {
            Some(1) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    let summary = summary.unwrap();
    assert_eq!(summary.end, CountEnd::Consumer);
    assert_eq!(summary.totals.classes[1].traffic, traffic(1, 60));
    assert_eq!((seen[0], seen[1]), (1, 2));
}

#[test]
fn a_class_that_has_no_packets_of_one_direction_counts_those_of_the_other() {
    let [left, right] = Net::new().pair();
    let both = options(&right, CountDirection::Both, &["inbound", "udp port 9"]);
    let mut count = open(&right, both);
    count.add_class(class("outbound")).unwrap();
    let frame = udp_frame(100);
    left.run(|| send_frames(left.interface().index, vec![&frame; 7]).unwrap());
    right.run(|| send_frames(right.interface().index, vec![&frame; 5]).unwrap());
    let snapshot = until(&mut count, |s| {
        totals(s, "udp port 9").traffic.packets == 12
    });
    let places = |name| totals(&snapshot, name).points.clone();
    assert_eq!(places("udp port 9"), [traffic(7, 700), traffic(5, 500)]);
    assert_eq!(places("inbound")[1], traffic(0, 0));
    assert!(places("inbound")[0] >= traffic(7, 700));
    assert_eq!(places("outbound")[0], traffic(0, 0));
    assert!(places("outbound")[1] >= traffic(5, 500));
    let last = count.remove_class("outbound").unwrap();
    assert!(last.traffic >= traffic(5, 500));

    let mut count = start(&right, CountDirection::In, &["udp port 9"]);
    let refusal = count.add_class(class("outbound")).unwrap_err();
    assert!(
        matches!(&refusal, CountError::Filter { class, .. } if class == "outbound"),
        "{refusal:?}"
    );
    assert_eq!(count.classes().count(), 1);
    left.run(|| send_frames(left.interface().index, vec![&frame; 3]).unwrap());
    until(&mut count, |s| s.classes[0].traffic == traffic(3, 300));
}
