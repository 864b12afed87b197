//! The readers, each on a thread of the bench.

use std::os::fd::AsFd;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use abi::clock::realtime_ns;
use abi::process::thread_usage;
use ring::PacketRing;
use rustix::event::{PollFd, PollFlags, poll};
use tapline::capture::{Account, Backend, Capture, CaptureOptions, ConsumerError, DeliveryMode};
use tapline::latency::{DelayMeter, DelayObserver, Delays};
use tapline::{Packet, Stop, Stopper};
use tapline_lab::generator::pin_to_cpu;

use crate::harness::{Used, pause};
use crate::peer;
use crate::task::{READER_CPU, Rig};

/// Default snap length.
pub const SNAPLEN: u32 = 96;
/// Memory of a reader's ring.
pub const RING_BYTES: usize = 16 << 20;

/// How long a reader may receive in-flight packets after its timer, before it is stopped.
const MARGIN: Duration = Duration::from_millis(250);
/// Time between two stalls.
const BETWEEN_STALLS: Duration = Duration::from_millis(300);

pub struct Reader {
    pub name: &'static str,
    how: How,
    /// The tasks it is measured in. The programs cannot be stalled.
    pub tasks: &'static [&'static str],
    /// Whether it wakes for each packet at low rates.
    pub wakes_for_each: bool,
}

enum How {
    /// Calls poll(2) on a TPACKET_V2 ring, reads all packets, and repeats.
    V2Poll,
    /// The back end, unless automatic, the delivery mode and the snap length. If the snap length covers a whole
    /// Ethernet packet, the frames of a stall do not fit into the ring. A longer one requires TPACKET_V3.
    Tapline(Option<Backend>, DeliveryMode, u32),
    Libpcap {
        immediate: bool,
    },
    /// A program, its arguments, and how long packets may stay in its ring.
    Program(&'static str, &'static str, Duration),
}

const fn adaptive(us: u64, snaplen: u32) -> How {
    let target = Duration::from_micros(us);
    How::Tapline(None, DeliveryMode::Adaptive { target }, snaplen)
}

const BLOCKS: DeliveryMode = DeliveryMode::Blocks {
    bytes: 32 << 10,
    timeout: Duration::from_millis(1),
};

pub const V2_POLL: &str = "V2, poll(2)";
pub const IMMEDIATE: &str = "tapline immediate";
pub const ADAPTIVE_200: &str = "tapline adaptive, 200 us";
pub const ADAPTIVE_500: &str = "tapline adaptive, 500 us";
pub const ADAPTIVE_1000: &str = "tapline adaptive, 1 ms";
pub const ADAPTIVE_FULL: &str = "tapline adaptive, -s 1518";
pub const ADAPTIVE_LONG: &str = "tapline adaptive, -s 9018";
pub const V3: &str = "tapline, V3, 1 ms";
pub const LIBPCAP_IMMEDIATE: &str = "libpcap immediate";
pub const TCPDUMP: &str = "tcpdump -U -w -";
pub const DUMPCAP: &str = "dumpcap -w -";

const ALL: &[&str] = &["sparse", "dense", "stall", "jump"];
const SHORT: &[&str] = &["sparse", "dense"];
const NO_STALL: &[&str] = &["sparse", "dense", "jump"];

const fn reader(
    name: &'static str,
    how: How,
    tasks: &'static [&'static str],
    wakes_for_each: bool,
) -> Reader {
    Reader {
        name,
        how,
        tasks,
        wakes_for_each,
    }
}

