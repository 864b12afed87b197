//! Changes of a running capture, against the number of frames sent.

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use lab::generator::{pin_to_cpu, send_frames};
use lab::{Host, Net};
use support::{Teller, Told, Witness, frames, number, options, run_open, send, until_told};
use tapline::capture::{
    Backend, Capture, CaptureError, ChangeError, Consumer, ConsumerError, Control, Ended, Filter,
    Mode, Options,
};
use tapline::filter::classic::{Instruction, Program};
use tapline::ring::{Delivery, DirectionFilter, OpenError, OptionError};
use tapline::store::model::Packet;

/// Keeps the numbers of the frames.
#[derive(Default)]
struct Numbers(Vec<u32>);

impl Consumer for Numbers {
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        self.0.push(number(packet.bytes));
        Ok(())
    }
}

/// Sets a flag when it ends, however it ends.
struct SetAtEnd<'f>(&'f AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn batch(min_bytes: usize, timeout_ms: u64) -> Delivery {
    Delivery::Batch {
        min_bytes,
        timeout: Duration::from_millis(timeout_ms),
    }
}

fn set(control: &Control, delivery: Delivery) -> Result<(), ChangeError> {
    control.set_delivery(delivery, Duration::ZERO)
}

fn open(host: &Host, options: Options) -> (Capture, Control) {
    let opened = host.run(|| {
        let mut capture = Capture::open(options)?;
        let control = capture.control();
        Ok((capture, control))
    });
    opened.unwrap_or_else(|error: CaptureError| panic!("{error}: {error:?}"))
}

/// `ether proto 0x88b5`, which is that of all frames.
fn all_of_them() -> Filter {
    let code = vec![
        Instruction::new(0x28, 12),
        Instruction::jump(0x15, 0x88b5, 0, 1),
        Instruction::new(0x06, 262_144),
        Instruction::new(0x06, 0),
    ];
    Program::new(code).unwrap().into()
}

/// Changes it in one way and another; the rings are of either version.
fn change(control: &Control, turn: usize) {
    let deliveries = [
        batch(64 << 10, 10),
        Delivery::Adaptive {
            target: Duration::from_micros(200),
        },
        batch(1 << 20, 2),
        Delivery::Immediate,
    ];
    let changed = if turn.is_multiple_of(2) {
        control.set_buffer((64 + turn) << 20)
    } else {
        set(control, deliveries[turn / 2 % deliveries.len()])
    };
    changed.unwrap_or_else(|error| panic!("{error}: {error:?}"));
    control.wait();
}

#[test]
fn each_frame_comes_once_and_in_order_however_often_the_ring_changes() {
    const TIMES: usize = 50;
    for filter in [None, Some(all_of_them())] {
        let [left, right] = Net::new().pair();
        let mut witness = Witness::on(&right);
        let options = Options {
            backend: None,
            direction: DirectionFilter::In,
            filter,
            buffer_bytes: 64 << 20,
            delivery: batch(64 << 10, 10),
            ..options(&right, Backend::PacketV3)
        };
        let mut numbers = Numbers::default();
        let (capture, control) = open(&right, options);
        let (outcome, sent) = run_open(capture, &mut numbers, |stopper| {
            let is_enough = AtomicBool::new(false);
            let sent = thread::scope(|scope| {
                let end = SetAtEnd(&is_enough);
                let sender = scope.spawn(|| left.run(|| send_until(&left, &is_enough)));
                for turn in 0..TIMES {
                    change(&control, turn);
                }
                drop(end);
                sender.join().unwrap()
            });
            witness.until(sent);
            stopper.stop();
            sent
        });
        assert!(matches!(outcome.ended, Ended::Stopped));
        let account = outcome.account;
        assert_eq!((account.received(), account.lost.ring), (Some(sent), 0));
        assert_eq!((account.delivered, account.filtered), (sent, Some(0)));
        let expected = 0..u32::try_from(sent).unwrap();
        assert!(numbers.0.into_iter().eq(expected));
        assert!(sent > 10 * TIMES as u64, "{sent}");
    }
}

