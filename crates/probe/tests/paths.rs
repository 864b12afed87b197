//! Probes of a path have the same header fields, and their own counters.

use std::collections::{HashMap, HashSet};

use crate::support::{IDENTIFIER, MS, World, address, plan, targets};
use tapline_probe::{
    Classification, EchoRequest, IcmpError, IcmpMessage, MAX_PATHS, ProbePlan, Prober, QuotedProbe,
};

fn world(plan: &ProbePlan, words: &str, paths: u8) -> World {
    let mut world = World::new(plan, words);
    let targets = targets(words).with_paths(paths);
    world.prober = Prober::new(plan, targets).expect("a plan");
    world
}

#[test]
fn the_checksum_is_that_of_the_path_in_every_probe() {
    for bytes in [18, 19, 56, 57] {
        let plan = ProbePlan {
            payload_bytes: bytes,
            ..plan(300)
        };
        let mut world = world(&plan, "10.0.0.1 fd00::1", MAX_PATHS);
        let mut request = EchoRequest::icmpv4(IDENTIFIER, world.prober.filler());
        let (mut sums, mut cookies): (HashMap<u32, HashSet<u16>>, _) =
            (HashMap::new(), HashSet::new());
        while let Some((probe, packet)) = world.send() {
            let cookie = *packet.payload.first_chunk().expect("a cookie");
            let balance = world.prober.balance(probe, &cookie).expect("it has paths");
            let message = request.write_balanced(probe.sequence(), &cookie, balance);
            assert_eq!(message[8..], packet.payload);
            // The checksum of `wire` over the whole message, whatever its checksum field says.
            assert_eq!(message[2..4], packet.checksum.to_be_bytes());
            let path = world.prober.targets().path(probe.target).expect("a path");
            assert_eq!(packet.checksum, path.checksum);
            sums.entry(probe.target)
                .or_default()
                .insert(packet.checksum);
            cookies.insert(cookie);
        }
        assert_eq!(cookies.len(), 300 * 2 * usize::from(MAX_PATHS));
        assert!(sums.values().all(|sums| sums.len() == 1));
        let of_host = (0..64).flat_map(|target| &sums[&target]);
        assert_eq!(of_host.collect::<HashSet<_>>().len(), 64);
    }
}

#[test]
fn paths_are_counted_apart() {
    let mut world = world(&plan(20), "10.0.0.1 10.0.0.2", 3);
    assert_eq!(
        (world.prober.targets().len(), world.prober.targets().hosts()),
        (6, 2)
    );
    // Path 1 of the second host loses every fifth probe.
    world.run(|probe| match (probe.target, probe.round % 5) {
        (4, 4) => vec![],
        _ => vec![MS],
    });
    for target in 0..6 {
        let counts = world.prober.counts(target);
        let lost = if target == 4 { 4 } else { 0 };
        assert_eq!(
            (counts.sent, counts.received, counts.lost),
            (20, 20 - lost, lost)
        );
        let path = world.prober.targets().path(target).expect("a path");
        assert_eq!(u32::from(path.number), target % 3);
        let host = address(["10.0.0.1", "10.0.0.2"][target as usize / 3]);
        assert_eq!(world.prober.targets().address(target), Some(host));
    }
}

#[test]
fn a_flipped_bit_of_the_balance_is_corrupt() {
    let mut world = world(&plan(1), "10.0.0.1", 2);
    let (probe, packet) = world.send().expect("a probe");
    for bit in 16 * 8..56 * 8 {
        let mut damaged = packet.clone();
        damaged.payload[bit / 8] ^= 1 << (bit % 8);
        let class = world.receive(IcmpMessage::Reply(damaged.reply()));
        let (target, probe) = (probe.target, Some(probe));
        assert_eq!(class, Classification::Corrupt { target, probe }, "{bit}");
    }
    let class = world.receive(IcmpMessage::Reply(packet.reply()));
    assert!(matches!(class, Classification::Received { .. }));
}

#[test]
fn a_short_quote_names_the_path_by_its_checksum() {
    let mut world = world(&plan(1), "10.0.0.1", 8);
    while let Some((probe, packet)) = world.send() {
        let error = |quoted: usize, checksum| {
            IcmpMessage::Error(IcmpError {
                router: address("192.0.2.1"),
                kind: 3,
                code: 1,
                parameter: [0; 4],
                intact: true,
                quote: QuotedProbe {
                    destination: packet.destination,
                    identifier: IDENTIFIER,
                    sequence: packet.sequence,
                    checksum,
                    payload: &packet.payload[..quoted],
                },
            })
        };
        assert_eq!(world.receive(error(0, 1)), Classification::Foreign);
        let quoted = if probe.target.is_multiple_of(2) {
            0
        } else {
            16
        };
        let class = world.receive(error(quoted, packet.checksum));
        assert!(
            matches!(class, Classification::Error { probe: found, .. } if found == probe),
            "{class:?}"
        );
    }
    assert!((0..8).all(|target| world.prober.counts(target).errors == 1));
}

#[test]
fn too_many_paths_and_too_short_payloads_are_refused() {
    let list = |paths| targets("10.0.0.1").with_paths(paths);
    let short = ProbePlan {
        payload_bytes: 17,
        ..plan(1)
    };
    let error = Prober::new(&short, list(1)).expect_err("no room");
    assert_eq!(
        error.to_string(),
        "payload (bytes) is 17, not between 18 and 65507"
    );
    let error = Prober::new(&plan(1), list(65)).expect_err("too many");
    assert_eq!(error.to_string(), "paths is 65, not between 1 and 64");
    assert!(Prober::new(&short, list(0)).is_ok());
}
