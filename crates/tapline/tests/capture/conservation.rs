//! A capture's packet counters, compared with the number that the generator delivered and the interface's own counter.

use std::time::Duration;

use lab::generator::udp_frame;
use lab::kernel::LIVE_FRAMES;
use lab::skip::without;
use lab::{Host, Net};
use ring::DirectionFilter;
use tapline::capture::{CaptureSummary, Ended, Filter, Limits};

use crate::support::{
    BACKENDS, Pair, Teller, Told, Witness, assert_account, frames, frames_only_split, ipv4_only,
    ipv4_only_untranslatable, options, run, send, until_reported,
};

/// Checks that the counters add up to `received`, in total and per interface, and so do the final statistics. The capture was on
/// the interface of `host`.
#[track_caller]
fn assert_adds_up(host: &Host, outcome: &CaptureSummary, teller: &Teller, received: u64) {
    let account = outcome.account;
    let lost = account.lost;
    assert_account(
        &account,
        account.delivered,
        account.filtered.unwrap(),
        lost.total(),
    );
    assert_eq!(account.received(), Some(received), "{outcome:?}");
    // A full queue of a veth interface refuses frames of the generator, which sends them again. The interface counts each refusal.
    let driver = (host.counters().rx_dropped == 0).then_some(0);
    assert_eq!((lost.nic, lost.driver, lost.program), (Some(0), driver, 0));
    let links = outcome
        .links
        .iter()
        .map(|link| link.account.received().unwrap());
    assert_eq!(links.sum::<u64>(), received, "{outcome:?}");
    let statistics = teller
        .finished
        .as_ref()
        .expect("the consumer was told of the end");
    let told = statistics
        .iter()
        .map(|interface| interface.received.unwrap());
    let unwritten = match outcome.ended {
        Ended::Consumer(_) => lost.writer,
        _ => 0,
    };
    assert_eq!(
        told.sum::<u64>() + unwritten,
        received,
        "{outcome:?} {statistics:?}"
    );
}

/// Filters that accept the generator's frames.
fn filters() -> [Option<Filter>; 2] {
    [None, Some(ipv4_only())]
}

#[test]
fn at_a_low_rate_every_packet_is_delivered() {
    if without(&LIVE_FRAMES) {
        return;
    }
    for backend in BACKENDS {
        let mut pair = Pair::new();
        let mut teller = Teller::new();
        let outcome = pair.run(
            options(&pair.right, backend),
            &mut teller,
            |pair, stopper| {
                pair.deliver_at(5000, Some(50_000));
                pair.until(5000);
                stopper.stop();
            },
        );
        assert!(matches!(outcome.ended, Ended::Stopped), "{outcome:?}");
        assert_account(&outcome.account, 5000, 0, 0);
        assert_eq!((teller.taken, teller.lost_before), (5000, 0));
        assert_eq!(pair.right.counters().rx_packets, 5000);
        assert_adds_up(&pair.right, &outcome, &teller, 5000);
    }
}

#[test]
fn what_a_filter_refuses_is_counted() {
    if without(&LIVE_FRAMES) {
        return;
    }
    for backend in BACKENDS {
        let mut pair = Pair::new();
        let mut teller = Teller::new();
        let filtered = options(&pair.right, backend).with_filter(ipv4_only());
        let outcome = pair.run(filtered, &mut teller, |pair, stopper| {
            for round in 1..=4 {
                pair.deliver(1000);
                pair.send(0, 250);
                pair.until(round * 1250);
            }
            stopper.stop();
        });
        assert_account(&outcome.account, 4000, 1000, 0);
        assert_eq!(teller.taken, 4000);
        assert!(
            teller
                .kept
                .iter()
                .all(|kept| kept.bytes[..34] == udp_frame(80)[..34])
        );
        assert_eq!(pair.right.counters().rx_packets, 5000);
        assert_adds_up(&pair.right, &outcome, &teller, 5000);
    }
}

