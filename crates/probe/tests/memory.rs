//! State kept between probes.

use std::net::IpAddr;

use crate::support::{IDENTIFIER, MS, Packet, World, plan};
use tapline_probe::{
    Classification, IcmpError, IcmpMessage, NextAction, ProbePlan, QuotedProbe, SendFailure,
};

#[test]
fn answers_that_overtake_are_received_and_reported() {
    let quick = ProbePlan {
        interval_ns: MS,
        ..plan(3)
    };
    let mut world = World::new(&quick, "10.0.0.1");
    let packets = [(); 3].map(|()| world.send().expect("a probe"));
    let reordered: Vec<bool> = [0, 2, 1]
        .map(|at: usize| world.receive(IcmpMessage::Reply(packets[at].1.reply())))
        .iter()
        .map(|verdict| {
            matches!(
                verdict,
                Classification::Received {
                    is_reordered: true,
                    ..
                }
            )
        })
        .collect();
    assert_eq!(reordered, [false, false, true]);
    let total = world.prober.total();
    assert_eq!(
        (total.received, world.prober.other_counts().reordered),
        (3, 1)
    );
}

#[test]
fn an_answer_older_than_memory_is_stale() {
    let mut world = World::new(&plan(200), "10.0.0.1");
    let (probe, first) = world.send().expect("a probe");
    for _ in 0..100 {
        world.send();
    }
    let verdict = world.receive(IcmpMessage::Reply(first.reply()));
    assert_eq!(verdict, Classification::Stale { probe });
    assert_eq!(world.prober.other_counts().stale, 1);
    let total = world.prober.total();
    assert_eq!((total.sent, total.lost, total.late), (101, 99, 0));
}

#[test]
fn the_longest_outage_is_reported() {
    let mut world = World::new(&plan(20), "10.0.0.1");
    world.run(|probe| match probe.round {
        3..=6 | 10..=12 => Vec::new(),
        _ => vec![MS],
    });
    assert_eq!(world.prober.longest_outage(0), 4);
    let total = world.prober.total();
    assert_eq!((total.sent, total.received, total.lost), (20, 13, 7));
    assert_eq!(world.lost.len(), 7);
}

#[test]
fn what_is_refused_or_answered_by_an_error_is_an_outage_too() {
    // Of a target that only errors answer, and of one to which nothing is sent.
    for is_sent in [true, false] {
        let mut world = World::new(&plan(100), "10.0.0.1 10.0.0.2");
        for _ in 0..200 {
            let probe = loop {
                world.expire();
                match world.prober.next(world.now_ns) {
                    NextAction::Send(probe) => break probe,
                    NextAction::Wait(until_ns) => world.now_ns = until_ns,
                    NextAction::Done => panic!("200 probes are due"),
                }
            };
            let packet = world.packet(probe);
            // The first target answers its rounds 20 and 50.
            let answers = probe.target == 0 && [20, 50].contains(&probe.round);
            if answers || is_sent {
                world.prober.sent(probe, world.now_ns);
            } else {
                world
                    .prober
                    .not_sent(probe, SendFailure::Refused, world.now_ns);
            }
            if answers {
                world.receive(IcmpMessage::Reply(packet.reply()));
            } else if is_sent {
                world.receive(IcmpMessage::Error(unreachable(&packet)));
            }
        }
        assert_eq!(world.prober.next(world.now_ns), NextAction::Done);
        let outages = [0, 1].map(|target| world.prober.longest_outage(target));
        assert_eq!(outages, [49, 100], "{is_sent}");
    }
}

fn unreachable(packet: &Packet) -> IcmpError<'_> {
    IcmpError {
        router: IpAddr::from([10, 0, 0, 254]),
        kind: 3,
        code: 1,
        parameter: [0; 4],
        intact: true,
        quote: QuotedProbe {
            destination: packet.destination,
            identifier: IDENTIFIER,
            sequence: packet.sequence,
            checksum: packet.checksum,
            payload: &packet.payload,
        },
    }
}
