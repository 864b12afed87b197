//! Each kind of reply is counted under its own counter.

use crate::support::{IDENTIFIER, MS, SECOND, World, address, counts, one_in_flight, plan};
use tapline_probe::{Classification, EchoReply, IcmpMessage, ProbePlan};

#[test]
fn an_answer_in_time_is_received_once_and_then_a_duplicate() {
    for words in ["10.0.0.1", "fd00::1"] {
        let (mut world, probe, packet) = one_in_flight(words);
        world.now_ns = 30_000;
        let rtt_ns = Some(30_000);
        assert_eq!(
            world.receive(IcmpMessage::Reply(packet.reply())),
            Classification::Received {
                probe,
                rtt_ns,
                is_reordered: false
            }
        );
        world.now_ns = 40_000;
        let rtt_ns = Some(40_000);
        let again = world.receive(IcmpMessage::Reply(packet.reply()));
        assert_eq!(again, Classification::Duplicate { probe, rtt_ns });
        let rtt = world.prober.rtt(0).expect("it was timed");
        assert_eq!(
            (rtt.min_ns, rtt.max_ns),
            (30_000, 30_000),
            "duplicates are not timed"
        );
        let want = counts(|c| (c.sent, c.received, c.duplicate) = (1, 1, 1));
        assert_eq!(world.prober.counts(0), want);
        assert_eq!(world.prober.total(), want);
    }
}

#[test]
fn an_answer_after_the_timeout_is_late_and_no_longer_lost() {
    let (mut world, probe, packet) = one_in_flight("10.0.0.1");
    world.now_ns = SECOND + 20 * MS;
    world.expire();
    assert_eq!(world.lost, [probe]);
    assert_eq!(
        world.prober.counts(0),
        counts(|c| (c.sent, c.lost) = (1, 1))
    );
    let rtt_ns = Some(world.now_ns);
    let verdict = world.receive(IcmpMessage::Reply(packet.reply()));
    assert_eq!(verdict, Classification::Late { probe, rtt_ns });
    assert_eq!(
        world.prober.counts(0),
        counts(|c| (c.sent, c.late) = (1, 1))
    );
    assert_eq!(world.prober.rtt(0), None, "late answers are not timed");
    let again = world.receive(IcmpMessage::Reply(packet.reply()));
    assert_eq!(again, Classification::Duplicate { probe, rtt_ns });
}

#[test]
fn an_answer_that_is_read_late_but_came_in_time_is_received() {
    let (mut world, probe, packet) = one_in_flight("10.0.0.1");
    world.now_ns = 3 * SECOND;
    world.expire();
    assert_eq!(world.prober.total().lost, 1);
    let message = IcmpMessage::Reply(packet.reply());
    let verdict = world.prober.received(&message, Some(5 * MS), 3 * SECOND);
    let rtt_ns = Some(5 * MS);
    assert_eq!(
        verdict,
        Classification::Received {
            probe,
            rtt_ns,
            is_reordered: false
        }
    );
    assert_eq!(
        world.prober.total(),
        counts(|c| (c.sent, c.received) = (1, 1))
    );
}

#[test]
fn an_answer_without_a_trusted_stamp_is_received_and_not_timed() {
    let (mut world, probe, packet) = one_in_flight("10.0.0.1");
    let message = IcmpMessage::Reply(packet.reply());
    let want = Classification::Received {
        probe,
        rtt_ns: None,
        is_reordered: false,
    };
    assert_eq!(world.prober.received(&message, None, 5 * MS), want);
    assert_eq!(
        (
            world.prober.total().received,
            world.prober.other_counts().untimed
        ),
        (1, 1)
    );
    assert_eq!(
        (world.prober.rtt(0), world.prober.histogram().count()),
        (None, 0)
    );

    // A stamp before the probe was sent cannot be right either.
    world.now_ns = SECOND;
    let (second, packet) = world.send().expect("the second round");
    let message = IcmpMessage::Reply(packet.reply());
    let verdict = world
        .prober
        .received(&message, Some(SECOND - 1), SECOND + 2 * SECOND);
    assert_eq!(
        verdict,
        Classification::Late {
            probe: second,
            rtt_ns: None
        }
    );
}

