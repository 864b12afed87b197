//! The policy in virtual time: packets at given moments, a reader that needs no time.

use std::cell::Cell;

use super::{Moderation, Wait};

const TARGET_NS: u64 = 200_000;
const SECOND_NS: u64 = 1_000_000_000;

/// What a reader did with packets.
#[derive(Debug, Default)]
struct Read {
    /// How long each packet waited.
    waits_ns: Vec<u64>,
    wakeups: u64,
    /// CPU time of all of them.
    cpu_ns: u64,
}

/// Reads packets that come at `moments_ns`, in order. Wake-ups by a timer and by a packet cost the same.
fn read(moments_ns: &[u64]) -> Read {
    read_at_cost(moments_ns, 4000, 4000)
}

/// As [`read`], with the CPU time of a wake-up by a timer and by a packet.
fn read_at_cost(moments_ns: &[u64], timer_ns: u64, packet_ns: u64) -> Read {
    let mut policy = Moderation::new(TARGET_NS);
    let mut read = Read::default();
    let mut rest = moments_ns;
    let cpu_ns = Cell::new(0);
    let mut wait = policy.emptied(0, 0, || 0);
    while let Some(&next_ns) = rest.first() {
        let (now_ns, cost_ns) = match wait {
            Wait::ForPacket => (next_ns, packet_ns),
            Wait::Until(moment_ns) => (moment_ns, timer_ns),
        };
        cpu_ns.update(|before| before + cost_ns);
        let there = rest.partition_point(|&moment_ns| moment_ns <= now_ns);
        let (taken, left) = rest.split_at(there);
        read.waits_ns
            .extend(taken.iter().map(|moment_ns| now_ns - moment_ns));
        read.wakeups += 1;
        rest = left;
        wait = policy.emptied(now_ns, taken.len() as u64, || cpu_ns.get());
    }
    read.cpu_ns = cpu_ns.get();
    read
}

/// Packets at a constant rate for some time.
fn steady(rate_pps: u64, from_ns: u64, for_ns: u64) -> impl Iterator<Item = u64> {
    let gap_ns = SECOND_NS / rate_pps;
    (0..for_ns / gap_ns).map(move |number| from_ns + number * gap_ns)
}

/// Moments without a pattern, `mean_ns` apart on average (a linear congruential generator).
fn scattered(mean_ns: u64, count: usize) -> Vec<u64> {
    let mut state: u64 = 1;
    let mut now_ns = 0;
    let gap = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        now_ns += (state >> 33) % (2 * mean_ns) + 1;
        now_ns
    };
    (0..count).map(gap).collect()
}

#[test]
fn rare_packets_do_not_wait() {
    for gap_ns in [5_000_000, 15_000_000, 1_000_000, TARGET_NS] {
        let moments: Vec<u64> = (1..1000).map(|number| number * gap_ns).collect();
        let read = read(&moments);
        assert!(read.waits_ns.iter().all(|&wait_ns| wait_ns == 0));
        assert_eq!(read.wakeups, 999);
    }
    // Requests and their answers: two close to each other are not many.
    let pairs: Vec<u64> = steady(100, 0, SECOND_NS)
        .flat_map(|moment_ns| [moment_ns, moment_ns + 1000])
        .collect();
    assert!(read(&pairs).waits_ns.iter().all(|&wait_ns| wait_ns == 0));
}

#[test]
fn dense_packets_cost_a_wakeup_a_target() {
    for rate_pps in [50_000, 100_000, 500_000, 10_000_000] {
        let moments: Vec<u64> = steady(rate_pps, 0, SECOND_NS).collect();
        let read = read(&moments);
        assert_eq!(read.waits_ns.len(), moments.len());
        assert!(read.waits_ns.iter().all(|&wait_ns| wait_ns <= TARGET_NS));
        // One for each of the first four packets, then 5000 a second; at the lowest rate once, 64 for as many packets.
        let least = 2 + SECOND_NS / TARGET_NS;
        assert!(
            (least..=least + 2 + 64).contains(&read.wakeups),
            "{}",
            read.wakeups
        );
    }
}

#[test]
fn a_jump_of_the_rate_is_followed_at_once() {
    let rare = steady(10, 0, SECOND_NS);
    let dense = steady(500_000, SECOND_NS, SECOND_NS);
    let rare_again = steady(10, 2 * SECOND_NS, SECOND_NS);
    let moments: Vec<u64> = rare.chain(dense).chain(rare_again).collect();
    let read = read(&moments);
    assert!(read.waits_ns.iter().all(|&wait_ns| wait_ns <= TARGET_NS));
    let rare = read.waits_ns[..10].iter().chain(&read.waits_ns[500_011..]);
    assert!(rare.copied().all(|wait_ns| wait_ns == 0));
    assert!((5000..5040).contains(&read.wakeups), "{}", read.wakeups);
}

