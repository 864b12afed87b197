//! Targets with separate counts, intervals, timeouts and payloads, and payloads that are too short for a cookie.

use std::time::Duration;

use crate::support::{MS, Packet, SECOND, World, address, counts, plan, targets};
use tapline_probe::targets::HostEntry;
use tapline_probe::{
    Classification, IcmpMessage, NextAction, Probe, ProbePlan, Prober, TargetSettings,
};

fn world(plan: &ProbePlan, settings: &[TargetSettings]) -> World {
    let words: Vec<String> = (1..=settings.len())
        .map(|number| format!("10.0.0.{number}"))
        .collect();
    let mut list = targets(&words.join(" "));
    for (host, settings) in (0..).zip(settings) {
        list.set_settings(host, *settings);
    }
    let mut world = World::new(plan, "10.0.0.1");
    world.prober = Prober::new(plan, list).expect("a plan");
    world
}

/// Sends all that is due until `end_ns`. Returns the probes with their times and packets.
fn send_until(world: &mut World, end_ns: u64) -> Vec<(Probe, u64, Packet)> {
    let mut sent = Vec::new();
    loop {
        world.expire();
        match world.prober.next(world.now_ns) {
            NextAction::Send(probe) => {
                let packet = world.packet(probe);
                world.prober.sent(probe, world.now_ns);
                sent.push((probe, world.now_ns, packet));
            }
            NextAction::Wait(until_ns) if until_ns <= end_ns => world.now_ns = until_ns,
            _ => return sent,
        }
    }
}

#[test]
fn each_target_has_its_interval_and_its_count() {
    let plan = ProbePlan {
        rounds: None,
        interval_ns: 10 * MS,
        ..plan(1)
    };
    let every = |ms| TargetSettings::default().interval(Duration::from_millis(ms));
    let settings = [
        every(10),
        every(55).count(3),
        every(1000),
        every(20).count(1),
    ];
    let mut world = world(&plan, &settings);
    let sent = send_until(&mut world, SECOND - 1);
    let times = |target| -> Vec<u64> {
        let of = sent.iter().filter(|(probe, ..)| probe.target == target);
        of.map(|(_, at_ns, _)| *at_ns).collect()
    };
    let found: Vec<usize> = (0..4).map(|target| times(target).len()).collect();
    assert_eq!(found, [100, 3, 1, 1]);
    let gaps: Vec<u64> = times(1).windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps, [60 * MS; 2], "rounded up to a multiple of 10 ms");
    // The others wait for the timeout: the first has no end.
    assert_eq!(world.prober.next_ended(), None);
    send_until(&mut world, 3 * SECOND);
    let mut ended: Vec<u32> = std::iter::from_fn(|| world.prober.next_ended()).collect();
    ended.sort_unstable();
    assert_eq!(ended, [1, 3]);
    assert_eq!(
        world.prober.counts(1),
        counts(|c| (c.sent, c.lost) = (3, 3))
    );
    assert_eq!(world.prober.longest_outage(1), 3);
}

#[test]
fn a_target_ends_with_its_last_answer_and_can_begin_again() {
    let plan = ProbePlan {
        rounds: None,
        ..plan(1)
    };
    let twice = TargetSettings::default().count(2);
    let mut world = world(&plan, &[TargetSettings::default(), twice]);
    let sent = send_until(&mut world, 2 * SECOND - 1);
    let mut packets = sent.iter().filter(|(probe, ..)| probe.target == 1);
    let [first, last] = [(); 2].map(|()| packets.next().expect("two").2.clone());
    assert!(packets.next().is_none());
    world.receive(IcmpMessage::Reply(last.reply()));
    // The first is lost already, or answered now: only then have both ended.
    assert!(world.prober.next_ended().is_some() || world.prober.counts(1).pending() == 1);
    world.receive(IcmpMessage::Reply(first.reply()));
    world.prober.change_settings(1, twice).expect("in range");
    let again = send_until(&mut world, 10 * SECOND);
    let again = again.iter().filter(|(probe, ..)| probe.target == 1);
    assert_eq!(again.count(), 2);
    assert_eq!(world.prober.counts(1).sent, 4);
    // Its place is taken by one without a count.
    world.prober.remove_host(1);
    world.prober.next_change().expect("nothing is in flight");
    let entry = HostEntry {
        name: None,
        address: Some(address("10.0.0.9")),
        zone: None,
        settings: TargetSettings::default(),
    };
    assert_eq!(world.prober.add_host(entry), Ok(1));
    let end_ns = world.now_ns + 10 * SECOND;
    let sent = send_until(&mut world, end_ns);
    assert!(sent.iter().filter(|(probe, ..)| probe.target == 1).count() >= 9);
}

