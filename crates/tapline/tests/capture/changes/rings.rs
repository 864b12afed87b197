//! Configuration changes of a running capture on packet rings, compared with the number of frames sent.

use crate::support;
use crate::support::changes;
use std::io::ErrorKind;
use std::time::Duration;

use crate::support::changes::{Numbers, batch, change, open, send_during, set, until_delivered};
use crate::support::{
    Teller, Told, Witness, assert_account, frames, options, run_open, send, until_reported,
};
use lab::Net;
use ring::{
    DeliveryMode, DirectionFilter, RingOpenError, RingOptionError, XdpOpenError, XdpRing,
    XdpRingOptions, XdpSetupStep,
};
use tapline::capture::{Backend, ChangeError, Ended, Mode};

#[test]
fn each_frame_comes_once_and_in_order_however_often_the_ring_changes() {
    const TIMES: usize = 50;
    for filter in [None, Some(support::expression("ether proto 0x88b5"))] {
        let [left, right] = Net::new().pair();
        let mut witness = Witness::on(&right);
        let options = options(&right, Backend::PacketV3)
            .backend(None::<Backend>)
            .direction(DirectionFilter::In)
            .with_filter(filter)
            .buffer_bytes(64 << 20)
            .delivery(batch(64 << 10, 10));
        let mut numbers = Numbers::default();
        let (mut capture, control) = open(&right, options);
        let live = capture.live();
        let (outcome, sent) = run_open(capture, &mut numbers, |stopper| {
            // The rings are of either version.
            let sent = send_during(&left, &live, || {
                (0..TIMES).for_each(|turn| change(&control, turn, |turn| (64 + turn) << 20));
            });
            witness.until(sent);
            stopper.stop();
            sent
        });
        assert!(matches!(outcome.ended, Ended::Stopped));
        assert_account(&outcome.account, sent, 0, 0);
        let expected = 0..u32::try_from(sent).unwrap();
        assert!(numbers.0.into_iter().eq(expected));
        assert!(sent > 10 * TIMES as u64, "{sent}");
    }
}

/// Its next wake-up would otherwise be in an hour.
#[test]
fn a_reader_that_sleeps_goes_on_with_the_new_ring() {
    let [left, right] = Net::new().pair();
    let options = options(&right, Backend::PacketV3)
        .backend(None::<Backend>)
        .delivery(batch(4096, 1))
        .tick(Duration::from_hours(1));
    let (mut teller, release, told) = Teller::stalling();
    let (capture, control) = open(&right, options);
    let (outcome, ()) = run_open(capture, &mut teller, |stopper| {
        send(&left, &frames(0, 1));
        until_reported(&told, Told::Holding);
        release.send(()).unwrap();
        until_reported(&told, Told::Idle);
        set(&control, DeliveryMode::Immediate).unwrap();
        control.wait();
        control.set_buffer(1 << 20).unwrap();
        control.wait();
        while told.try_recv().is_ok() {}
        send(&left, &frames(1, 1));
        until_reported(&told, Told::Idle);
        stopper.stop();
    });
    assert_account(&outcome.account, 2, 0, 0);
    assert_eq!(teller.taken, 2);
}

#[test]
fn a_capture_that_ends_amid_a_change_loses_nothing() {
    for backend in support::BACKENDS {
        let [left, right] = Net::new().pair();
        let mut witness = Witness::on(&right);
        let (mut teller, release, told) = Teller::stalling();
        let (capture, control) = open(&right, options(&right, backend));
        let (outcome, ()) = run_open(capture, &mut teller, |stopper| {
            send(&left, &frames(0, 10));
            until_reported(&told, Told::Holding);
            witness.until(10);
            control.set_buffer(16 << 20).unwrap();
            send(&left, &frames(10, 10));
            witness.until(20);
            match control.set_buffer(8 << 20) {
                Err(ChangeError::Ring(RingOpenError::Busy { .. })) => {}
                answer => panic!("{answer:?}"),
            }
            stopper.stop();
            release.send(()).unwrap();
            control.wait();
        });
        assert_account(&outcome.account, 20, 0, 0);
        assert!(teller.numbers().eq(0..20), "{backend:?}");
        let late = control.set_buffer(8 << 20);
        assert!(matches!(late, Err(ChangeError::Over)));
    }
}

#[test]
fn a_replacement_that_cannot_be_opened_changes_nothing() {
    let [left, right] = Net::new().pair();
    let mut witness = Witness::on(&right);
    let (capture, control) = open(&right, options(&right, Backend::PacketV3));
    match [
        set(&control, DeliveryMode::Immediate),
        control.set_buffer(usize::MAX),
    ] {
        [
            Err(ChangeError::Ring(RingOpenError::Option(RingOptionError::ImmediateNeedsV2))),
            Err(ChangeError::Ring(RingOpenError::Option(RingOptionError::BufferTooLarge {
                ..
            }))),
        ] => {}
        answers => panic!("{answers:?}"),
    }
    let mut teller = Teller::new();
    let (outcome, ()) = run_open(capture, &mut teller, |stopper| {
        send(&left, &frames(0, 10));
        witness.until(10);
        stopper.stop();
    });
    assert_account(&outcome.account, 10, 0, 0);
}