/// Sends frames in order, numbered from 0, until it is enough; tells how many.
fn send_until(host: &Host, is_enough: &AtomicBool) -> u64 {
    // Frames of one processor have an order.
    pin_to_cpu(0).unwrap();
    let numbers = (0_u32..).take_while(|_| !is_enough.load(Ordering::Relaxed));
    let frames = numbers.map(|number| frames(number, 1).remove(0));
    send_frames(host.interface().index, frames).unwrap()
}

/// Its next look at anything else would be in an hour.
#[test]
fn a_reader_that_sleeps_goes_on_with_the_new_ring() {
    let [left, right] = Net::new().pair();
    let options = Options {
        backend: None,
        delivery: batch(4096, 1),
        tick: Duration::from_hours(1),
        ..options(&right, Backend::PacketV3)
    };
    let (mut teller, release, told) = Teller::stalling();
    let (capture, control) = open(&right, options);
    let (outcome, ()) = run_open(capture, &mut teller, |stopper| {
        send(&left, &frames(0, 1));
        until_told(&told, Told::Holding);
        release.send(()).unwrap();
        until_told(&told, Told::Idle);
        set(&control, Delivery::Immediate).unwrap();
        control.wait();
        control.set_buffer(1 << 20).unwrap();
        control.wait();
        while told.try_recv().is_ok() {}
        send(&left, &frames(1, 1));
        until_told(&told, Told::Idle);
        stopper.stop();
    });
    assert_eq!((outcome.account.delivered, teller.taken), (2, 2));
    assert_eq!(outcome.account.lost.total(), 0);
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
            until_told(&told, Told::Holding);
            witness.until(10);
            control.set_buffer(16 << 20).unwrap();
            send(&left, &frames(10, 10));
            witness.until(20);
            match control.set_buffer(8 << 20) {
                Err(ChangeError::Ring(OpenError::Busy { .. })) => {}
                answer => panic!("{answer:?}"),
            }
            stopper.stop();
            release.send(()).unwrap();
            control.wait();
        });
        let account = outcome.account;
        assert_eq!((account.delivered, account.received()), (20, Some(20)));
        let seen = teller.kept.iter().map(|(_, _, bytes)| number(bytes));
        assert!(seen.eq(0..20), "{backend:?}");
        assert!(matches!(
            control.set_buffer(8 << 20),
            Err(ChangeError::Over)
        ));
    }
}

#[test]
fn what_cannot_be_had_changes_nothing() {
    let [left, right] = Net::new().pair();
    let mut witness = Witness::on(&right);
    let (capture, control) = open(&right, options(&right, Backend::PacketV3));
    match set(&control, Delivery::Immediate) {
        Err(ChangeError::Ring(OpenError::Option(OptionError::ImmediateNeedsV2))) => {}
        answer => panic!("{answer:?}"),
    }
    match control.set_buffer(usize::MAX) {
        Err(ChangeError::Ring(OpenError::Option(OptionError::BufferTooLarge { .. }))) => {}
        answer => panic!("{answer:?}"),
    }
    let mut teller = Teller::new();
    let (outcome, ()) = run_open(capture, &mut teller, |stopper| {
        send(&left, &frames(0, 10));
        witness.until(10);
        stopper.stop();
    });
    assert_eq!(outcome.account.received(), Some(10));
    assert_eq!(outcome.account.delivered, 10);
}

#[test]
fn the_buffer_of_other_rings_stays() {
    let [_left, right] = Net::new().pair();
    for backend in [Backend::Xdp, Backend::XdpRingbuf] {
        let options = Options {
            mode: if backend == Backend::Xdp {
                Mode::Drop
            } else {
                Mode::Mirror
            },
            direction: DirectionFilter::In,
            ..options(&right, backend)
        };
        let (capture, control) = open(&right, options);
        match control.set_buffer(1 << 20) {
            Err(ChangeError::Fixed { backend: told }) => assert_eq!(told, backend),
            answer => panic!("{answer:?}"),
        }
        set(&control, Delivery::Immediate).unwrap();
        drop(capture);
    }
}
