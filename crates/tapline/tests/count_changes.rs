//! Classes that come and go while packets flow.

mod count_support;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use count_support::{class, named, open, options, tally, totals, until};
use lab::Net;
use lab::generator::{pin_to_cpu, send_frames, udp_frame};
use tapline::Stop;
use tapline::count::{CountError, Direction, Ended, Key, Options};

#[test]
fn classes_come_and_go_under_traffic_and_no_packet_is_missed_or_doubled() {
    let [left, right] = Net::new().pair();
    let mut out = open(
        &left,
        options(&left, Direction::Out, &["udp port 9", "tcp"]),
    );
    let mut arrived = open(
        &right,
        options(&right, Direction::In, &["udp port 9", "tcp"]),
    );
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
        for round in 0..12 {
            for count in [&mut out, &mut arrived] {
                count.add_class(named("late", "udp and not tcp")).unwrap();
                let before = count.read().unwrap();
                let [all, late] = ["udp port 9", "late"].map(|name| totals(&before, name).tally);
                assert!(late.packets <= all.packets, "round {round}");
                let last = count.remove_class("late").unwrap();
                let after = count.read().unwrap();
                assert!(last.tally.packets >= late.packets);
                assert!(last.tally.packets <= totals(&after, "udp port 9").tally.packets);
            }
        }
        is_done.store(true, Ordering::Relaxed);
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    for count in [&mut out, &mut arrived] {
        let snapshot = until(count, |s| s.classes[0].tally.packets >= sent);
        assert_eq!(snapshot.classes[0].tally, tally(sent, sent * 100));
        assert_eq!(snapshot.classes[1].tally, tally(0, 0));
    }
}

#[test]
fn a_new_class_begins_at_zero_in_a_slot_that_another_left() {
    let [left, right] = Net::new().pair();
    let options = Options {
        by: Some(Key::SrcPort),
        groups: 8,
        ..options(&right, Direction::In, &["udp port 9", "ip"])
    };
    let mut count = open(&right, options);
    let send = |frames| left.run(|| send_frames(left.interface().index, frames).unwrap());
    let frame = udp_frame(100);
    send(vec![&frame; 10]);
    until(&mut count, |s| s.classes[0].tally.packets == 10);
    let last = count.remove_class("udp port 9").unwrap();
    assert_eq!((last.tally, last.groups.len()), (tally(10, 1000), 1));
    count.add_class(class("udp dst port 9")).unwrap();
    assert_eq!(count.read().unwrap().classes[1].tally, tally(0, 0));
    assert!(count.read().unwrap().classes[1].groups.is_empty());
    send(vec![&frame; 3]);
    let snapshot = until(&mut count, |s| s.classes[1].tally.packets == 3);
    let names: Vec<_> = snapshot
        .classes
        .iter()
        .map(|class| class.name.as_str())
        .collect();
    assert_eq!(names, ["ip", "udp dst port 9"]);
    assert_eq!(snapshot.classes[0].tally.packets, 13);
    assert_eq!(snapshot.classes[1].groups[0].tally, tally(3, 300));
}

#[test]
fn what_cannot_be_changed_leaves_all_as_it_was() {
    let [left, right] = Net::new().pair();
    let mut count = open(&right, options(&right, Direction::In, &["udp port 9"]));
    let twice = count.add_class(class("udp port 9"));
    assert!(matches!(twice, Err(CountError::ClassTwice { .. })));
    let wrong = count.add_class(class("udp prot 9"));
    assert!(matches!(wrong, Err(CountError::Filter { class, .. }) if class == "udp prot 9"));
    let missing = count.remove_class("tcp");
    assert!(matches!(missing, Err(CountError::NoClass { class }) if class == "tcp"));
    left.run(|| send_frames(left.interface().index, [udp_frame(60)]).unwrap());
    let snapshot = until(&mut count, |s| s.classes[0].tally.packets == 1);
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
fn whoever_takes_the_intervals_may_change_the_classes() {
    let [left, right] = Net::new().pair();
    let mut options = options(&right, Direction::In, &["udp port 9"]);
    options.interval = std::time::Duration::from_millis(1);
    let mut count = open(&right, options);
    let stop = Stop::new().unwrap();
    let mut seen = Vec::new();
    let outcome = count.run(&stop, |count, interval| {
        seen.push(interval.classes.len());
        if seen.len() == 1 {
            count.add_class(class("ip")).unwrap();
            left.run(|| send_frames(left.interface().index, [udp_frame(60)]).unwrap());
        }
        match interval.classes.get(1).map(|class| class.tally.packets) {
            Some(1) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    let outcome = outcome.unwrap();
    assert!(matches!(outcome.ended, Ended::Taker));
    assert_eq!(outcome.totals.classes[1].tally, tally(1, 60));
    assert_eq!((seen[0], seen[1]), (1, 2));
}

#[test]
fn a_class_that_has_no_packets_of_one_direction_counts_those_of_the_other() {
    let [left, right] = Net::new().pair();
    let both = options(&right, Direction::Both, &["inbound", "udp port 9"]);
    let mut count = open(&right, both);
    count.add_class(class("outbound")).unwrap();
    let frame = udp_frame(100);
    left.run(|| send_frames(left.interface().index, vec![&frame; 7]).unwrap());
    right.run(|| send_frames(right.interface().index, vec![&frame; 5]).unwrap());
    let snapshot = until(&mut count, |s| totals(s, "udp port 9").tally.packets == 12);
    let places = |name| totals(&snapshot, name).places.clone();
    assert_eq!(places("udp port 9"), [tally(7, 700), tally(5, 500)]);
    assert_eq!(places("inbound")[1], tally(0, 0));
    assert!(places("inbound")[0] >= tally(7, 700));
    assert_eq!(places("outbound")[0], tally(0, 0));
    assert!(places("outbound")[1] >= tally(5, 500));
    let last = count.remove_class("outbound").unwrap();
    assert!(last.tally >= tally(5, 500));

    let mut count = open(&right, options(&right, Direction::In, &["udp port 9"]));
    let refusal = count.add_class(class("outbound")).unwrap_err();
    assert!(
        matches!(&refusal, CountError::Filter { class, .. } if class == "outbound"),
        "{refusal:?}"
    );
    assert_eq!(count.classes().count(), 1);
    left.run(|| send_frames(left.interface().index, vec![&frame; 3]).unwrap());
    until(&mut count, |s| s.classes[0].tally == tally(3, 300));
}
