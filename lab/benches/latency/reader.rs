//! Readers in threads of the bench.

use std::os::fd::AsFd;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use abi::clock::realtime_ns;
use abi::process::thread_usage;
use ring::{DeliveryMode, PacketRing};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tapline::Packet;
use tapline::capture::{Account, Capture, CaptureOptions, ConsumerError};
use tapline::latency::{DelayMeter, DelayObserver, Delays};
use tapline::{Stop, Stopper};

use crate::kind::{Kind, RING_BYTES};
use crate::peer;
use crate::rig::{Rig, to_reader_cpu};

/// Time beyond its timer that a reader has for packets on their way before it is stopped.
const MARGIN: Duration = Duration::from_millis(250);
/// Time between two stalls.
const BETWEEN_STALLS: Duration = Duration::from_millis(300);

/// What a reader measured and used.
#[derive(Clone, Debug)]
pub struct Finished {
    pub delays: Delays,
    pub cpu: Duration,
    pub sleeps: u64,
}

/// Ends a reader.
pub type End = Box<dyn FnOnce() + Send>;

/// Starts a reader, has `send` work once it is ready, and stops it afterwards.
pub fn run<T>(
    rig: &Rig,
    kind: Kind,
    stall: Option<Duration>,
    send: impl FnOnce() -> T,
) -> (Finished, T) {
    let (ready, is_ready) = channel::<End>();
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            rig.receiver.run(|| {
                to_reader_cpu();
                match kind {
                    Kind::V2Poll => poll_loop(rig, stall, &ready),
                    Kind::LibpcapImmediate => peer::libpcap(rig, true, stall, &ready),
                    Kind::Libpcap => peer::libpcap(rig, false, stall, &ready),
                    Kind::Tcpdump | Kind::Dumpcap => peer::process(rig, kind, &ready),
                    _ => tapline(rig, kind, stall, &ready),
                }
            })
        });
        let end = is_ready.recv().expect("the reader gets ready");
        let sent = send();
        be_away(kind.timer() + MARGIN);
        end();
        (reader.join().expect("the reader ends"), sent)
    })
}

fn stop() -> (Stop, End) {
    let stop = Stop::new().expect("a pipe");
    let stopper: Stopper = stop.stopper();
    (stop, Box::new(move || stopper.stop()))
}

/// Runs `read` and tells what its thread used meanwhile.
pub fn measured(read: impl FnOnce() -> Delays) -> Finished {
    let before = thread_usage();
    let delays = read();
    let after = thread_usage();
    Finished {
        delays,
        cpu: after.cpu.saturating_sub(before.cpu),
        sleeps: after.waits - before.waits,
    }
}

fn tapline(rig: &Rig, kind: Kind, stall: Option<Duration>, ready: &Sender<End>) -> Finished {
    let (backend, delivery) = kind.delivery();
    let options = CaptureOptions::default()
        .links(vec![rig.interface()])
        .backend(backend)
        .delivery(delivery)
        .snaplen(kind.snaplen())
        .buffer_bytes(RING_BYTES);
    let capture = Capture::open(options).unwrap_or_else(|error| panic!("{error}: {error:?}"));
    let (stop, end) = stop();
    ready.send(end).expect("the bench waits");
    measured(|| {
        let mut meter = DelayMeter::new(Stalls::new(stall));
        let _ = capture
            .run_consumer(&mut meter, &stop)
            .expect("the capture succeeds");
        meter.delays
    })
}

/// The simplest reader there is.
fn poll_loop(rig: &Rig, stall: Option<Duration>, ready: &Sender<End>) -> Finished {
    let options = ring::RingOptions {
        delivery: DeliveryMode::Immediate,
        snaplen: crate::kind::SNAPLEN,
        buffer_bytes: RING_BYTES,
        ..ring::RingOptions::default()
    };
    let mut ring = PacketRing::open(&rig.interface(), &options).expect("a ring");
    let (stop, end) = stop();
    ready.send(end).expect("the bench waits");
    measured(|| {
        let mut delays = Delays::default();
        let mut stalls = Stalls::new(stall);
        loop {
            while let Some(mut batch) = ring.next_batch() {
                for packet in batch.packets() {
                    delays.record(packet.timestamp_ns, realtime_ns());
                    stalls.stall();
                }
            }
            let mut descriptors = [
                PollFd::from_borrowed_fd(ring.as_fd(), PollFlags::IN),
                PollFd::new(&stop, PollFlags::IN),
            ];
            poll(&mut descriptors, None).expect("it can wait");
            if !descriptors[1].revents().is_empty() {
                return delays;
            }
        }
    })
}

/// Does nothing for some time.
fn be_away(time: Duration) {
    let time = Timespec::try_from(time).expect("a short time");
    poll(&mut [], Some(&time)).expect("it can wait");
}

/// Keeps a reader from reading, now and then.
pub struct Stalls {
    time: Option<Duration>,
    next: Instant,
}

impl Stalls {
    pub fn new(time: Option<Duration>) -> Self {
        Self {
            time,
            next: Instant::now() + BETWEEN_STALLS,
        }
    }

    pub fn stall(&mut self) {
        if let Some(time) = self.time
            && Instant::now() >= self.next
        {
            be_away(time);
            self.next = Instant::now() + BETWEEN_STALLS;
        }
    }
}

impl DelayObserver for Stalls {
    fn packet(
        &mut self,
        _packet: &Packet<'_>,
        _now_ns: u64,
        _delay_ns: Option<u64>,
    ) -> Result<(), ConsumerError> {
        self.stall();
        Ok(())
    }

    fn tick(&mut self, _delays: &Delays, _account: &Account) -> Result<(), ConsumerError> {
        Ok(())
    }
}
