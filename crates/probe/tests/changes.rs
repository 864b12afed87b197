//! Targets that are added, removed, or change their addresses during a run.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;

use crate::support::{MS, Packet, SECOND, World, address, plan, targets};
use tapline_probe::targets::{HostEntry, Resolver, TargetsBuilder};
use tapline_probe::{
    Classification, HostChangeKind, IcmpMessage, NextAction, ProbeCounts, ProbePlan, Prober,
    TargetSettings,
};

fn unnamed(text: &str) -> HostEntry {
    HostEntry {
        name: None,
        address: Some(address(text)),
        zone: None,
        settings: TargetSettings::default(),
    }
}

/// Sends until `round` probes more to `target` are sent. Returns the last.
fn send_to(world: &mut World, target: u32, rounds: u32) -> Packet {
    let mut left = rounds;
    loop {
        let (probe, packet) = world.send().expect("a probe");
        left -= u32::from(probe.target == target);
        if left == 0 {
            return packet;
        }
    }
}

#[test]
fn a_change_waits_for_the_probes_in_flight() {
    let mut world = World::new(&plan(100), "10.0.0.1 10.0.0.2");
    let first = send_to(&mut world, 0, 1);
    let [old, new] = ["10.0.0.1", "10.0.0.9"].map(address);
    world.prober.change_address(0, Some(new));
    assert_eq!(world.prober.coming_address(0), Some(new));
    assert_eq!(
        (
            world.prober.next_change(),
            world.prober.targets().is_idle(0)
        ),
        (None, true)
    );
    let class = world.receive(IcmpMessage::Reply(first.reply()));
    assert!(matches!(class, Classification::Received { .. }));
    let change = world.prober.next_change().expect("nothing is in flight");
    assert_eq!(
        change.kind,
        HostChangeKind::Address {
            from: Some(old),
            to: Some(new)
        }
    );
    assert_eq!((change.account.sent, change.account.received), (1, 1));
    // A second answer of the old address is nobody's.
    let class = world.receive(IcmpMessage::Reply(first.reply()));
    assert!(matches!(class, Classification::Stale { .. }));
    let next = send_to(&mut world, 0, 1);
    assert_eq!(next.destination, new);
    assert_eq!(
        (
            world.prober.targets().find(new),
            world.prober.targets().find(old)
        ),
        (Some(0), None)
    );
}

#[test]
fn a_name_without_address_waits_and_costs_nothing() {
    struct Nobody;
    impl Resolver for Nobody {
        fn addresses(&mut self, _: &str) -> io::Result<Vec<IpAddr>> {
            Err(io::ErrorKind::NotFound.into())
        }
        fn interface(&mut self, _: &str) -> io::Result<u32> {
            Err(io::ErrorKind::NotFound.into())
        }
    }
    let mut builder = TargetsBuilder::default().follow_names();
    builder.add("h.test", &mut Nobody).expect_err("it has none");
    builder.add_unresolved("h.test");
    let list = builder.build().expect("one target");
    assert_eq!(
        (list.len(), list.address(0), list.name(0)),
        (1, None, Some("h.test"))
    );
    for interval_ns in [0, SECOND] {
        let plan = ProbePlan {
            interval_ns,
            ..plan(2000)
        };
        let mut world = World::new(&plan, "10.0.0.1");
        world.prober = Prober::new(&plan, list.clone()).expect("a plan");
        while world.now_ns < 100 * SECOND
            && let tapline_probe::NextAction::Wait(until_ns) = world.prober.next(world.now_ns)
        {
            assert!(until_ns > world.now_ns);
            world.now_ns = until_ns;
            world.expire();
        }
        assert_eq!(
            (world.prober.total(), world.prober.longest_outage(0)),
            (ProbeCounts::default(), 0)
        );
        assert!(world.lost.is_empty() && world.prober.accounts(0).is_empty());
    }
}

