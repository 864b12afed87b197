//! Sending from the library: what arrives is compared with what was pushed, and with the counters of the peer.

use std::thread;

use allocation_counter::measure;
use lab::Net;
use tapline::capture::Backend;
use tapline::send::{Fill, Rate, Replay, SendError, SendOptions, SendPath, SendQueue, Sender};

use super::paths::{PATHS, pass_all};
use crate::support::{Pair, frames, number, options};

/// A job on the left interface.
fn open(pair: &Pair, with: impl FnOnce(SendOptions) -> SendOptions) -> Sender {
    let left = &pair.left;
    let options = with(tapline::send(left.interface().name.to_string()));
    left.run(|| options.open()).unwrap()
}

/// The frames `numbers`, with `time_ns` of each.
fn queue(numbers: std::ops::Range<u32>, time_ns: impl Fn(u32) -> u64) -> SendQueue {
    let mut queue = SendQueue::default();
    for (number, frame) in numbers
        .clone()
        .zip(frames(numbers.start, numbers.len() as u32))
    {
        queue.push(time_ns(number), &frame);
    }
    queue
}

#[test]
fn queues_single_packets_and_sources_arrive_in_order() {
    for path in PATHS {
        let pair = Pair::new();
        let _pass = (path == SendPath::LiveFrames).then(|| pass_all(&pair.right));
        let mut capture = pair.open(options(&pair.right, Backend::PacketV3).packets(1201));
        let mut sender = open(&pair, |options| options.path(path));
        assert!(sender.transmit(&queue(0..500, |_| 0)).unwrap());
        sender.inject(&frames(500, 1)[0]).unwrap();
        let mut next = 501;
        let is_complete = sender.run(move |filled| {
            *filled = queue(next..next + 100, |_| 0);
            next += 100;
            Ok(if next > 1200 { Fill::End } else { Fill::More })
        });
        assert!(is_complete.unwrap());
        let live = sender.live();
        assert_eq!((live.packets(), live.bytes()), (1201, 1201 * 60));
        let summary = sender.finish().unwrap();
        assert_eq!(summary.path, path);
        let line = "1201 packets submitted = 1201 accepted + 0 failed, 1201 delivered";
        assert_eq!(summary.to_string(), line);
        let mut numbers = Vec::new();
        while let Some(packet) = capture.next().unwrap() {
            numbers.push(number(packet.data()));
        }
        assert_eq!(numbers, (0..1201).collect::<Vec<_>>());
    }
}

#[test]
fn absolute_times_and_the_packet_limit_are_kept() {
    let pair = Pair::new();
    let limited = |options: SendOptions| options.rate(Rate::Absolute).packets(60);
    let mut sender = open(&pair, limited);
    let start_ns = abi::clock::monotonic_ns();
    let is_complete = sender.transmit(&queue(0..100, |number| {
        start_ns + 1_000_000 + u64::from(number) * 100_000
    }));
    assert!(!is_complete.unwrap());
    let last_ns = start_ns + 1_000_000 + 59 * 100_000;
    assert!(abi::clock::monotonic_ns() >= last_ns);
    let summary = sender.finish().unwrap();
    assert_eq!((summary.accepted, summary.lateness.count()), (60, 60));
    assert!(!summary.is_stopped);
}

#[test]
fn a_stop_from_another_thread_ends_a_wait() {
    let pair = Pair::new();
    let mut sender = open(&pair, |options| options.rate(Rate::Recorded(1.0)));
    let stopper = sender.stopper();
    // The second packet is due in an hour.
    let times = queue(0..2, |number| u64::from(number) * 3_600_000_000_000);
    let live = sender.live();
    let stopping = thread::spawn(move || {
        lab::wait::until("the first packet is sent", || live.packets() == 1);
        stopper.stop();
    });
    assert!(!sender.transmit(&times).unwrap());
    stopping.join().unwrap();
    let summary = sender.finish().unwrap();
    assert_eq!((summary.accepted, summary.is_stopped), (1, true));
}

#[test]
fn nothing_is_allocated_per_packet() {
    let pair = Pair::new();
    let _pass = pass_all(&pair.right);
    let rate = Rate::Packets(10_000_000.try_into().unwrap());
    let jobs = PATHS.map(|path| (path, Rate::Max));
    for (path, rate) in jobs.into_iter().chain([(SendPath::Bypass, rate)]) {
        let mut sender = open(&pair, |options| options.path(path).rate(rate));
        let packets = queue(0..10_000, |_| 0);
        sender.transmit(&packets).unwrap();
        let info = measure(|| {
            sender.transmit(&packets).unwrap();
        });
        assert_eq!(info.count_total, 0, "{path:?} {rate:?} {info:?}");
        assert_eq!(sender.finish().unwrap().accepted, 20_000);
    }
}

#[test]
fn a_source_that_fails_is_reported_behind_its_packets() {
    let pair = Pair::new();
    let mut sender = open(&pair, |options| options);
    let mut is_first = true;
    let result = sender.run(move |filled| {
        if !std::mem::take(&mut is_first) {
            return Err("no more".into());
        }
        *filled = queue(0..10, |_| 0);
        Ok(Fill::More)
    });
    assert!(matches!(result, Err(SendError::Source(error)) if error.to_string() == "no more"));
    assert_eq!(sender.finish().unwrap().accepted, 10);
}

