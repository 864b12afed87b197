//! ICMP errors from routers: which probe they end, and when they are accepted.

use crate::support::{IDENTIFIER, Packet, SECOND, address, counts, one_in_flight};
use tapline_probe::{Classification, IcmpError, IcmpMessage, NetworkError, QuotedProbe};

const ROUTER: &str = "192.0.2.1";

fn error_about(packet: &Packet, kind: u8, code: u8, quoted: usize) -> IcmpMessage<'_> {
    IcmpMessage::Error(IcmpError {
        router: address(ROUTER),
        kind,
        code,
        parameter: [0; 4],
        intact: true,
        quote: QuotedProbe {
            destination: packet.destination,
            identifier: IDENTIFIER,
            sequence: packet.sequence,
            checksum: packet.checksum,
            payload: &packet.payload[..quoted],
        },
    })
}

#[test]
fn an_error_ends_a_probe_and_names_the_router() {
    for (quoted, is_proven) in [(56, true), (16, true), (15, false), (0, false)] {
        let (mut world, probe, packet) = one_in_flight("10.0.0.1 10.0.0.2");
        let error = NetworkError {
            router: address(ROUTER),
            kind: 3,
            code: 1,
        };
        let verdict = world.receive(error_about(&packet, 3, 1, quoted));
        let want = Classification::Error {
            probe,
            error,
            is_proven,
        };
        assert_eq!(verdict, want);
        let again = world.receive(error_about(&packet, 3, 1, quoted));
        assert_eq!(
            again,
            Classification::Duplicate {
                probe,
                rtt_ns: None
            }
        );
        // What anybody could have sent is counted when nothing has disproved it.
        let pending = u64::from(!is_proven);
        assert_eq!(world.prober.total().pending(), pending);
        world.now_ns = 3 * SECOND;
        world.expire();
        assert!(world.lost.is_empty());
        let want = counts(|c| (c.sent, c.errors, c.duplicate) = (1, 1, 1));
        assert_eq!(world.prober.counts(probe.target), want);
        assert_eq!(world.prober.longest_outage(probe.target), 1);
        assert_eq!(
            world.prober.errors().iter().collect::<Vec<_>>(),
            [(error, 2)]
        );
        assert_eq!(world.prober.other_counts().unproven, u64::from(!is_proven));
    }
}

#[test]
fn an_answer_disproves_an_error_that_proves_nothing() {
    let (mut world, probe, packet) = one_in_flight("10.0.0.1");
    world.receive(error_about(&packet, 3, 1, 8));
    let verdict = world.receive(IcmpMessage::Reply(packet.reply()));
    assert!(matches!(verdict, Classification::Received { probe: of, .. } if of == probe));
    // Nor does it come too late to be disproved.
    world.receive(error_about(&packet, 3, 1, 8));
    world.now_ns = 3 * SECOND;
    world.expire();
    let want = counts(|c| (c.sent, c.received, c.duplicate) = (1, 1, 1));
    assert_eq!(world.prober.counts(probe.target), want);
    assert_eq!(world.prober.other_counts().unproven, 0);
    assert_eq!(world.prober.longest_outage(probe.target), 0);

    let (mut world, probe, packet) = one_in_flight("10.0.0.1");
    world.receive(error_about(&packet, 3, 1, 8));
    let proven = world.receive(error_about(&packet, 11, 0, 56));
    assert!(matches!(
        proven,
        Classification::Error {
            is_proven: true,
            ..
        }
    ));
    for again in [
        IcmpMessage::Reply(packet.reply()),
        error_about(&packet, 3, 1, 8),
    ] {
        assert!(matches!(
            world.receive(again),
            Classification::Duplicate { .. }
        ));
    }
    world.now_ns = 3 * SECOND;
    world.expire();
    let want = counts(|c| (c.sent, c.errors, c.duplicate) = (1, 1, 2));
    assert_eq!(world.prober.counts(probe.target), want);
    assert_eq!(world.prober.other_counts().unproven, 0);
    assert_eq!(world.prober.longest_outage(probe.target), 1);
}

#[test]
fn an_error_about_another_programs_probe_is_foreign() {
    let (mut world, _, mut packet) = one_in_flight("10.0.0.1");
    // ping's payload: a time of 16 bytes, then counting up.
    packet.payload = (0..56).collect();
    for (quoted, verdict) in [(56, Classification::Foreign), (16, Classification::Forged)] {
        let error = error_about(&packet, 3, 1, quoted);
        assert_eq!(world.receive(error), verdict);
    }
    assert_eq!(world.prober.total(), counts(|c| c.sent = 1));
}

#[test]
fn an_error_that_comes_after_the_timeout_still_says_why() {
    let (mut world, _, packet) = one_in_flight("10.0.0.1");
    world.now_ns = 3 * SECOND;
    world.expire();
    world.receive(error_about(&packet, 3, 1, 0));
    assert_eq!(
        world.prober.total(),
        counts(|c| (c.sent, c.errors) = (1, 1))
    );
}

#[test]
fn a_redirect_is_a_notice() {
    let (mut world, probe, packet) = one_in_flight("10.0.0.1");
    let verdict = world.receive(error_about(&packet, 5, 1, 56));
    assert!(matches!(verdict, Classification::Notice { probe: about, .. } if about == probe));
    assert_eq!(world.prober.total().pending(), 1);
    assert_eq!(world.prober.other_counts().notices, 1);
}

#[test]
fn an_error_about_what_was_not_sent_is_not_believed() {
    let (mut world, _, packet) = one_in_flight("10.0.0.1");
    let mut forged = packet.clone();
    forged.payload[12] ^= 1;
    let verdict = world.receive(error_about(&forged, 3, 1, 56));
    assert_eq!(verdict, Classification::Forged);
    let elsewhere = Packet {
        destination: address("10.0.0.9"),
        ..packet.clone()
    };
    let verdict = world.receive(error_about(&elsewhere, 3, 1, 0));
    assert_eq!(verdict, Classification::Foreign);
    let never = Packet {
        sequence: packet.sequence + 1,
        ..packet
    };
    assert_eq!(
        world.receive(error_about(&never, 3, 1, 0)),
        Classification::Foreign
    );
    assert_eq!(world.prober.total(), counts(|c| c.sent = 1));
}