#[test]
fn a_removed_target_leaves_its_place_to_the_next() {
    let mut world = World::new(&plan(100), "10.0.0.1 10.0.0.2 10.0.0.3");
    let late = send_to(&mut world, 1, 3);
    world.prober.remove_host(1);
    world.now_ns += 2 * SECOND;
    world.expire();
    let change = world
        .prober
        .next_change()
        .expect("its probes have timed out");
    assert_eq!(
        (change.host, change.kind, change.account.lost),
        (1, HostChangeKind::Removed, 3)
    );
    assert_eq!(world.prober.targets().indices().collect::<Vec<_>>(), [0, 2]);
    assert_eq!(
        (
            world.prober.removed().hosts,
            world.prober.removed().counts.lost
        ),
        (1, 3)
    );

    let host = world.prober.add_host(unnamed("10.0.0.2")).expect("room");
    assert_eq!((host, world.prober.counts(1)), (1, ProbeCounts::default()));
    // It has the same address, but has not sent this probe.
    let class = world.receive(IcmpMessage::Reply(late.reply()));
    assert!(matches!(class, Classification::Stale { .. }));
    let next = send_to(&mut world, 1, 1);
    world.receive(IcmpMessage::Reply(next.reply()));
    assert_eq!(world.prober.counts(1).received, 1);
    assert_eq!(world.prober.add_host(unnamed("10.0.0.4")), Ok(3));
    assert_eq!(send_to(&mut world, 3, 1).destination, address("10.0.0.4"));
}

#[test]
fn a_target_that_is_added_after_the_end_is_not_probed() {
    let mut world = World::new(&plan(100), "10.0.0.1 10.0.0.2");
    send_to(&mut world, 1, 3);
    world.prober.stop(world.now_ns);
    let host = world.prober.add_host(unnamed("10.0.0.3"));
    assert_eq!(host, Ok(2));
    assert!(world.prober.has_sent_all());
    let next = world.prober.next(world.now_ns + 100 * SECOND);
    assert!(!matches!(next, NextAction::Send(_)), "{next:?}");
}

#[test]
fn names_that_are_followed_have_targets_of_their_own() {
    struct Same;
    impl Resolver for Same {
        fn addresses(&mut self, _: &str) -> io::Result<Vec<IpAddr>> {
            Ok(vec![address("10.0.0.1")])
        }
        fn interface(&mut self, _: &str) -> io::Result<u32> {
            Ok(1)
        }
    }
    let mut builder = TargetsBuilder::default().follow_names();
    builder.exclude("10.0.0.8/29".parse().expect("a prefix"));
    let words = "a.test 10.0.0.1 b.test a.test 10.0.0.0/30 10.0.0.9";
    builder.add_list(words, &mut Same).expect("targets");
    let list = builder.build().expect("not too many");
    let shown = |index| {
        (
            list.name(index),
            list.address(index).map(|address| address.to_string()),
        )
    };
    let all: Vec<_> = list.indices().map(shown).collect();
    let is = |name, address: &str| (name, Some(address.to_owned()));
    let expected = [
        is(Some("a.test"), "10.0.0.1"),
        is(None, "10.0.0.1"),
        is(Some("b.test"), "10.0.0.1"),
        is(None, "10.0.0.2"),
    ];
    assert_eq!(all, expected);
    assert_eq!((list.repeated(), list.excluded()), (2, 1));
    let [free, excluded] = ["10.0.0.3", "10.0.0.9"].map(address);
    assert_eq!(list.first_accepted(&[excluded, free]), Some(free));
    assert_eq!(list.first_accepted(&[excluded]), None);
}

/// What a test does to the list.
#[derive(Clone, Copy, Debug)]
enum Change {
    Address(u32, u8),
    Unresolved(u32),
    Remove(u32),
    Add(u8),
}

