//! Configuration changes of a running capture on memory filled by an XDP program, compared with the number of frames
//! sent.

use crate::support;
use crate::support::changes;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::support::changes::{Numbers, batch, change, open, send_during, set, until_delivered};
use crate::support::{Teller, Told, assert_account, frames, run_open, send, until_reported};
use lab::{Host, Net};
use netlink::Link;
use ring::{DeliveryMode, DirectionFilter, RingOpenError};
use tapline::capture::{
    Backend, CaptureOptions, ChangeError, Ended, Mode, Sampling, XdpAttachMode,
};

/// Options for ring buffers that a program copies packets into, and for memory that it shares with the reader.
fn ways(host: &Host) -> Vec<CaptureOptions> {
    let mirror = support::options(host, Backend::XdpRingbuf)
        .direction(DirectionFilter::In)
        .snaplen(96);
    let drop = mirror.clone().mode(Mode::Drop).backend(None::<Backend>);
    // The second requires this CPU's store ordering.
    let count = if cfg!(target_arch = "x86_64") { 2 } else { 1 };
    [mirror, drop].into_iter().take(count).collect()
}

#[test]
fn each_frame_comes_once_and_in_order_however_often_the_memory_changes() {
    const TIMES: usize = 30;
    let [left, right] = Net::new().pair();
    for way in ways(&right) {
        for (filter, xdp) in [
            (None, XdpAttachMode::Native),
            (
                Some(support::expression("ether proto 0x88b5")),
                XdpAttachMode::Generic,
            ),
        ] {
            let options = way
                .clone()
                .with_filter(filter)
                .xdp(xdp)
                .buffer_bytes(64 << 20);
            let mut numbers = Numbers::default();
            let (mut capture, control) = open(&right, options);
            let opened = capture.links().next().unwrap();
            assert_eq!(opened.backend, Backend::XdpRingbuf);
            let live = capture.live();
            let (outcome, sent) = run_open(capture, &mut numbers, |stopper| {
                let sent = send_during(&left, &live, || {
                    let bytes = |turn| (32_usize << 20) << (turn / 2 % 3);
                    (0..TIMES).for_each(|turn| change(&control, turn, bytes));
                });
                until_delivered(&live, sent);
                stopper.stop();
                sent
            });
            assert!(matches!(outcome.ended, Ended::Stopped), "{outcome:?}");
            assert_account(&outcome.account, sent, 0, 0);
            assert!(numbers.0.into_iter().eq(0..u32::try_from(sent).unwrap()));
            assert!(sent > 10 * TIMES as u64, "{sent}");
        }
    }
}

/// Each CPU has room for a few hundred packets at first, and for many after the change.
#[test]
fn what_was_lost_before_a_change_is_reported_behind_it() {
    let [left, right] = Net::new().pair();
    for way in ways(&right) {
        let options = way.buffer_bytes(1);
        let (mut teller, release, told) = Teller::stalling();
        let (mut capture, control) = open(&right, options);
        let live = capture.live();
        let (outcome, ()) = run_open(capture, &mut teller, |stopper| {
            send(&left, &frames(0, 1));
            until_reported(&told, Told::Holding);
            send(&left, &frames(1, 1999));
            control.set_buffer(8 << 20).unwrap();
            match control.set_buffer(16 << 20) {
                Err(ChangeError::Ring(RingOpenError::Busy { link })) => {
                    assert_eq!(link, right.interface().name.to_string());
                }
                answer => panic!("{answer:?}"),
            }
            send(&left, &frames(2000, 2000));
            release.send(()).unwrap();
            control.wait();
            until_delivered(&live, 2001);
            stopper.stop();
        });
        let account = outcome.account;
        assert_eq!(account.received(), Some(4000), "{outcome:?}");
        assert_eq!(account.lost.total(), account.lost.program);
        assert!((1..2000).contains(&account.lost.program), "{outcome:?}");
        assert_eq!(teller.lost_before, account.lost.program);
        let kept: Vec<u32> = teller.numbers().collect();
        let in_first = u32::try_from(2000 - account.lost.program).unwrap();
        let expected = (0..in_first).chain(2000..);
        assert_eq!(kept, expected.take(kept.len()).collect::<Vec<_>>());
        assert!(matches!(control.set_buffer(1), Err(ChangeError::Over)));
    }
}

#[test]
fn sampling_goes_on_where_it_was() {
    let [left, right] = Net::new().pair();
    for way in ways(&right) {
        let options = way
            .sampling(Sampling::OneIn(NonZeroU32::new(3).unwrap()))
            .delivery(DeliveryMode::Immediate);
        let mut numbers = Numbers::default();
        let (mut capture, control) = open(&right, options);
        let live = capture.live();
        let (outcome, ()) = run_open(capture, &mut numbers, |stopper| {
            // 10, 20 and so on are no multiples of 3.
            for turn in 0..10 {
                send(&left, &frames(10 * turn, 10));
                control.set_buffer((1 << 20) << (turn % 2)).unwrap();
                control.wait();
            }
            until_delivered(&live, 34);
            stopper.stop();
        });
        assert!(numbers.0.into_iter().eq((0..100).step_by(3)));
        assert_account(&outcome.account, 34, 66, 0);
        assert_eq!(outcome.account.sampled_out, Some(66));
    }
}

/// Its next wake-up would otherwise be in an hour.
#[test]
fn a_reader_that_sleeps_goes_on_with_the_new_memory() {
    let [left, right] = Net::new().pair();
    for way in ways(&right) {
        for delivery in [DeliveryMode::Immediate, batch(1 << 20, 1)] {
            let options = way.clone().delivery(delivery).tick(Duration::from_hours(1));
            let (mut teller, release, told) = Teller::stalling();
            let (capture, control) = open(&right, options);
            let (outcome, ()) = run_open(capture, &mut teller, |stopper| {
                send(&left, &frames(0, 1));
                until_reported(&told, Told::Holding);
                release.send(()).unwrap();
                for number in 1..5 {
                    until_reported(&told, Told::Idle);
                    control.set_buffer((1 << 20) << number).unwrap();
                    control.wait();
                    set(&control, changes::delivery(number as usize)).unwrap();
                    while told.try_recv().is_ok() {}
                    send(&left, &frames(number, 1));
                }
                until_reported(&told, Told::Idle);
                stopper.stop();
            });
            assert_account(&outcome.account, 5, 0, 0);
            assert_eq!(teller.taken, 5);
        }
    }
}

#[test]
fn an_interface_that_is_gone_hands_nothing_over() {
    for number in 0..2 {
        let [_left, right] = Net::new().pair();
        let Some(way) = ways(&right).into_iter().nth(number) else {
            continue;
        };
        let (_capture, control) = open(&right, way);
        let link = Link::at(right.interface().index);
        right.netlink().del(&link).unwrap();
        let error = control.set_buffer(16 << 20).unwrap_err();
        assert!(matches!(error, ChangeError::Memory(_)), "{error:?}");
    }
}
