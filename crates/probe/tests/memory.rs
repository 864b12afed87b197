//! What is remembered from one probe to the next.

mod support;

use support::{MS, World, plan};
use tapline_probe::{Message, Plan, Verdict};

#[test]
fn answers_that_overtake_are_received_and_told() {
    let quick = Plan {
        interval_ns: MS,
        ..plan(3)
    };
    let mut world = World::new(&quick, "10.0.0.1");
    let packets = [(); 3].map(|()| world.send().expect("a probe"));
    let reordered: Vec<bool> = [0, 2, 1]
        .map(|at: usize| world.receive(Message::Reply(packets[at].1.reply())))
        .iter()
        .map(|verdict| {
            matches!(
                verdict,
                Verdict::Received {
                    is_reordered: true,
                    ..
                }
            )
        })
        .collect();
    assert_eq!(reordered, [false, false, true]);
    let total = world.prober.total();
    assert_eq!((total.received, world.prober.others().reordered), (3, 1));
}

#[test]
fn an_answer_older_than_memory_is_stale() {
    let mut world = World::new(&plan(200), "10.0.0.1");
    let (probe, first) = world.send().expect("a probe");
    for _ in 0..100 {
        world.send();
    }
    let verdict = world.receive(Message::Reply(first.reply()));
    assert_eq!(verdict, Verdict::Stale { probe });
    assert_eq!(world.prober.others().stale, 1);
    let total = world.prober.total();
    assert_eq!((total.sent, total.lost, total.late), (101, 99, 0));
}

#[test]
fn the_longest_outage_is_told() {
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