/// The kernel binds one packet memory to a queue.
#[test]
fn the_buffer_of_an_af_xdp_socket_stays_and_its_delivery_changes() {
    let [left, right] = Net::new().pair();
    let options = options(&right, Backend::Xdp)
        .mode(Mode::Drop)
        .direction(DirectionFilter::In);
    let (mut teller, release, told) = Teller::stalling();
    let (capture, control) = open(&right, options);
    let name = right.interface().name.to_string();
    match right.run(|| XdpRing::open(&name, &XdpRingOptions::default())) {
        Err(XdpOpenError::Setup(error)) => {
            let answer = error.source.kind();
            assert_eq!(
                (error.step, answer),
                (XdpSetupStep::Bind, ErrorKind::ResourceBusy)
            );
        }
        answer => panic!("{answer:?}"),
    }
    match control.set_buffer(1 << 20) {
        Err(error @ ChangeError::Fixed { backend }) => {
            assert_eq!(backend, Backend::Xdp);
            assert!(error.to_string().contains("a snaplen of at most 480"));
        }
        answer => panic!("{answer:?}"),
    }
    let (outcome, ()) = run_open(capture, &mut teller, |stopper| {
        send(&left, &frames(0, 1));
        until_reported(&told, Told::Holding);
        release.send(()).unwrap();
        for (number, turn) in (1..).zip(0..8) {
            until_reported(&told, Told::Idle);
            set(&control, changes::delivery(turn)).unwrap();
            while told.try_recv().is_ok() {}
            send(&left, &frames(number, 1));
        }
        until_reported(&told, Told::Idle);
        stopper.stop();
    });
    assert_account(&outcome.account, 9, 0, 0);
    assert_eq!(teller.taken, 9);
}

/// The timer of its block would hand them over after the deadline of the test.
#[test]
fn the_packets_of_an_interface_that_leaves_are_delivered_at_once() {
    let [left, right] = Net::new().pair();
    for line in [
        "link add away0 type veth peer name away1",
        "link set away0 up",
        "link set away1 up",
    ] {
        right.ip(line);
    }
    let mut witness = Witness::on(&right);
    let options = options(&right, Backend::PacketV3)
        .direction(DirectionFilter::In)
        .with_filter(Some(support::expression("ether proto 0x88b5")))
        .delivery(batch(usize::MAX, 65_000));
    let (mut capture, control) = open(&right, options);
    let live = capture.live();
    let mut numbers = Numbers::default();
    let (outcome, ()) = run_open(capture, &mut numbers, |stopper| {
        control.add_interface("away0").expect("it joins");
        send(&left, &frames(0, 10));
        witness.until(10);
        assert_eq!(live.delivered().0, 0);
        let name = right.interface().name.to_string();
        control.remove_interface(name).expect("it leaves");
        until_delivered(&live, 10);
        control.wait();
        stopper.stop();
    });
    assert_account(&outcome.links[0].account, 10, 0, 0);
    assert!(numbers.0.into_iter().eq(0..10));
}

/// Until the reader follows, a packet ring and an XDP program both see what the program passes.
#[test]
fn a_refused_packet_counts_once_while_the_mode_changes() {
    const EACH: u32 = 20;
    // In drop mode slots, and sockets for what is too long for those.
    for snaplen in [100, 1000] {
        let [left, right] = Net::new().pair();
        // Frames of even numbers.
        let filter = support::expression("ether[17] & 1 = 0");
        let options = options(&right, Backend::PacketV3)
            .backend(None::<Backend>)
            .direction(DirectionFilter::In)
            .snaplen(snaplen)
            .with_filter(Some(filter));
        let (mut capture, control) = open(&right, options);
        let mut follow = || {
            let mut taken = 0;
            let batch = capture.next_batch(Duration::from_millis(1));
            if let Some(mut batch) = batch.expect("it reads") {
                while batch.next().is_some() {
                    taken += 1;
                }
            }
            taken
        };
        let mut taken: u64 = follow();
        let modes = [Mode::Drop, Mode::Mirror, Mode::Drop, Mode::Mirror];
        for mode in modes {
            send(&left, &frames(0, EACH));
            control.set_mode(None, mode).expect("the mode changes");
            send(&left, &frames(0, EACH));
            while !control.wait_for(Duration::ZERO) {
                taken += follow();
            }
            send(&left, &frames(0, EACH));
        }
        let sent = u64::from(EACH) * 3 * modes.len() as u64;
        while taken < sent / 2 {
            taken += follow();
        }
        let summary = support::summary(capture.finish());
        assert_account(&summary.account, sent / 2, sent / 2, 0);
        assert_eq!(taken, sent / 2, "{snaplen}");
    }
}