#[test]
fn each_target_has_its_timeout() {
    let short = TargetSettings::default().timeout(Duration::from_millis(5));
    let mut world = world(&plan(1), &[TargetSettings::default(), short]);
    let sent = send_until(&mut world, SECOND - 1);
    assert_eq!(sent.len(), 2);
    let received_at = |world: &mut World, after_ns| {
        let mut classes = Vec::new();
        for (probe, at_ns, packet) in &sent {
            world.now_ns = at_ns + after_ns;
            let class = world.receive(IcmpMessage::Reply(packet.reply()));
            classes.push((probe.target, matches!(class, Classification::Late { .. })));
        }
        classes.sort_unstable();
        classes
    };
    assert_eq!(received_at(&mut world, 5 * MS + 1), [(0, false), (1, true)]);
    let total = world.prober.total();
    assert_eq!((total.received, total.late, total.lost), (1, 1, 0));
}

#[test]
fn settings_out_of_range_are_refused() {
    let settings = TargetSettings::default();
    let longer = Duration::from_secs(2);
    for (wrong, what) in [
        (settings.count(0), "count of a target"),
        (settings.timeout(longer), "timeout of a target (ns)"),
        (settings.payload_bytes(2), "payload of a target (bytes)"),
        (settings.payload_bytes(57), "payload of a target (bytes)"),
    ] {
        let list = targets("10.0.0.1").with_settings(wrong);
        let error = Prober::new(&plan(1), list).expect_err("out of range");
        assert_eq!(error.what, what);
        let mut world = World::new(&plan(1), "10.0.0.1");
        let error = world.prober.change_settings(0, wrong);
        assert_eq!(error.expect_err("out of range").what, what);
    }
}

/// Payloads of every length from the shortest one, some with room for a part of the tag.
#[test]
fn short_payloads_are_timed_and_matched() {
    let plan = ProbePlan {
        rounds: Some(200),
        interval_ns: 10 * MS,
        timeout_ns: 500 * MS,
        ..plan(1)
    };
    let settings: Vec<_> = (3..=56)
        .map(|bytes| TargetSettings::default().payload_bytes(bytes))
        .collect();
    let mut world = world(&plan, &settings);
    let mut answered = 0;
    while let Some((probe, packet)) = world.send() {
        let bytes = 3 + probe.target as usize;
        assert_eq!(packet.payload.len(), bytes);
        // Every third is lost, and the number of probes exceeds the window.
        if probe.round % 3 == 0 {
            continue;
        }
        let at_ns = world.now_ns;
        world.now_ns += 30_000 + u64::from(probe.target);
        let rtt_ns = Some(world.now_ns - at_ns);
        let mut reply = packet.reply();
        reply.source = address("10.9.9.9");
        let class = world.receive(IcmpMessage::Reply(reply));
        assert!(matches!(class, Classification::WrongSource { .. }));
        let mut damaged = packet.clone();
        if bytes > 3 {
            damaged.payload[3] ^= 1;
            let class = world.receive(IcmpMessage::Reply(damaged.reply()));
            let is_refused = matches!(
                class,
                Classification::Forged | Classification::Foreign | Classification::Corrupt { .. }
            );
            assert!(is_refused, "{bytes}: {class:?}");
        }
        let class = world.receive(IcmpMessage::Reply(packet.reply()));
        let Classification::Received {
            rtt_ns: found_ns, ..
        } = class
        else {
            panic!("{bytes}: {class:?}");
        };
        assert_eq!(found_ns, rtt_ns, "{bytes}");
        let class = world.receive(IcmpMessage::Reply(packet.reply()));
        assert!(matches!(class, Classification::Duplicate { .. }));
        answered += 1;
        world.now_ns = at_ns;
    }
    let total = world.prober.total();
    assert_eq!((total.sent, total.received), (54 * 200, answered));
    assert_eq!(total.sent, total.received + total.lost);
}

#[test]
fn the_tag_takes_what_the_payload_has_room_for() {
    let found: Vec<usize> = [3, 4, 6, 7, 15, 16, 56].map(Prober::tag_bytes).into();
    assert_eq!(found, [0, 1, 3, 4, 4, 4, 4]);
}