#[test]
fn an_uplink_is_refused_unless_it_is_permitted() {
    let [left, _right] = Net::new().pair();
    let name = left.interface().name.to_string();
    for line in [
        format!("address add 192.0.2.1/24 dev {name}"),
        format!("route add default dev {name}"),
    ] {
        let status = left.command("ip").args(line.split(' ')).status();
        assert!(status.unwrap().success(), "{line}");
    }
    let refused = left.run(|| tapline::send(&*name).open());
    assert!(matches!(refused, Err(SendError::Uplink { link }) if link == name));
    let permitted = left.run(|| tapline::send(&*name).allow_uplink(true).open());
    let summary = permitted.unwrap().finish().unwrap();
    assert_eq!(summary.submitted, 0);
}

/// A packet is stamped behind the system call and before it arrives, as the receiving kernel stamps it.
#[test]
fn the_kernels_time_stamps_say_how_late_packets_were() {
    // The clocks of both stamps are converted.
    const CLOCKS_NS: u64 = 20_000;
    for path in [SendPath::Bypass, SendPath::Qdisc] {
        let pair = Pair::new();
        let mut capture = pair.open(options(&pair.right, Backend::PacketV3).packets(1));
        let absolute = |options: SendOptions| options.path(path).rate(Rate::Absolute);
        let mut sender = open(&pair, absolute);
        let offset_ns = abi::clock::realtime_ns() - abi::clock::monotonic_ns();
        let planned_ns = abi::clock::monotonic_ns() + 2_000_000;
        assert!(sender.transmit(&queue(0..1, |_| planned_ns)).unwrap());
        let summary = sender.finish().unwrap();
        let stamped = &summary.stamped_lateness;
        assert_eq!((stamped.count(), summary.lateness.count()), (1, 1));
        let [(called_ns, _), (stamped_ns, _)] =
            [&summary.lateness, stamped].map(|late| late.range_ns().unwrap());
        let arrived = capture.next().unwrap().unwrap().time().as_nanos().unwrap();
        let arrived_ns = arrived - offset_ns - planned_ns;
        assert!(
            called_ns <= stamped_ns + CLOCKS_NS && stamped_ns <= arrived_ns + CLOCKS_NS,
            "called {called_ns}, stamped {stamped_ns}, arrived {arrived_ns} ns after the plan"
        );
    }
    // As fast as possible nothing is planned.
    let pair = Pair::new();
    let mut sender = open(&pair, |options| options.path(SendPath::Bypass));
    assert!(sender.transmit(&queue(0..1, |_| 0)).unwrap());
    assert_eq!(sender.finish().unwrap().stamped_lateness.count(), 0);
}

/// All packets that a source has, with the places where repetitions begin.
fn drained(
    mut source: impl FnMut(&mut SendQueue) -> Result<Fill, tapline::send::SourceError>,
) -> (Vec<Vec<u8>>, Vec<usize>) {
    let (mut all, mut repeats) = (Vec::new(), Vec::new());
    loop {
        let mut queue = SendQueue::default();
        let fill = source(&mut queue).unwrap();
        if fill == Fill::Repeat {
            repeats.push(all.len());
        }
        all.extend(queue.packets().map(|packet| packet.bytes.to_vec()));
        if fill == Fill::End {
            return (all, repeats);
        }
    }
}

/// Small files are read once and large ones each time; nobody can tell.
#[test]
fn repeated_files_are_whole_and_changed_each_time() {
    let folder = tempfile::tempdir().unwrap();
    for (packets, bytes) in [(3u32, 60), (20_000, 60), (20_000, 1500)] {
        let path = folder.path().join("file.pcap");
        let mut file = Vec::new();
        file.extend(0xa1b2_c3d4u32.to_ne_bytes());
        for word in [0x0004_0002u32, 0, 0, 65_535, 1] {
            file.extend(word.to_ne_bytes());
        }
        for number in 0..packets {
            for word in [1u32, 0, bytes, bytes] {
                file.extend(word.to_ne_bytes());
            }
            let mut frame = frames(number, 1).remove(0);
            frame.resize(bytes as usize, 0);
            file.extend(frame);
        }
        std::fs::write(&path, file).unwrap();
        let mut sent = 0u32;
        let mark = move |frame: &mut Vec<u8>| {
            frame[20..24].copy_from_slice(&sent.to_be_bytes());
            sent += 1;
        };
        for (is_changed, is_preloaded) in
            [(false, false), (true, false), (false, true), (true, true)]
        {
            let path = path.clone();
            let open = move || {
                tapline::read(path.to_str().unwrap())
                    .open()
                    .map_err(Into::into)
            };
            let replay = Replay::new(open).repeat(3.try_into().unwrap());
            let replay = if is_changed {
                replay.edit(mark)
            } else {
                replay
            };
            let replay = if is_preloaded {
                replay.preload()
            } else {
                replay
            };
            let (all, repeats) = drained(replay.into_source());
            assert_eq!(repeats, [1, 2].map(|pass| pass * packets as usize));
            assert_eq!(all.len(), 3 * packets as usize);
            for (place, frame) in (0u32..).zip(&all) {
                assert_eq!(number(frame), place % packets);
                let marked = u32::from_be_bytes(frame[20..24].try_into().unwrap());
                let unmarked = u32::from_be_bytes([0x5a; 4]);
                assert_eq!(marked, if is_changed { place } else { unmarked });
            }
        }
    }
}
