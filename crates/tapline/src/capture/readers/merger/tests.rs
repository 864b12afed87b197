//! Readers that the test plays, and the file that the merger writes.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::scope;

use lab::wait;
use store::model::{Interface, LinkType, Packet as Record};
use store::read::{Item, Reader};
use store::write::{CaptureFile, CaptureFileOptions, InputCounts, Output};

use super::super::super::read::consumer::{Consumer, FileConsumer};
use super::super::channel::{CHUNKS, ChunkSender, IN_FLIGHT_NS, channel};
use super::*;
use crate::packet::Packet;

/// A file whose accepted packets another thread may read.
struct Watched {
    file: FileConsumer,
    accepted: Arc<AtomicU64>,
}

impl Consumer for Watched {
    fn packet(&mut self, _packet: &Packet<'_>) -> Result<(), ConsumerError> {
        Err("the merger passes no packets".into())
    }

    fn idle(&mut self, _now_ns: u64) -> Result<(), ConsumerError> {
        let accepted = self.file.file().packets_accepted();
        self.accepted.store(accepted, Ordering::Relaxed);
        Ok(())
    }
}

impl FileOwner for Watched {
    fn file(&mut self) -> &mut CaptureFile {
        self.file.file()
    }
}

fn send(channel: &mut ChunkSender, times: impl Iterator<Item = u64>) {
    for time in times {
        let record = Record::new(time, &[7; 100]);
        channel.packet(&Packet::from(record)).unwrap();
    }
}

/// Sends the packets of `times`, and ends.
fn send_all(mut channel: ChunkSender, times: impl Iterator<Item = u64>) {
    send(&mut channel, times);
    channel.finish(&[]).unwrap();
}

/// Runs a merger of two channels while `readers` plays them, with the number of packets written so far. Returns the times
/// in the file and the counts.
fn merged(
    path: &Path,
    max_delay_ns: u64,
    chunk_bytes: usize,
    readers: impl FnOnce([ChunkSender; 2], &AtomicU64) + Send,
) -> (Vec<u64>, Vec<InputCounts>) {
    let output = Output::Path(path.to_owned());
    let options = CaptureFileOptions::new(output, vec![Interface::new(LinkType::ETHERNET, 0)]);
    let file = CaptureFile::create(options, 0).unwrap();
    let encoder = file.chunk_encoder();
    let waker = Arc::new(MergerWaker::new().unwrap());
    let new_channel = |()| channel(encoder.clone(), waker.clone(), chunk_bytes, None);
    let [(one, one_end), (other, other_end)] = [(); 2].map(new_channel);
    let accepted = Arc::<AtomicU64>::default();
    let mut consumer = Watched {
        file: FileConsumer::new(file, Duration::from_secs(1)),
        accepted: accepted.clone(),
    };
    let stop = Stop::new().unwrap();
    let mut merger = Merger {
        consumer: &mut consumer,
        channels: vec![one_end, other_end],
        waker,
        merge: ChunkMerge::new(2),
        remaining: u64::MAX,
        joined: JoinedInterfaces::default(),
        stopper: stop.stopper(),
        ended: None,
    };
    let times = MergerTimes {
        period: Duration::from_millis(1),
        max_delay_ns,
        tick_ns: u64::MAX,
    };
    // What the merger requests of the readers is not for itself.
    let never = Stop::new().unwrap();
    scope(|scope| {
        scope.spawn(|| readers([one, other], &accepted));
        merger.run(times, &never, &LiveCounters::default());
    });
    assert!(merger.ended.is_none());
    let counts = merger.merge.counts().collect();
    consumer.file.finish(&[]).unwrap();
    let mut reader = Reader::open(path).unwrap();
    let mut written = Vec::new();
    while let Some(item) = reader.next_item().unwrap() {
        if let Item::Packet(packet) = item {
            written.push(packet.timestamp_ns.unwrap());
        }
    }
    (written, counts)
}

#[test]
fn a_stalled_reader_delays_the_others_no_longer_than_the_bound_and_its_packets_are_late() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.pcapng");
    let start_ns = realtime_ns();
    let (written, counts) = merged(&path, 1_000_000, 1 << 16, |[runs, stalls], accepted| {
        send_all(runs, (0..100).map(|n| start_ns + 10 + n));
        // The other reader has said nothing yet, and has an older packet.
        wait::until("the packets of the reader that runs are written", || {
            accepted.load(Ordering::Relaxed) == 100
        });
        send_all(stalls, [start_ns, start_ns + 1000].into_iter());
    });
    let expected: Vec<u64> = (0..100).map(|n| start_ns + 10 + n).collect();
    assert_eq!(written[..100], expected);
    assert_eq!(written[100..], [start_ns, start_ns + 1000]);
    let [runs, stalls] = counts[..] else {
        panic!("{counts:?}")
    };
    assert_eq!((runs.written, runs.late), (100, 0));
    assert_eq!((stalls.written, stalls.late), (2, 1));
}

#[test]
fn full_memory_ends_the_wait_for_a_silent_reader() {
    const PACKETS: u64 = 20 * CHUNKS as u64 * 30;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.pcapng");
    let (written, counts) = merged(&path, u64::MAX, 4096, |[mut runs, silent], accepted| {
        // Far more than all chunks hold.
        send(&mut runs, 1..=PACKETS);
        assert!(accepted.load(Ordering::Relaxed) > 0);
        runs.finish(&[]).unwrap();
        drop(silent);
    });
    assert!(written.iter().copied().eq(1..=PACKETS));
    assert_eq!((counts[0].written, counts[0].late), (PACKETS, 0));
}

#[test]
fn readers_that_take_turns_are_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.pcapng");
    let (written, counts) = merged(&path, u64::MAX, 8192, |[one, other], _| {
        scope(|scope| {
            for (channel, first) in [(one, 0), (other, 1)] {
                scope.spawn(move || send_all(channel, (first..10_000).step_by(2)));
            }
        });
    });
    assert_eq!(written.len(), 10_000);
    // Times differ by less than the in-flight time, so only memory can force the order.
    let late: u64 = counts.iter().map(|channel| channel.late).sum();
    let mut newest = 0;
    let inversions = written.iter().filter(|&&time| {
        let is_late = time < newest;
        newest = newest.max(time);
        is_late
    });
    assert_eq!(inversions.count() as u64, late);
    let mut sorted = written.clone();
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..10_000));
}

#[test]
fn a_full_chunk_says_nothing_about_older_packets_in_another_ring_of_its_reader() {
    let output = Output::Path("/dev/null".into());
    let options = CaptureFileOptions::new(output, vec![Interface::new(LinkType::ETHERNET, 0)]);
    let file = CaptureFile::create(options, 0).unwrap();
    let waker = Arc::new(MergerWaker::new().unwrap());
    let (mut sender, receiver) = channel(file.chunk_encoder(), waker, 4096, None);
    // Several chunks each.
    sender.see_unread(2 * IN_FLIGHT_NS);
    send(&mut sender, (1..=100).map(|n| 10 * IN_FLIGHT_NS + n));
    assert_eq!(receiver.mark_ns(), IN_FLIGHT_NS);
    sender.see_unread(u64::MAX);
    send(&mut sender, (101..=200).map(|n| 10 * IN_FLIGHT_NS + n));
    let handed_over = 9 * IN_FLIGHT_NS + 100..9 * IN_FLIGHT_NS + 200;
    assert!(handed_over.contains(&receiver.mark_ns()));
}