#[test]
fn no_packet_waits_longer_than_the_target_whatever_comes() {
    for mean_ns in [
        100, 10_000, 30_000, 60_000, 100_000, 150_000, 300_000, 2_000_000,
    ] {
        let moments = scattered(mean_ns, 20_000);
        let read = read(&moments);
        assert_eq!(read.waits_ns.len(), moments.len());
        assert!(read.waits_ns.iter().all(|&wait_ns| wait_ns <= TARGET_NS));
        // Never more wake-ups than immediate delivery has, but for the one that finds a pause.
        assert!(read.wakeups <= moments.len() as u64 * 5 / 4);
    }
}

#[test]
fn a_burst_costs_its_first_packets_and_a_sleep() {
    let bursts = (0..100).flat_map(|burst| (0..32).map(move |n| burst * 10_000_000 + n * 1000));
    let moments: Vec<u64> = bursts.collect();
    let read = read(&moments);
    assert!(read.waits_ns.iter().all(|&wait_ns| wait_ns <= TARGET_NS));
    // Four packets one by one, the rest together, and the sleep that finds nothing; once, 64 for as many packets.
    assert!(read.wakeups <= 100 * 6 + 64, "{}", read.wakeups);
}

#[test]
fn without_a_target_nobody_sleeps() {
    let mut policy = Moderation::new(0);
    for moment_ns in 0..100 {
        assert_eq!(policy.emptied(moment_ns, 10, || 0), Wait::ForPacket);
    }
}

/// Both ways cost what a timer and a packet do: adaptive delivery costs little more than the cheaper one.
#[test]
fn a_timer_that_costs_more_than_its_packets_is_not_used() {
    for (rate_pps, timer_ns) in [
        (25_000, 60_000),
        (50_000, 60_000),
        (50_000, 30_000),
        (70_000, 60_000),
        (70_000, 20_000),
        (100_000, 10_000),
        (1_000_000, 60_000),
    ] {
        let packet_ns = 4000;
        let moments: Vec<u64> = steady(rate_pps, 0, 3 * SECOND_NS).collect();
        let read = read_at_cost(&moments, timer_ns, packet_ns);
        assert!(read.waits_ns.iter().all(|&wait_ns| wait_ns <= TARGET_NS));
        let all_packets = moments.len() as u64 * packet_ns;
        let all_timers = 3 * SECOND_NS / TARGET_NS * timer_ns;
        let cheaper = all_packets.min(all_timers);
        let cost = read.cpu_ns as f64 / cheaper as f64;
        assert!(cost < 1.05, "{rate_pps}, {timer_ns}: {cost}");
    }
}

/// A sleep after the fourth packet of a burst finds one more, and so does one in traffic that is dense for a moment. A measurement
/// needs more sleeps than these have in a row.
#[test]
fn where_timers_are_dear_short_bursts_set_few() {
    let packet_ns = 4000;
    let bursts = (0..3000).flat_map(|burst| (0..5).map(move |n| burst * 1_000_000 + n * 10_000));
    let irregular = [60_000, 150_000, 300_000].map(|mean_ns| scattered(mean_ns, 20_000));
    for moments in irregular.into_iter().chain([bursts.collect()]) {
        let read = read_at_cost(&moments, 60_000, packet_ns);
        assert!(read.waits_ns.iter().all(|&wait_ns| wait_ns <= TARGET_NS));
        let all_packets = moments.len() as u64 * packet_ns;
        let cost = read.cpu_ns as f64 / all_packets as f64;
        assert!(cost < 1.1, "{cost}");
    }
}

#[test]
fn where_timers_are_dear_a_jump_of_the_rate_is_followed_at_once() {
    let some = steady(25_000, 0, SECOND_NS / 2);
    let many = steady(1_000_000, SECOND_NS / 2, SECOND_NS / 10);
    let moments: Vec<u64> = some.chain(many).collect();
    let read = read_at_cost(&moments, 60_000, 4000);
    // Those of the lower rate, some packets of the higher one, and its sleeps.
    let expected = 12_500 + 64 + SECOND_NS / 10 / TARGET_NS;
    assert!(read.wakeups <= expected, "{}", read.wakeups);
}
