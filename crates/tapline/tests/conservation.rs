//! What a capture says became of the packets, against the number that the generator delivered and
//! the interface's own counter.

use std::time::Duration;

use crate::support::{
    BACKENDS, Teller, Told, Witness, deliver, frames, generator, ipv4_only,
    ipv4_only_untranslatable, options, run, send, until_told,
};
use lab::generator::udp_frame;
use lab::{Host, Net};
use ring::DirectionFilter;
use tapline::capture::{CaptureSummary, Ended, Limits};

/// Packets that the host's first interface has received.
fn rx_packets(host: &Host) -> u64 {
    host.counters().rx_packets
}

/// The account adds up to `received`, in all and by interface, and so do the final statistics.
#[track_caller]
fn assert_adds_up(outcome: &CaptureSummary, teller: &Teller, received: u64) {
    let account = outcome.account;
    assert_eq!(account.received(), Some(received), "{outcome:?}");
    let filtered = account.filtered.unwrap();
    assert_eq!(
        account.delivered + filtered + account.lost.total(),
        received,
        "{outcome:?}"
    );
    assert_eq!(
        (account.lost.nic, account.lost.driver, account.lost.program),
        (Some(0), Some(0), 0)
    );
    let links: u64 = outcome
        .links
        .iter()
        .map(|link| link.account.received().unwrap())
        .sum();
    assert_eq!(links, received, "{outcome:?}");
    let statistics = teller
        .finished
        .as_ref()
        .expect("the consumer was told of the end");
    let told: u64 = statistics
        .iter()
        .map(|interface| interface.received.unwrap())
        .sum();
    let unwritten = if matches!(outcome.ended, Ended::Consumer(_)) {
        account.lost.writer
    } else {
        0
    };
    assert_eq!(told + unwritten, received, "{outcome:?} {statistics:?}");
}

#[test]
fn at_a_low_rate_every_packet_is_delivered() {
    for backend in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut witness = Witness::on(&right);
        let mut generator = generator(&left, &right);
        let mut teller = Teller::new();
        let (outcome, ()) = run(&right, options(&right, backend), &mut teller, |stopper| {
            let sent = left.run(|| generator.deliver(5000, Some(50_000)));
            assert_eq!(sent.delivered, 5000);
            witness.until(5000);
            stopper.stop();
        });
        assert!(matches!(outcome.ended, Ended::Stopped), "{outcome:?}");
        assert_eq!(outcome.account.delivered, 5000);
        assert_eq!((teller.taken, teller.lost_before), (5000, 0));
        assert_eq!(rx_packets(&right), 5000);
        assert_adds_up(&outcome, &teller, 5000);
    }
}

#[test]
fn what_a_filter_refuses_is_counted() {
    for backend in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut witness = Witness::on(&right);
        let mut generator = generator(&left, &right);
        let mut teller = Teller::new();
        let filter = Some(ipv4_only());
        let filtered = options(&right, backend).with_filter(filter);
        let (outcome, ()) = run(&right, filtered, &mut teller, |stopper| {
            for round in 1..=4 {
                deliver(&left, &mut generator, 1000);
                send(&left, &frames(0, 250));
                witness.until(round * 1250);
            }
            stopper.stop();
        });
        assert_eq!(
            (outcome.account.delivered, outcome.account.filtered),
            (4000, Some(1000))
        );
        assert_eq!(teller.taken, 4000);
        assert!(
            teller
                .kept
                .iter()
                .all(|(_, _, bytes)| bytes[..34] == udp_frame(80)[..34])
        );
        assert_eq!(rx_packets(&right), 5000);
        assert_adds_up(&outcome, &teller, 5000);
    }
}

#[test]
fn what_a_filter_refuses_is_unknown_where_it_cannot_count() {
    for backend in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut witness = Witness::on(&right);
        let mut generator = generator(&left, &right);
        let mut teller = Teller::new();
        let filter = Some(ipv4_only_untranslatable());
        let filtered = options(&right, backend).with_filter(filter);
        let (outcome, ()) = run(&right, filtered, &mut teller, |stopper| {
            deliver(&left, &mut generator, 1000);
            send(&left, &frames(0, 250));
            witness.until(1250);
            stopper.stop();
        });
        assert_eq!((outcome.account.delivered, teller.taken), (1000, 1000));
        assert_eq!(
            (outcome.account.filtered, outcome.account.received()),
            (None, None)
        );
        assert_eq!(outcome.account.lost.total(), 0);
        assert_eq!(teller.finished.unwrap()[0].received, None);
    }
}

#[test]
fn at_overload_what_the_ring_dropped_is_counted_and_told_with_a_packet() {
    for backend in BACKENDS {
        for filter in [None, Some(ipv4_only())] {
            let [left, right] = Net::new().pair();
            let mut witness = Witness::on(&right);
            let mut generator = generator(&left, &right);
            let (mut teller, release, told) = Teller::stalling();
            let small = options(&right, backend)
                .buffer_bytes(128 << 10)
                .stall(Duration::ZERO)
                .with_filter(filter);
            let (outcome, ()) = run(&right, small, &mut teller, |stopper| {
                deliver(&left, &mut generator, 1);
                until_told(&told, Told::Holding);
                deliver(&left, &mut generator, 30_000);
                witness.until(30_001);
                release.send(()).unwrap();
                // The ring is empty; a packet that finds room brings the loss to light.
                until_told(&told, Told::Idle);
                deliver(&left, &mut generator, 1);
                witness.until(30_002);
                stopper.stop();
            });
            let account = outcome.account;
            assert!(account.lost.ring > 20_000, "{outcome:?}");
            assert_eq!((account.lost.reader, account.lost.writer), (0, 0));
            assert_eq!(account.filtered, Some(0));
            assert_eq!(teller.taken, account.delivered);
            assert_eq!(teller.lost_before, account.lost.ring);
            assert_eq!(rx_packets(&right), 30_002);
            assert_adds_up(&outcome, &teller, 30_002);
        }
    }
}

