//! A capture to a file allocates nothing per packet.

use std::fs::File;
use std::thread;
use std::time::Duration;

use crate::support::{
    BACKENDS, Pair, Witness, assert_account, file_consumer, frames, ipv4_only, options, send,
    summary,
};
use allocation_counter::{AllocationInfo, measure};
use lab::Net;
use ring::DeliveryMode;
use store::write::Output;
use tapline::Packet;
use tapline::Stop;
use tapline::capture::{Backend, Capture, Consumer, ConsumerError, Ended};

/// Allocations of the thread that runs a capture of `packets` packets, from start to end.
fn allocations(backend: Backend, is_filtered: bool, packets: u64) -> AllocationInfo {
    let mut pair = Pair::new();
    // Bringing the counters up to date asks the kernel, which allocates, once a tick.
    let quiet = options(&pair.right, backend)
        .with_filter(is_filtered.then(ipv4_only))
        .buffer_bytes(64 << 20)
        .tick(Duration::MAX);
    // The generator's program is attached before.
    pair.deliver(1);
    pair.until(1);
    let capture = pair.open(quiet);
    let output = Output::Descriptor {
        file: File::options().write(true).open("/dev/null").unwrap(),
        name: "/dev/null".into(),
    };
    let mut consumer = file_consumer(&capture, output, Duration::from_millis(1), |_| ());
    let stop = Stop::new().unwrap();
    let stopper = stop.stopper();
    let (outcome, info) = thread::scope(|scope| {
        let running = scope.spawn(|| {
            let mut outcome = None;
            let info =
                measure(|| outcome = Some(summary(capture.run_consumer(&mut consumer, &stop))));
            (outcome.unwrap(), info)
        });
        pair.deliver(packets);
        pair.until(1 + packets);
        stopper.stop();
        running.join().unwrap()
    });
    assert!(matches!(outcome.ended, Ended::Stopped), "{outcome:?}");
    assert_account(&outcome.account, packets, 0, 0);
    assert_eq!(consumer.packets_written(), packets);
    info
}

/// Maximum number of rounds in which the end of a capture reads the counters: one per millisecond, for one second plus
/// a block timeout, until the last TPACKET_V3 block has arrived.
const LAST_ROUNDS: u64 = 1002;

#[test]
fn nothing_is_allocated_per_packet() {
    for backend in BACKENDS {
        for is_filtered in [false, true] {
            let few = allocations(backend, is_filtered, 20_000).count_total;
            let many = allocations(backend, is_filtered, 200_000).count_total;
            if backend == Backend::PacketV2 {
                assert_eq!(few, many);
            } else {
                let each = [few, many].map(|count| count.saturating_sub(20) / LAST_ROUNDS);
                assert!(each.iter().all(|&each| each <= 5), "{few} {many}");
            }
        }
    }
}

/// Packets of several interfaces are ordered without buffering them.
#[test]
fn nothing_is_allocated_to_merge_interfaces() {
    let merging = |packets: u32| {
        let net = Net::new();
        let [mut left, mut right] = net.pair();
        net.join(&mut left, &mut right);
        let mut witness = Witness::on(&right);
        let links = right.interfaces().iter().map(|link| link.name.to_string());
        let quiet = options(&right, Backend::PacketV2)
            .links(links.collect())
            .tick(Duration::MAX)
            .delivery(DeliveryMode::Immediate);
        let capture = right.run(|| Capture::open(quiet)).unwrap();
        let stop = Stop::new().unwrap();
        let stopper = stop.stopper();
        let mut counter = Counter(0);
        let info = thread::scope(|scope| {
            let running = scope
                .spawn(|| measure(|| drop(summary(capture.run_consumer(&mut counter, &stop)))));
            send(&left, &frames(0, packets));
            witness.until(packets.into());
            stopper.stop();
            running.join().unwrap()
        });
        assert_eq!(counter.0, packets);
        info.count_total
    };
    assert_eq!(merging(10), merging(5000));
}

struct Counter(u32);

impl Consumer for Counter {
    fn packet(&mut self, _packet: &Packet<'_>) -> Result<(), ConsumerError> {
        self.0 += 1;
        Ok(())
    }
}

/// Its memory is allocated before.
#[test]
fn a_flight_recorder_allocates_nothing_per_packet() {
    let mut recent = store::write::RecentPackets::new(1 << 20);
    let frame = [7; 1000];
    let info = measure(|| {
        for number in 0..10_000 {
            let length = number as usize % 1000;
            assert!(recent.push(&store::model::Packet::new(number, &frame[..length])));
        }
    });
    assert_eq!(info.count_total, 0);
    assert!(recent.len() > 500 && recent.len() < 10_000);
}