#[test]
fn an_answer_from_elsewhere_is_reported_and_does_not_count() {
    let (mut world, probe, packet) = one_in_flight("10.0.0.1");
    let source = address("10.0.0.2");
    let reply = EchoReply {
        source,
        ..packet.reply()
    };
    let verdict = world.receive(IcmpMessage::Reply(reply));
    assert_eq!(verdict, Classification::WrongSource { probe, source });
    assert_eq!(world.prober.other_counts().wrong_source, 1);
    assert_eq!(world.prober.total().pending(), 1);
}

#[test]
fn a_damaged_answer_is_corrupt_and_the_probe_is_waited_for() {
    let (mut world, probe, packet) = one_in_flight("10.0.0.1");
    let whole = packet.payload.clone();
    let mut longer = whole.clone();
    longer.push(0);
    let mut flipped = whole.clone();
    flipped[40] ^= 1;
    let found = Classification::Corrupt {
        target: 0,
        probe: Some(probe),
    };
    for payload in [&whole[..55], &whole[..16], &longer, &flipped] {
        let reply = EchoReply {
            payload,
            ..packet.reply()
        };
        assert_eq!(world.receive(IcmpMessage::Reply(reply)), found);
    }
    // Damage to the cookie itself: the checksum tells it from a forgery.
    let mut flipped = whole.clone();
    flipped[3] ^= 1;
    let reply = EchoReply {
        payload: &flipped,
        intact: false,
        ..packet.reply()
    };
    let found = Classification::Corrupt {
        target: 0,
        probe: None,
    };
    assert_eq!(world.receive(IcmpMessage::Reply(reply)), found);
    assert_eq!(
        world.prober.counts(0),
        counts(|c| (c.sent, c.corrupt) = (1, 5))
    );
    world.receive(IcmpMessage::Reply(packet.reply()));
    assert_eq!(world.prober.total().received, 1);
}

#[test]
fn a_forged_cookie_is_told_from_another_process_with_the_same_identifier() {
    let (mut world, _, packet) = one_in_flight("10.0.0.1");
    for bit in 0..128 {
        let mut payload = packet.payload.clone();
        payload[bit / 8] ^= 1 << (bit % 8);
        let reply = EchoReply {
            payload: &payload,
            ..packet.reply()
        };
        assert_eq!(
            world.receive(IcmpMessage::Reply(reply)),
            Classification::Forged
        );
    }
    let sequence = packet.sequence + 1;
    let reply = EchoReply {
        sequence,
        ..packet.reply()
    };
    assert_eq!(
        world.receive(IcmpMessage::Reply(reply)),
        Classification::Forged
    );
    // ping's payload: a time of 16 bytes, then counting up.
    let other: Vec<u8> = (0..56).collect();
    let cut_short = Classification::CutShort { target: 0 };
    for (payload, verdict) in [
        (&other[..], Classification::Foreign),
        (&other[..8], cut_short),
        (&packet.payload[..15], cut_short),
        (&[], cut_short),
    ] {
        let reply = EchoReply {
            payload,
            ..packet.reply()
        };
        assert_eq!(world.receive(IcmpMessage::Reply(reply)), verdict);
    }
    let identifier = IDENTIFIER + 1;
    let reply = EchoReply {
        identifier,
        ..packet.reply()
    };
    assert_eq!(
        world.receive(IcmpMessage::Reply(reply)),
        Classification::Foreign
    );
    let others = world.prober.other_counts();
    assert_eq!((others.forged, others.foreign), (129, 2));
    assert_eq!(others.cut_short, 3);
    assert_eq!(world.prober.total(), counts(|c| c.sent = 1));
}

#[test]
fn another_run_with_another_key_is_forged() {
    let other = ProbePlan {
        key: tapline_probe::RunKey([1, 3]),
        payload_bytes: 16,
        ..plan(1)
    };
    let small = ProbePlan {
        payload_bytes: 16,
        ..plan(1)
    };
    let (_, packet) = World::new(&other, "10.0.0.1").send().expect("a probe");
    let mut world = World::new(&small, "10.0.0.1");
    world.send().expect("a probe");
    assert_eq!(
        world.receive(IcmpMessage::Reply(packet.reply())),
        Classification::Forged
    );
}
