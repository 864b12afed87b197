//! Several readers of a running capture: changes that are refused, and a longer delivery time, compared with the frames sent.
//!
//! Alone, because a process that another test forks keeps a ring alive whose packets nobody reads (`ring::RingShare`).

use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use crate::support::changes::{Numbers, batch, send_during, until_delivered};
use crate::support::{EndWithTest, assert_account, frames, options, summary};
use lab::{Host, Net};
use ring::FanoutMode;
use tapline::Stop;
use tapline::capture::{
    Backend, CaptureError, CaptureErrorKind, CaptureOptions, CaptureSummary, ChangeError, Control,
    DirectionFilter, LiveCounters, Mode, ParallelCapture, Queues, ReaderOptions, XdpAttachMode,
};
use tapline::send::{Rate, SendQueue};

const DURATION: Duration = Duration::from_mins(5);

fn readers(count: usize) -> ReaderOptions {
    let mut readers = ReaderOptions::default();
    readers.queues = Queues::Count(NonZeroUsize::new(count).unwrap());
    readers.distribution = Some(FanoutMode::Random);
    readers
}

fn of(host: &Host) -> CaptureOptions {
    options(host, Backend::PacketV3)
        .backend(None::<Backend>)
        .direction(DirectionFilter::In)
        // A veth loses what waits in it when its driver gets or loses a program.
        .xdp(XdpAttachMode::Generic)
        .snaplen(2000)
        .buffer_bytes(64 << 20)
        .tick(Duration::from_millis(5))
        .duration(DURATION)
        .delivery(batch(64 << 10, 10))
}

/// Runs a capture of `count` readers at `right` while `drive` sends frames and returns their number.
fn capture(
    right: &Host,
    count: usize,
    drive: impl FnOnce(&Control, &LiveCounters) -> u64,
) -> (CaptureSummary, Vec<u32>, u64) {
    let opened = right.run(|| {
        let mut capture = ParallelCapture::open(of(right), &readers(count))?;
        let control = capture.control();
        Ok((capture, control))
    });
    let (capture, control) =
        opened.unwrap_or_else(|error: CaptureError| panic!("{error}: {error:?}"));
    let live = capture.live();
    let mut numbers = Numbers::default();
    let stop = Stop::new().unwrap();
    let (outcome, sent) = thread::scope(|scope| {
        let running = scope.spawn(|| summary(capture.run_consumer(&mut numbers, &stop)));
        let guard = EndWithTest(stop.stopper());
        let sent = drive(&control, &live);
        until_delivered(&live, sent);
        guard.0.stop();
        (running.join().unwrap(), sent)
    });
    (outcome, numbers.0, sent)
}

/// An XDP program would take packets from the rings that go on.
#[test]
fn a_mode_that_is_refused_takes_no_packet() {
    const TIMES: usize = 20;
    let [left, right] = Net::new().pair();
    let (outcome, numbers, sent) = capture(&right, 2, |control, live| {
        send_during(&left, live, || {
            for _ in 0..TIMES {
                // The interface has one queue, so one AF_XDP socket.
                match control.set_mode(None, Mode::Drop) {
                    Err(ChangeError::Memory(error)) => {
                        assert!(matches!(*error, CaptureError::Readers { .. }), "{error:?}");
                    }
                    other => panic!("{other:?}"),
                }
                control.set_buffer(64 << 20).unwrap();
                control.wait();
            }
        })
    });
    assert_account(&outcome.account, sent, 0, 0);
    let mut numbers = numbers;
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..sent as u32));
}

/// The rings are opened one after another, so their blocks end at different times. A batch takes longer than any packet waited
/// for those of another reader before the change.
#[test]
fn no_packet_is_late_after_a_change_to_longer_batches() {
    // A block is a part of a batch of this size, or a batch of any size.
    for min_bytes in [1 << 20, usize::MAX] {
        assert_none_is_late_after_a_change_to(min_bytes);
    }
}

#[track_caller]
fn assert_none_is_late_after_a_change_to(min_bytes: usize) {
    const READERS: usize = 8;
    const FRAMES: u32 = 1500;
    let [left, right] = Net::new().pair();
    let (outcome, numbers, sent) = capture(&right, READERS, |control, _| {
        control
            .set_delivery(batch(min_bytes, 1500), Duration::ZERO)
            .unwrap();
        control.wait();
        let mut queue = SendQueue::default();
        for frame in frames(0, FRAMES) {
            queue.push(0, &frame);
        }
        let rate = Rate::Packets(500.try_into().unwrap());
        let sending = tapline::send(left.interface().name.to_string()).rate(rate);
        let mut sender = left.run(|| sending.open()).unwrap();
        assert!(sender.transmit(&queue).unwrap());
        FRAMES.into()
    });
    assert_account(&outcome.account, sent, 0, 0);
    let merge = outcome.merge.expect("the packets were merged");
    assert_eq!(merge.late, 0);
    assert_eq!(merge.max_delay, Duration::from_secs(4));
    assert!(numbers.into_iter().eq(0..FRAMES));
}

#[test]
fn several_readers_do_not_outlast_an_interface_that_goes_down() {
    let [_left, right] = Net::new().pair();
    let open = |count| {
        let options = of(&right).outlast_link_down(true);
        right.run(|| ParallelCapture::open(options, &readers(count)).map(drop))
    };
    assert!(matches!(open(2), Err(CaptureError::Readers { .. })));
    assert!(open(1).is_ok());
}

#[test]
fn an_interface_that_is_down_is_named() {
    let [left, right] = Net::new().pair();
    let down = left.interface().name.to_string();
    left.ip(&format!("link set {down} down"));
    let refused = left.run(|| ParallelCapture::open(of(&left), &readers(2)).map(drop));
    match refused {
        Err(error @ CaptureError::LinkDown { .. }) => {
            assert_eq!(error.kind(), CaptureErrorKind::InterfaceDown);
            assert_eq!(error.interface(), Some(down.as_str()));
        }
        other => panic!("{other:?}"),
    }
    right.ip("link add away0 type veth peer name away1");
    let _ = capture(&right, 2, |control, _| {
        match control.add_interface("away0") {
            Err(ChangeError::Memory(error)) => {
                assert!(matches!(*error, CaptureError::LinkDown { .. }), "{error:?}");
            }
            other => panic!("{other:?}"),
        }
        0
    });
}
