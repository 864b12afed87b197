//! Helpers for tests of configuration changes: endless numbered traffic, and a consumer that keeps the numbers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use lab::generator::{pin_to_cpu, send_frames};
use lab::{Host, wait};
use ring::DeliveryMode;
use tapline::Packet;
use tapline::capture::{
    Capture, CaptureError, CaptureOptions, ChangeError, Consumer, ConsumerError, Control,
    LiveCounters,
};

use super::{frames, number};

/// Keeps the numbers of the frames.
#[derive(Default)]
pub struct Numbers(pub Vec<u32>);

impl Consumer for Numbers {
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        self.0.push(number(packet.data()));
        Ok(())
    }
}

/// Sets a flag when dropped, also on panic.
struct SetAtEnd<'f>(&'f AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub fn batch(min_bytes: usize, timeout_ms: u64) -> DeliveryMode {
    DeliveryMode::Batch {
        min_bytes,
        timeout: Duration::from_millis(timeout_ms),
    }
}

/// The delivery mode for this turn.
pub fn delivery(turn: usize) -> DeliveryMode {
    let deliveries = [
        batch(64 << 10, 10),
        DeliveryMode::Adaptive {
            target: Duration::from_micros(200),
        },
        batch(1 << 20, 2),
        DeliveryMode::Immediate,
    ];
    deliveries[turn % deliveries.len()]
}

pub fn set(control: &Control, delivery: DeliveryMode) -> Result<(), ChangeError> {
    control.set_delivery(delivery, Duration::ZERO)
}

/// Changes the buffer and the delivery mode in turn, and waits until the change is complete.
#[track_caller]
pub fn change(control: &Control, turn: usize, buffer_bytes: impl Fn(usize) -> usize) {
    let changed = if turn.is_multiple_of(2) {
        control.set_buffer(buffer_bytes(turn))
    } else {
        set(control, delivery(turn / 2))
    };
    changed.unwrap_or_else(|error| panic!("{error}: {error:?}"));
    control.wait();
}

#[track_caller]
pub fn open(host: &Host, options: CaptureOptions) -> (Capture, Control) {
    let opened = host.run(|| {
        let mut capture = Capture::open(options)?;
        let control = capture.control();
        Ok((capture, control))
    });
    opened.unwrap_or_else(|error: CaptureError| panic!("{error}: {error:?}"))
}

/// Sends frames in order, numbered from 0, while `work` runs. Returns how many. Limits how far it is ahead of the
/// reader, which may have to wait for a CPU.
pub fn send_during(host: &Host, live: &LiveCounters, work: impl FnOnce()) -> u64 {
    let is_enough = AtomicBool::new(false);
    thread::scope(|scope| {
        let end = SetAtEnd(&is_enough);
        let sender = scope.spawn(|| host.run(|| send_until(host, live, &is_enough)));
        work();
        drop(end);
        sender.join().unwrap()
    })
}

/// Maximum number of undelivered frames, and how often to check it, in frames.
const MOST_AHEAD: u64 = 16_384;
const BETWEEN_LOOKS: u32 = 1024;

fn send_until(host: &Host, live: &LiveCounters, is_enough: &AtomicBool) -> u64 {
    // Frames of one CPU arrive in order.
    pin_to_cpu(0).unwrap();
    let goes_on = || !is_enough.load(Ordering::Relaxed);
    let is_ahead = |sent: u64| sent > live.accounts()[0].account.delivered + MOST_AHEAD;
    let numbers = (0_u32..).take_while(|&number| {
        while number.is_multiple_of(BETWEEN_LOOKS) && goes_on() && is_ahead(number.into()) {
            thread::yield_now();
        }
        goes_on()
    });
    let frames = numbers.map(|number| frames(number, 1).remove(0));
    send_frames(host.interface().index, frames).unwrap()
}

/// Waits until `count` packets have been delivered.
#[track_caller]
pub fn until_delivered(live: &LiveCounters, count: u64) {
    wait::until_ok(|| match live.accounts() {
        accounts if accounts[0].account.delivered >= count => Ok(()),
        accounts => Err(accounts),
    });
}