#[test]
fn what_a_filter_refuses_is_unknown_where_it_cannot_count() {
    if without(&LIVE_FRAMES) {
        return;
    }
    for backend in BACKENDS {
        let mut pair = Pair::new();
        let mut teller = Teller::new();
        let filtered = options(&pair.right, backend).with_filter(ipv4_only_untranslatable());
        let outcome = pair.run(filtered, &mut teller, |pair, stopper| {
            pair.deliver(1000);
            pair.send(0, 250);
            pair.until(1250);
            stopper.stop();
        });
        let account = outcome.account;
        assert_eq!((account.delivered, teller.taken), (1000, 1000));
        assert_eq!((account.filtered, account.received()), (None, None));
        assert_eq!(account.lost.total(), 0);
        assert_eq!(teller.finished.unwrap()[0].received, None);
    }
}

#[test]
fn at_overload_what_the_ring_dropped_is_counted_and_reported_with_a_packet() {
    if without(&LIVE_FRAMES) {
        return;
    }
    for (backend, filter) in BACKENDS
        .into_iter()
        .flat_map(|backend| filters().map(|f| (backend, f)))
    {
        let mut pair = Pair::new();
        let (mut teller, release, told) = Teller::stalling();
        let small = options(&pair.right, backend)
            .buffer_bytes(128 << 10)
            .stall(Duration::ZERO)
            .with_filter(filter);
        let outcome = pair.run(small, &mut teller, |pair, stopper| {
            pair.deliver(1);
            until_reported(&told, Told::Holding);
            pair.deliver(30_000);
            pair.until(30_001);
            release.send(()).unwrap();
            // The ring is empty; a packet that finds room brings the loss to light.
            until_reported(&told, Told::Idle);
            pair.deliver(1);
            pair.until(30_002);
            stopper.stop();
        });
        let account = outcome.account;
        assert!(account.lost.ring > 20_000, "{outcome:?}");
        assert_account(&account, teller.taken, 0, account.lost.ring);
        assert_eq!(teller.lost_before, account.lost.ring);
        assert_eq!(pair.right.counters().rx_packets, 30_002);
        assert_adds_up(&pair.right, &outcome, &teller, 30_002);
    }
}

#[test]
fn a_loss_before_refused_packets_is_reported_with_the_next_one_that_is_delivered() {
    if without(&LIVE_FRAMES) {
        return;
    }
    for backend in BACKENDS {
        let mut pair = Pair::new();
        let (mut teller, release, told) = Teller::stalling();
        let small = options(&pair.right, backend)
            .buffer_bytes(128 << 10)
            .stall(Duration::ZERO)
            .with_filter(frames_only_split());
        let outcome = pair.run(small, &mut teller, |pair, stopper| {
            pair.send(0, 1);
            until_reported(&told, Told::Holding);
            pair.deliver(30_000);
            pair.until(30_001);
            release.send(()).unwrap();
            until_reported(&told, Told::Idle);
            pair.deliver(1);
            pair.send(1, 1);
            pair.until(30_003);
            stopper.stop();
        });
        let account = outcome.account;
        assert!(account.lost.ring > 20_000, "{outcome:?}");
        assert_account(&account, 2, 30_001 - account.lost.ring, account.lost.ring);
        assert_eq!(teller.lost_before, account.lost.ring);
        assert_adds_up(&pair.right, &outcome, &teller, 30_003);
    }
}