pub const READERS: [Reader; 12] = [
    reader(V2_POLL, How::V2Poll, ALL, true),
    reader(
        IMMEDIATE,
        How::Tapline(None, DeliveryMode::Immediate, SNAPLEN),
        SHORT,
        true,
    ),
    reader(ADAPTIVE_200, adaptive(200, SNAPLEN), ALL, true),
    reader(ADAPTIVE_500, adaptive(500, SNAPLEN), SHORT, false),
    reader(ADAPTIVE_1000, adaptive(1000, SNAPLEN), SHORT, false),
    reader(ADAPTIVE_FULL, adaptive(200, 1518), &["stall"], false),
    reader(ADAPTIVE_LONG, adaptive(200, 9018), ALL, false),
    reader(
        V3,
        How::Tapline(Some(Backend::PacketV3), BLOCKS, SNAPLEN),
        ALL,
        false,
    ),
    reader(
        LIBPCAP_IMMEDIATE,
        How::Libpcap { immediate: true },
        ALL,
        true,
    ),
    reader(
        "libpcap, 100 ms",
        How::Libpcap { immediate: false },
        SHORT,
        false,
    ),
    reader(
        TCPDUMP,
        How::Program(
            "tcpdump",
            "-s 96 -B 16384 --nano -n -U -w -",
            Duration::from_secs(1),
        ),
        NO_STALL,
        false,
    ),
    reader(
        DUMPCAP,
        How::Program("dumpcap", "-s 96 -B 16 -P -q -w -", Duration::ZERO),
        NO_STALL,
        false,
    ),
];

/// The delays and usage of a reader.
pub struct Finished {
    pub delays: Delays,
    pub used: Used,
}

/// Stops a reader.
pub type End = Box<dyn FnOnce() + Send>;

/// Starts a reader, runs `send` once it is ready, and stops it afterwards.
pub fn run<T>(
    rig: &Rig,
    reader: &Reader,
    stall: Option<Duration>,
    send: impl FnOnce() -> T,
) -> (Finished, T) {
    let (ready, is_ready) = channel::<End>();
    thread::scope(|scope| {
        let read = scope.spawn(|| {
            pin_to_cpu(READER_CPU).expect("the reader's CPU");
            // The namespace's thread blocks signals, and a program that it starts would inherit that: SIGINT would not end it.
            if let How::Program(name, arguments, _) = &reader.how {
                return peer::process(rig, name, arguments, &ready);
            }
            rig.receiver.run(|| match &reader.how {
                How::V2Poll => poll_loop(rig, stall, &ready),
                How::Libpcap { immediate } => peer::libpcap(rig, *immediate, stall, &ready),
                How::Program(..) => unreachable!("it was started above"),
                How::Tapline(backend, delivery, snaplen) => {
                    let options = CaptureOptions::default()
                        .links(vec![rig.interface()])
                        .backend(*backend)
                        .delivery(*delivery)
                        .snaplen(*snaplen)
                        .buffer_bytes(RING_BYTES);
                    tapline(options, stall, &ready)
                }
            })
        });
        let end = is_ready.recv().expect("the reader gets ready");
        let sent = send();
        let timer = match reader.how {
            How::Program(_, _, timer) => timer,
            _ => Duration::ZERO,
        };
        pause(timer + MARGIN);
        end();
        (read.join().expect("the reader ends"), sent)
    })
}

fn stop() -> (Stop, End) {
    let stop = Stop::new().expect("a pipe");
    let stopper: Stopper = stop.stopper();
    (stop, Box::new(move || stopper.stop()))
}

/// Runs `read` and returns its result with its thread's usage.
pub fn measured(read: impl FnOnce() -> Delays) -> Finished {
    let used = || {
        let usage = thread_usage();
        Used {
            cpu: usage.cpu,
            waits: usage.waits,
        }
    };
    let before = used();
    let delays = read();
    Finished {
        delays,
        used: used().since(before),
    }
}

fn tapline(options: CaptureOptions, stall: Option<Duration>, ready: &Sender<End>) -> Finished {
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

/// The simplest possible reader.
fn poll_loop(rig: &Rig, stall: Option<Duration>, ready: &Sender<End>) -> Finished {
    let options = ring::RingOptions {
        delivery: ring::DeliveryMode::Immediate,
        snaplen: SNAPLEN,
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

/// Stalls a reader periodically.
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
            pause(time);
            self.next = Instant::now() + BETWEEN_STALLS;
        }
    }
}

impl DelayObserver for Stalls {
    fn packet(&mut self, _: &Packet<'_>, _: u64, _: Option<u64>) -> Result<(), ConsumerError> {
        self.stall();
        Ok(())
    }

    fn tick(&mut self, _: &Delays, _: &Account) -> Result<(), ConsumerError> {
        Ok(())
    }
}
