//! When packets are delivered, measured by the number of packets between two pauses of the reader.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use crate::support::{DEADLINE, Witness, deliver, frames, generator, run, run_open, send, summary};
use abi::scheduling::thread_slice_ns;
use lab::{Host, Net, wait};
use ring::{DeliveryMode, DirectionFilter};
use rustix::thread::current_timer_slack;
use tapline::Packet;
use tapline::Stop;
use tapline::capture::{
    Backend, BlockReason, Capture, CaptureOptions, CaptureSummary, Consumer, ConsumerError, Ended,
    Limits, Mode,
};

/// A back end and its sizes.
struct Way {
    backend: Option<Backend>,
    mode: Mode,
    /// Bytes that a frame of [`frames`] occupies in the ring.
    takes: usize,
    /// A timeout so long that a batch always fills first, although the reader may notice the bytes late, by a fraction
    /// of the timeout.
    long: Duration,
}

/// TPACKET_V2 and V3: headers of 70 and 86 bytes before a frame's 60, rounded up to 8 in V3. AF_XDP: the packet
/// alone. Ring buffer and slots: record header (8), metadata (24) and the packet's 60 bytes, rounded up to 8.
const WAYS: [Way; WAY_COUNT] = [
    Way::new(Some(Backend::PacketV2), 130, HOUR),
    Way::new(Some(Backend::PacketV3), 152, DEADLINE),
    // For so long a time, TPACKET_V2.
    Way::new(None, 130, HOUR),
    Way::new(Some(Backend::Xdp), 60, HOUR).in_drop_mode(),
    Way::new(Some(Backend::XdpRingbuf), 96, HOUR),
    // Slots, which only exist on x86-64.
    #[cfg(target_arch = "x86_64")]
    Way::new(None, 96, HOUR).in_drop_mode(),
];

const WAY_COUNT: usize = if cfg!(target_arch = "x86_64") { 6 } else { 5 };

impl Way {
    const fn new(backend: Option<Backend>, takes: usize, long: Duration) -> Self {
        Self {
            backend,
            mode: Mode::Mirror,
            takes,
            long,
        }
    }

    const fn in_drop_mode(self) -> Self {
        Self {
            mode: Mode::Drop,
            ..self
        }
    }
}

const HOUR: Duration = Duration::from_hours(1);

/// Reports the number of packets received between two pauses of the reader.
struct Batches {
    packets: u64,
    told: Sender<u64>,
    /// The reader's pauses so far.
    pauses: Arc<AtomicU64>,
    /// The reader thread's timer slack when it received a packet.
    timer_slack_ns: u64,
    slice_ns: Option<u64>,
}

impl Batches {
    fn new() -> (Self, Receiver<u64>) {
        let (told, batches) = channel();
        let consumer = Self {
            packets: 0,
            told,
            pauses: Arc::default(),
            timer_slack_ns: 0,
            slice_ns: None,
        };
        (consumer, batches)
    }
}

impl Consumer for Batches {
    fn packet(&mut self, _packet: &Packet<'_>) -> Result<(), ConsumerError> {
        self.packets += 1;
        self.timer_slack_ns = current_timer_slack().expect("it is told");
        self.slice_ns = thread_slice_ns().expect("it is told");
        Ok(())
    }