#[test]
fn after_the_last_packet_asked_for_the_others_count_as_filtered() {
    for backend in BACKENDS {
        for filter in [None, Some(ipv4_only())] {
            let [left, right] = Net::new().pair();
            let mut witness = Witness::on(&right);
            let mut generator = generator(&left, &right);
            let (mut teller, release, told) = Teller::stalling();
            let mut limited = options(&right, backend).with_filter(filter);
            limited.limits.packets = Some(777);
            let (outcome, ()) = run(&right, limited, &mut teller, |_| {
                deliver(&left, &mut generator, 1);
                until_told(&told, Told::Holding);
                // Everything arrives before the capture comes to its limit.
                deliver(&left, &mut generator, 4999);
                witness.until(5000);
                release.send(()).unwrap();
            });
            assert!(matches!(outcome.ended, Ended::Packets), "{outcome:?}");
            assert_eq!((outcome.account.delivered, teller.taken), (777, 777));
            assert_eq!(outcome.account.filtered, Some(5000 - 777));
            let numbers = teller
                .kept
                .iter()
                .map(|(_, _, bytes)| bytes[42..50].to_vec());
            assert!(numbers.eq((0u64..777).map(|number| number.to_be_bytes().to_vec())));
            assert_adds_up(&outcome, &teller, 5000);
        }
    }
}

#[test]
fn a_limit_of_no_packets_delivers_none() {
    for backend in BACKENDS {
        let [_left, right] = Net::new().pair();
        let mut none = options(&right, backend);
        none.limits = Limits {
            packets: Some(0),
            duration: None,
        };
        let mut teller = Teller::new();
        let (outcome, ()) = run(&right, none, &mut teller, |_| ());
        assert!(matches!(outcome.ended, Ended::Packets), "{outcome:?}");
        assert_adds_up(&outcome, &teller, 0);
    }
}

#[test]
fn the_other_direction_is_no_part_of_the_account() {
    for backend in BACKENDS {
        for filter in [None, Some(ipv4_only())] {
            for direction in [
                DirectionFilter::Out,
                DirectionFilter::In,
                DirectionFilter::Both,
            ] {
                let [left, right] = Net::new().pair();
                let mut witness = Witness::on(&left);
                let mut teller = Teller::new();
                let is_filtered = filter.is_some();
                let filter = filter.clone();
                let options = options(&left, backend)
                    .direction(direction)
                    .with_filter(filter);
                let (outcome, ()) = run(&left, options, &mut teller, |stopper| {
                    send(&left, &frames(0, 300));
                    send(&right, &frames(1000, 20));
                    // No filter lets these through, and the first all.
                    send(&left, &vec![udp_frame(80); 10]);
                    witness.until(330);
                    stopper.stop();
                });
                let (foreign, ours) = match direction {
                    DirectionFilter::Out => (300, 10),
                    DirectionFilter::In => (20, 0),
                    DirectionFilter::Both => (320, 10),
                };
                let delivered = if is_filtered { ours } else { foreign + ours };
                assert_eq!(outcome.account.delivered, delivered, "{direction:?}");
                assert_eq!(teller.taken, delivered);
                assert_adds_up(&outcome, &teller, foreign + ours);
            }
        }
    }
}

#[test]
fn a_consumer_that_fails_leaves_the_rest_unwritten() {
    for backend in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut witness = Witness::on(&right);
        let mut generator = generator(&left, &right);
        let (mut teller, release, told) = Teller::stalling();
        teller.fails_at = Some(400);
        let (outcome, ()) = run(&right, options(&right, backend), &mut teller, |_| {
            deliver(&left, &mut generator, 1);
            until_told(&told, Told::Holding);
            deliver(&left, &mut generator, 999);
            witness.until(1000);
            release.send(()).unwrap();
        });
        match &outcome.ended {
            Ended::Consumer(error) => assert_eq!(error.to_string(), "as asked"),
            other => panic!("{other:?}"),
        }
        assert_eq!(
            (outcome.account.delivered, outcome.account.lost.writer),
            (400, 600)
        );
        assert_eq!(outcome.account.filtered, Some(0));
        assert_adds_up(&outcome, &teller, 1000);
    }
}

#[test]
fn what_a_consumer_took_and_lost_is_not_delivered() {
    for backend in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut witness = Witness::on(&right);
        let mut generator = generator(&left, &right);
        let mut teller = Teller::new();
        teller.loses = 30;
        let (outcome, ()) = run(&right, options(&right, backend), &mut teller, |stopper| {
            deliver(&left, &mut generator, 1000);
            witness.until(1000);
            stopper.stop();
        });
        assert_eq!(
            (outcome.account.delivered, outcome.account.lost.writer),
            (970, 30)
        );
        assert_adds_up(&outcome, &teller, 1000);
    }
}