fn change() -> impl Strategy<Value = Change> {
    let host = 0_u32..8;
    prop_oneof![
        (host.clone(), 1_u8..6).prop_map(|(host, last)| Change::Address(host, last)),
        host.clone().prop_map(Change::Unresolved),
        host.prop_map(Change::Remove),
        (1_u8..6).prop_map(Change::Add),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Compared with the packets that the network has seen, by address.
    #[test]
    fn accounts_by_address_are_those_of_the_network(
        first in 1_u32..5,
        paths in 0_u8..3,
        interval_ms in 0_u64..50,
        prefix_pps in prop::option::of(20_u32..2000),
        changes in prop::collection::vec((0_usize..400, change()), 0..30),
        delays in prop::collection::vec(0_u64..140, 1..40),
    ) {
        let plan = ProbePlan {
            interval_ns: interval_ms * MS,
            timeout_ns: 100 * MS,
            rate_pps: Some(1000),
            prefix_pps,
            ..plan(60)
        };
        let words = format!("10.0.0.0-10.0.0.{}", first - 1);
        let mut world = World::new(&plan, &words);
        world.prober = Prober::new(&plan, targets(&words).with_paths(paths)).expect("a plan");
        let mut sent: BTreeMap<IpAddr, u64> = BTreeMap::new();
        let mut accounts: BTreeMap<IpAddr, ProbeCounts> = BTreeMap::new();
        let mut flight: Vec<(u64, Packet)> = Vec::new();
        let mut delays = delays.iter().cycle();
        let add = |accounts: &mut BTreeMap<IpAddr, ProbeCounts>, address: IpAddr, counts: &ProbeCounts| {
            let sum = accounts.entry(address).or_default();
            *sum = sum.plus(counts);
        };
        let mut step = 0;
        loop {
            world.expire();
            while let Some(change) = world.prober.next_change() {
                prop_assert_eq!(change.account.pending(), 0);
                if change.kind == HostChangeKind::Removed {
                    for target in world.prober.targets().of_host(change.host) {
                        for account in world.prober.accounts(target) {
                            // The account was closed before the host was hidden.
                            if let Some(address) = account.address {
                                add(&mut accounts, address, &account.counts);
                            }
                        }
                    }
                }
            }
            for (_, change) in changes.iter().filter(|(at, _)| *at == step) {
                let hosts = world.prober.targets().hosts();
                let is_there = |host: &u32| {
                    let targets = world.prober.targets();
                    *host < hosts && !targets.is_removed(targets.of_host(*host).start)
                };
                let address = |last: u8| IpAddr::from(Ipv4Addr::new(10, 0, 1, last));
                match *change {
                    Change::Address(host, last) if is_there(&host) => world.prober.change_address(host, Some(address(last))),
                    Change::Unresolved(host) if is_there(&host) => world.prober.change_address(host, None),
                    Change::Remove(host) if is_there(&host) => world.prober.remove_host(host),
                    Change::Add(last) => {
                        let entry = HostEntry { name: None, address: Some(address(last)), zone: None, settings: TargetSettings::default() };
                        world.prober.add_host(entry).expect("room");
                    }
                    _ => {}
                }
            }
            step += 1;
            flight.sort_by_key(|(at_ns, _)| std::cmp::Reverse(*at_ns));
            if flight.last().is_some_and(|(at_ns, _)| *at_ns <= world.now_ns) {
                let (_, packet) = flight.pop().expect("it was seen");
                world.receive(IcmpMessage::Reply(packet.reply()));
                continue;
            }
            match world.prober.next(world.now_ns) {
                tapline_probe::NextAction::Send(probe) => {
                    let packet = world.packet(probe);
                    world.prober.sent(probe, world.now_ns);
                    *sent.entry(packet.destination).or_default() += 1;
                    let delay = *delays.next().expect("a cycle");
                    if delay < 130 {
                        flight.push((world.now_ns + delay * MS, packet));
                    }
                }
                tapline_probe::NextAction::Wait(until_ns) => {
                    let next_ns = flight.last().map_or(until_ns, |(at_ns, _)| until_ns.min(*at_ns));
                    prop_assert!(until_ns > world.now_ns, "a wait has an end");
                    world.now_ns = next_ns;
                }
                tapline_probe::NextAction::Done => break,
            }
        }
        let mut total = world.prober.removed().counts;
        for target in world.prober.targets().indices() {
            let counts = world.prober.counts(target);
            total = total.plus(&counts);
            let mut sum = ProbeCounts::default();
            for account in world.prober.accounts(target) {
                add(&mut accounts, account.address.expect("few changes"), &account.counts);
                sum = sum.plus(&account.counts);
            }
            prop_assert_eq!(sum, counts);
        }
        prop_assert_eq!(total, world.prober.total());
        accounts.retain(|_, counts| counts.sent > 0);
        let counted: BTreeMap<_, _> = accounts.iter().map(|(address, counts)| (*address, counts.sent)).collect();
        prop_assert_eq!(counted, sent);
        for counts in accounts.values() {
            prop_assert_eq!(counts.sent, counts.received + counts.late + counts.lost);
        }
    }
}