    fn idle(&mut self, _now_ns: u64) -> Result<(), ConsumerError> {
        let packets = std::mem::take(&mut self.packets);
        if packets > 0 {
            self.told.send(packets)?;
        }
        self.pauses.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn options(
    host: &Host,
    backend: impl Into<Option<Backend>>,
    delivery: DeliveryMode,
) -> CaptureOptions {
    let backend = backend.into();
    CaptureOptions::default()
        .links(vec![host.interface().name.to_string()])
        .backend(backend)
        .mode(if backend == Some(Backend::Xdp) {
            Mode::Drop
        } else {
            Mode::Mirror
        })
        .direction(DirectionFilter::In)
        .snaplen(100)
        .buffer_bytes(8 << 20)
        .delivery(delivery)
        // Ticks and looks at the interface are no reason to hand packets over.
        .tick(Duration::from_millis(1))
        .limits(Limits {
            packets: None,
            duration: Some(DEADLINE),
        })
}

fn adaptive(target: Duration) -> DeliveryMode {
    DeliveryMode::Adaptive { target }
}

/// The reader empties its ring when it starts, so batches begin after its first pause.
fn until_first_pause(pauses: &AtomicU64) {
    wait::until("the reader pauses", || pauses.load(Ordering::Relaxed) > 0);
}

/// The next batch, within the time limit.
#[track_caller]
fn next(batches: &Receiver<u64>) -> u64 {
    batches.recv_timeout(DEADLINE).expect("a batch comes")
}

#[track_caller]
fn assert_all(outcome: &CaptureSummary, count: u64) {
    let account = outcome.account;
    assert_eq!((account.delivered, account.lost.total()), (count, 0));
}

#[test]
fn a_batch_is_delivered_when_it_reaches_min_bytes_and_not_before() {
    const COUNT: u32 = 64;
    for Way {
        backend,
        mode,
        takes,
        long,
    } in WAYS
    {
        let [left, right] = Net::new().pair();
        let delivery = DeliveryMode::Batch {
            min_bytes: takes * COUNT as usize,
            timeout: long,
        };
        let (mut consumer, batches) = Batches::new();
        let pauses = consumer.pauses.clone();
        let options = options(&right, backend, delivery).mode(mode);
        let (outcome, ()) = run(&right, options, &mut consumer, |stopper| {
            until_first_pause(&pauses);
            for round in 0..3 {
                let sent = frames(round * COUNT, COUNT);
                let (first, last) = sent.split_at(COUNT as usize - 1);
                send(&left, first);
                // The second pause from now on follows a look at the ring with these packets in it.
                let enough = pauses.load(Ordering::Relaxed) + 2;
                wait::until("the reader has paused twice", || {
                    pauses.load(Ordering::Relaxed) >= enough
                });
                assert_eq!(
                    batches.try_recv(),
                    Err(TryRecvError::Empty),
                    "{backend:?} {mode:?}"
                );
                send(&left, last);
                assert_eq!(next(&batches), u64::from(COUNT), "{backend:?} {mode:?}");
            }
            // What is no whole batch comes with the end.
            send(&left, &frames(0, 7));
            stopper.stop();
        });
        assert!(matches!(outcome.ended, Ended::Stopped));
        assert_all(&outcome, 3 * u64::from(COUNT) + 7);
    }
}

/// In TPACKET_V2 each packet has its own frame with room for 64 KiB.
#[test]
fn a_batch_counts_the_bytes_of_packets_not_of_the_frames_around_them() {
    const COUNT: u32 = 20;
    let [left, right] = Net::new().pair();
    let delivery = DeliveryMode::Batch {
        min_bytes: 130 * COUNT as usize,
        timeout: HOUR,
    };
    let (mut consumer, batches) = Batches::new();
    let pauses = consumer.pauses.clone();
    let options = options(&right, Backend::PacketV2, delivery).snaplen(262_144);
    let (outcome, ()) = run(&right, options, &mut consumer, |stopper| {
        until_first_pause(&pauses);
        for round in 0..3 {
            send(&left, &frames(round * COUNT, COUNT));
            assert_eq!(next(&batches), u64::from(COUNT));
        }
        stopper.stop();
    });
    assert_all(&outcome, 3 * u64::from(COUNT));
}

#[test]
fn a_batch_is_handed_over_when_its_time_is_up() {
    // Both are times of blocks that are batches.
    let times = [250, 500].map(Duration::from_millis);
    for (Way { backend, mode, .. }, timeout) in
        WAYS.iter().flat_map(|way| times.map(|time| (way, time)))
    {
        let [left, right] = Net::new().pair();
        let min_bytes = usize::MAX;
        let delivery = DeliveryMode::Batch { min_bytes, timeout };
        let (mut consumer, batches) = Batches::new();
        let options = options(&right, *backend, delivery).mode(*mode);
        let (outcome, ()) = run(&right, options, &mut consumer, |stopper| {
            let start = Instant::now();
            send(&left, &frames(0, 10));
            // The sender may be slow: then the packets are those of several batches.
            let (mut packets, mut count) = (0, 0);
            while packets < 10 {
                packets += next(&batches);
                count += 1;
            }
            assert_eq!(packets, 10, "{backend:?}");
            // The time of the first may have begun before.
            let most = 1 + start.elapsed().as_nanos() / timeout.as_nanos();
            assert!(
                count <= most,
                "{backend:?}: {count} batches, at most {most}"
            );
            stopper.stop();
        });
        assert_all(&outcome, 10);
    }
}

#[test]
fn a_block_is_a_batch_if_batches_are_large_and_the_ring_is_alone() {
    let net = Net::new();
    let [mut left, mut right] = net.pair();
    net.join(&mut left, &mut right);
    let names: Vec<_> = (right.interfaces().iter())
        .map(|link| link.name.to_string())
        .collect();
    let opened = |names: &[String], min_bytes| {
        let delivery = DeliveryMode::Batch {
            min_bytes,
            timeout: Duration::from_millis(100),
        };
        let options = options(&right, Backend::PacketV3, delivery).links(names.to_vec());
        let capture = right.run(|| Capture::open(options)).unwrap();
        let blocks: Vec<_> = capture.links().map(|link| link.blocks.unwrap()).collect();
        assert!(blocks.iter().all(|one| *one == blocks[0]));
        blocks[0]
    };
    let alone = opened(&names[..1], usize::MAX);
    assert_eq!(alone.reason, BlockReason::Batch);
    assert_eq!((alone.bytes, alone.count), (512 << 10, 16));
    assert_eq!(alone.timer, Duration::from_millis(100));
    let small = opened(&names[..1], 64 << 10);
    assert_eq!(small.reason, BlockReason::SmallBatch);
    let several = opened(&names, usize::MAX);
    assert_eq!(several.reason, BlockReason::SeveralRings);
    assert!(several.timer < Duration::from_millis(10), "{several:?}");
}

/// The kernel hands over blocks that are full, or whose time is up. A block of 512 KiB has 48 bytes of its own, and 168 for a
/// frame of 80 bytes.
#[test]
fn the_reader_wakes_once_for_a_block_that_is_a_batch() {
    const COUNT: u64 = 20_000;
    const BLOCK: u64 = ((512 << 10) - 48) / 168;
    let [left, right] = Net::new().pair();
    let mut generator = generator(&left, &right);
    let (mut consumer, batches) = Batches::new();
    let timeout = Duration::from_millis(100);
    let delivery = DeliveryMode::Batch {
        min_bytes: usize::MAX,
        timeout,
    };
    let options = options(&right, Backend::PacketV3, delivery);
    let start = Instant::now();
    let (outcome, ()) = run(&right, options, &mut consumer, |stopper| {
        deliver(&left, &mut generator, COUNT);
        stopper.stop();
    });
    assert_all(&outcome, COUNT);
    let timed = 1 + start.elapsed().as_nanos() / timeout.as_nanos();
    let most = u128::from(COUNT / BLOCK) + timed;
    let batches: Vec<u64> = batches.try_iter().collect();
    assert!(batches.len() as u128 <= most, "{batches:?}");
}

#[test]
fn rare_packets_are_handed_over_one_by_one() {
    for Way { backend, mode, .. } in WAYS {
        let [left, right] = Net::new().pair();
        let (mut consumer, batches) = Batches::new();
        let options = options(&right, backend, adaptive(Duration::from_nanos(1))).mode(mode);
        let (outcome, ()) = run(&right, options, &mut consumer, |stopper| {
            for number in 0..50 {
                send(&left, &frames(number, 1));
                assert_eq!(next(&batches), 1);
            }
            stopper.stop();
        });
        assert_all(&outcome, 50);
    }
}

#[test]
fn dense_packets_are_handed_over_together() {
    let [left, right] = Net::new().pair();
    let mut generator = generator(&left, &right);
    let (mut consumer, batches) = Batches::new();
    let target = Duration::from_millis(20);
    let options = options(&right, Backend::PacketV2, adaptive(target));
    let (outcome, ()) = run(&right, options, &mut consumer, |stopper| {
        deliver(&left, &mut generator, 20_000);
        stopper.stop();
    });
    assert_all(&outcome, 20_000);
    let batches: Vec<u64> = batches.try_iter().collect();
    assert!(batches.len() < 1000, "{batches:?}");
}

/// A reader that sleeps for an hour wakes up when stopped, and before its ring is full.
#[test]
fn a_sleep_ends_for_the_stop_and_for_a_filling_ring() {
    let [left, right] = Net::new().pair();
    let mut witness = Witness::on(&right);
    let mut generator = generator(&left, &right);
    let (mut consumer, batches) = Batches::new();
    let options = options(&right, Backend::PacketV2, adaptive(HOUR))
        // 16384 frames, so that none is lost, and a batch is large once the reader gathers.
        .buffer_bytes(4 << 20);
    let (outcome, ()) = run(&right, options, &mut consumer, |stopper| {
        deliver(&left, &mut generator, 12_000);
        assert!(std::iter::repeat_with(|| next(&batches)).any(|batch| batch > 1000));
        deliver(&left, &mut generator, 100);
        witness.until(12_100);
        stopper.stop();
    });
    assert!(matches!(outcome.ended, Ended::Stopped));
    assert_all(&outcome, 12_100);
}

#[test]
fn a_reader_that_spins_loses_nothing_and_ends() {
    for delivery in [
        DeliveryMode::Immediate,
        adaptive(Duration::from_micros(200)),
    ] {
        let [left, right] = Net::new().pair();
        let mut witness = Witness::on(&right);
        let mut generator = generator(&left, &right);
        let (mut consumer, _batches) = Batches::new();
        let options = options(&right, Backend::PacketV2, delivery).spin(HOUR);
        let (outcome, ()) = run(&right, options, &mut consumer, |stopper| {
            deliver(&left, &mut generator, 2000);
            witness.until(2000);
            stopper.stop();
        });
        assert!(matches!(outcome.ended, Ended::Stopped));
        assert_all(&outcome, 2000);
    }
}

#[test]
fn the_ring_follows_from_the_snaplen_and_the_stall() {
    let [_left, right] = Net::new().pair();
    let opened = |snaplen, stall| {
        let options = options(
            &right,
            Backend::PacketV2,
            adaptive(Duration::from_micros(200)),
        )
        .backend(None::<Backend>)
        .snaplen(snaplen)
        .stall(stall)
        .buffer_bytes(16 << 20);
        let capture = right.run(|| Capture::open(options)).unwrap();
        let link = capture.links().next().unwrap();
        (link.backend, link.buffer_bytes)
    };
    assert_eq!(opened(96, None), (Backend::PacketV2, 16 << 20));
    // 10 000 frames of 2048 bytes are more than 16 MiB.
    assert_eq!(opened(1518, None), (Backend::PacketV3, 16 << 20));
    let short = Some(Duration::from_millis(100));
    assert_eq!(opened(1518, short), (Backend::PacketV2, 16 << 20));
    assert_eq!(opened(9018, None), (Backend::PacketV3, 16 << 20));
    // Two blocks a millisecond, each with room for the longest packet.
    let (_, bytes) = opened(262_144, None);
    assert!((400 * 65_536..32 << 20).contains(&bytes), "{bytes}");
    let (_, bytes) = opened(262_144, Some(Duration::from_millis(400)));
    assert!((800 * 65_536..64 << 20).contains(&bytes), "{bytes}");
}

/// Kernels before Linux 6.12 have no per-thread time slices and report none.
#[test]
fn the_reader_is_punctual_while_it_runs_and_comes_first_where_it_does_not_gather() {
    let [left, right] = Net::new().pair();
    let before = (current_timer_slack().unwrap(), thread_slice_ns().unwrap());
    let least = before.1.map(|_| 100_000);
    let batch = DeliveryMode::Batch {
        min_bytes: 1,
        timeout: HOUR,
    };
    let prompt = adaptive(Duration::from_micros(200));
    for (delivery, slice_ns) in [
        (prompt, least),
        (DeliveryMode::Immediate, least),
        (batch, before.1),
    ] {
        let (mut consumer, batches) = Batches::new();
        let options = options(&right, Backend::PacketV2, delivery).limits(Limits {
            packets: Some(1),
            duration: Some(DEADLINE),
        });
        let capture = right.run(|| Capture::open(options)).unwrap();
        send(&left, &frames(0, 1));
        let _ = summary(capture.run_consumer(&mut consumer, &Stop::new().unwrap()));
        assert_eq!((consumer.timer_slack_ns, consumer.packets), (1, 1));
        assert_eq!(consumer.slice_ns, slice_ns, "{delivery:?}");
        let after = (current_timer_slack().unwrap(), thread_slice_ns().unwrap());
        assert_eq!(after, before);
        drop(batches);
    }
    assert!(before.0 > 1);
}

#[test]
fn delivery_changes_while_the_capture_runs() {
    let [left, right] = Net::new().pair();
    let never = DeliveryMode::Batch {
        min_bytes: usize::MAX,
        timeout: HOUR,
    };
    let pairs = DeliveryMode::Batch {
        min_bytes: 2 * 130,
        timeout: HOUR,
    };
    let (mut consumer, batches) = Batches::new();
    let options = options(&right, Backend::PacketV2, never);
    let mut capture = right.run(|| Capture::open(options)).unwrap();
    let control = capture.control();
    let set = |delivery| control.set_delivery(delivery, Duration::ZERO).unwrap();
    let (outcome, ()) = run_open(capture, &mut consumer, |stopper| {
        send(&left, &frames(0, 5));
        // However many had come by then.
        set(adaptive(Duration::from_nanos(1)));
        let mut seen = 0;
        while seen < 5 {
            seen += next(&batches);
        }
        set(pairs);
        for round in 0..3 {
            send(&left, &frames(round, 1));
            send(&left, &frames(round, 1));
            assert_eq!(next(&batches), 2);
        }
        set(never);
        send(&left, &frames(0, 3));
        stopper.stop();
    });
    assert_all(&outcome, 5 + 6 + 3);
}