#[test]
fn after_the_last_packet_asked_for_the_others_count_as_filtered() {
    if without(&LIVE_FRAMES) {
        return;
    }
    for (backend, filter) in BACKENDS
        .into_iter()
        .flat_map(|backend| filters().map(|f| (backend, f)))
    {
        let mut pair = Pair::new();
        let (mut teller, release, told) = Teller::stalling();
        let limited = options(&pair.right, backend)
            .with_filter(filter)
            .packets(777);
        let outcome = pair.run(limited, &mut teller, |pair, _| {
            pair.deliver(1);
            until_reported(&told, Told::Holding);
            // Everything arrives before the capture comes to its limit.
            pair.deliver(4999);
            pair.until(5000);
            release.send(()).unwrap();
        });
        assert!(matches!(outcome.ended, Ended::Packets), "{outcome:?}");
        assert_account(&outcome.account, 777, 5000 - 777, 0);
        let numbers = teller.kept.iter().map(|kept| kept.bytes[42..50].to_vec());
        assert!(numbers.eq((0u64..777).map(|number| number.to_be_bytes().to_vec())));
        assert_adds_up(&pair.right, &outcome, &teller, 5000);
    }
}

#[test]
fn a_limit_of_no_packets_delivers_none() {
    for backend in BACKENDS {
        let mut pair = Pair::new();
        let none = options(&pair.right, backend).limits(Limits {
            packets: Some(0),
            duration: None,
        });
        let mut teller = Teller::new();
        let outcome = pair.run(none, &mut teller, |_, _| ());
        assert!(matches!(outcome.ended, Ended::Packets), "{outcome:?}");
        assert_adds_up(&pair.right, &outcome, &teller, 0);
    }
}

#[test]
fn the_other_direction_is_no_part_of_the_account() {
    // Frames of [`frames`], and datagrams, which alone the filter lets through.
    let directions = [
        (DirectionFilter::Out, 300, 10),
        (DirectionFilter::In, 20, 0),
        (DirectionFilter::Both, 320, 10),
    ];
    for backend in BACKENDS {
        for (filter, (direction, foreign, ours)) in filters()
            .into_iter()
            .flat_map(|f| directions.map(|d| (f.clone(), d)))
        {
            let [left, right] = Net::new().pair();
            let mut witness = Witness::on(&left);
            let mut teller = Teller::new();
            let delivered = if filter.is_some() {
                ours
            } else {
                foreign + ours
            };
            let options = options(&left, backend)
                .direction(direction)
                .with_filter(filter);
            let (outcome, ()) = run(&left, options, &mut teller, |stopper| {
                send(&left, &frames(0, 300));
                send(&right, &frames(1000, 20));
                send(&left, &vec![udp_frame(80); 10]);
                witness.until(330);
                stopper.stop();
            });
            assert_eq!(outcome.account.delivered, delivered, "{direction:?}");
            assert_eq!(teller.taken, delivered);
            assert_adds_up(&left, &outcome, &teller, foreign + ours);
        }
    }
}

#[test]
fn what_a_consumer_does_not_take_or_loses_is_unwritten() {
    if without(&LIVE_FRAMES) {
        return;
    }
    for backend in BACKENDS {
        let mut pair = Pair::new();
        let (mut teller, release, told) = Teller::stalling();
        teller.fails_at = Some(400);
        let outcome = pair.run(options(&pair.right, backend), &mut teller, |pair, _| {
            pair.deliver(1);
            until_reported(&told, Told::Holding);
            pair.deliver(999);
            pair.until(1000);
            release.send(()).unwrap();
        });
        match &outcome.ended {
            Ended::Consumer(error) => assert_eq!(error.to_string(), "as asked"),
            other => panic!("{other:?}"),
        }
        assert_account(&outcome.account, 400, 0, 600);
        assert_eq!(outcome.account.lost.writer, 600);
        assert_adds_up(&pair.right, &outcome, &teller, 1000);

        let mut pair = Pair::new();
        let mut teller = Teller::new();
        teller.loses = 30;
        let outcome = pair.run(
            options(&pair.right, backend),
            &mut teller,
            |pair, stopper| {
                pair.deliver(1000);
                pair.until(1000);
                stopper.stop();
            },
        );
        assert_account(&outcome.account, 970, 0, 30);
        assert_eq!(outcome.account.lost.writer, 30);
        assert_adds_up(&pair.right, &outcome, &teller, 1000);
    }
}
