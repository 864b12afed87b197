//! Loss accounting of mirroring ring buffers, compared with the number of frames that arrived.

use std::os::fd::AsFd;
use std::time::Instant;

use crate::support::ring_buffers::{RingBuffers, mirror};
use crate::support::xsk_rings::PLACES;
use crate::support::{DEADLINE, Seen, bytes_of, collect, end_frame, frame, read, send, wait};
use abi::bpf::{Map, MapLayout, MapType, TestRun};
use lab::bpf::{
    Helper, Insn, Program, ProgramKind, Reg, RingBufferProgramOptions, Size, XdpAttachMode,
};
use lab::generator::{Generator, GeneratorOptions, SEQUENCE_AT, pin_to_cpu, udp_frame};
use lab::skip::{Feature, without};
use lab::{Host, Net};
use tapline_ring::{BpfRing, BpfRingOptions};

/// Room for 170 packets of a length of 60 to 64: records of 96 bytes.
const SMALL: u32 = 16_384;
const SMALL_PACKETS: u64 = 170;

/// A veth receives on the CPU that sends.
const TWO_PROCESSORS: Feature = Feature {
    name: "two processors",
    probe: || match std::thread::available_parallelism() {
        Ok(count) if count.get() >= 2 => Ok(()),
        other => Err(format!("available: {other:?}")),
    },
};

fn options(buffer_bytes: u32) -> RingBufferProgramOptions<'static> {
    RingBufferProgramOptions {
        buffer_bytes,
        ..RingBufferProgramOptions::new(64)
    }
}

fn generator(left: &Host) -> Generator {
    let options = GeneratorOptions {
        sequence_at: Some(SEQUENCE_AT),
        ..GeneratorOptions::new(left.interface().index, udp_frame(80))
    };
    left.run(|| Generator::new(options))
}

/// Delivers `count` frames on `cpu`.
fn deliver(left: &Host, generator: &mut Generator, cpu: usize, count: u64) {
    left.run(|| {
        pin_to_cpu(cpu).unwrap();
        generator.deliver(count, None);
    });
}

/// The number that the generator wrote into a frame.
fn number(frame: &[u8]) -> u64 {
    let at = &frame[usize::from(SEQUENCE_AT)..];
    u64::from_be_bytes(*at.first_chunk().unwrap())
}

/// Waits until the program has processed `count` packets.
#[track_caller]
fn until_seen(mirrored: &RingBuffers, count: u64) {
    lab::wait::until_ok(|| match mirrored.counters() {
        counts if counts.total() >= count => Ok(()),
        counts => Err(counts),
    });
    assert_eq!(mirrored.counters().total(), count);
}

/// Positions wrap around the buffer many times, with records of many lengths, so records cross its end at many offsets.
#[test]
fn slow_packets_are_all_delivered_whatever_their_length() {
    for place in PLACES {
        let [left, right] = Net::new().pair();
        let options = RingBufferProgramOptions {
            buffer_bytes: SMALL,
            ..RingBufferProgramOptions::new(300)
        };
        let mut mirrored = mirror(&right, place, &options);
        let frames: Vec<_> = (14..64).map(|bytes| frame([0xff; 6], bytes * 5)).collect();
        for _ in 0..20 {
            send(&left, &frames);
            let seen = bytes_of(collect(mirrored.first(), frames.len()));
            for (packet, frame) in seen.iter().zip(&frames) {
                assert_eq!(*packet, frame[..frame.len().min(300)]);
            }
        }
        let sent = 20 * frames.len() as u64;
        let counts = mirrored.counters();
        assert_eq!((counts.delivered, counts.lost), (sent, 0));
        assert_eq!(mirrored.first().counters().delivered, sent);
    }
}

#[test]
fn a_reader_that_does_not_read_costs_packets_and_each_is_counted() {
    let [left, right] = Net::new().pair();
    let mut mirrored = mirror(&right, XdpAttachMode::Native, &options(SMALL));
    let mut generator = generator(&left);
    let (mut sent, mut packets, mut lost, mut next) = (0, 0, 0, 0);
    for round in 1..=4 {
        deliver(&left, &mut generator, 0, 5000 * round);
        sent += 5000 * round;
        until_seen(&mirrored, sent);
        let buffer = mirrored.first();
        assert!(buffer.is_filling());
        buffer.refresh();
        assert_eq!(buffer.counters().waiting(), SMALL_PACKETS);
        // The packets in the buffer, and then one more, which reports the loss before it.
        while let Some(mut batch) = buffer.next_batch() {
            assert_eq!(batch.lost_before(), 0);
            packets += batch.len() as u64;
            for number in batch.packets().map(|packet| number(packet.bytes)) {
                assert!(number >= next, "{number} comes after {next}");
                next = number + 1;
            }
        }
        assert!(!buffer.is_filling());
        send(&left, &[end_frame()]);
        sent += 1;
        read(buffer, |batch| {
            assert_eq!(batch.lost_before(), 5000 * round - SMALL_PACKETS);
            lost += batch.lost_before();
            packets += batch.len() as u64;
            batch.packets().all(|packet| packet.bytes == end_frame())
        });
        buffer.refresh();
        let account = *buffer.counters();
        assert_eq!((account.delivered, account.dropped), (packets, 0));
        assert_eq!((account.accepted, account.waiting()), (packets, 0));
        let counts = mirrored.counters();
        assert_eq!((counts.delivered, counts.lost), (packets, lost));
    }
    assert_eq!(packets, 4 * (SMALL_PACKETS + 1));
}

/// Reads and sends concurrently on two threads. The frame numbers show the order, and a gap between two batches equals
/// the loss that the later batch reports.
#[test]
fn under_load_every_packet_is_delivered_or_reported_at_its_place() {
    for buffer_bytes in [4096, SMALL, 1 << 20] {
        let [left, right] = Net::new().pair();
        let mut mirrored = mirror(&right, XdpAttachMode::Native, &options(buffer_bytes));
        let mut generator = generator(&left);
        let count = 300_000;
        let (mut packets, mut lost, mut next) = (0, 0, 0);
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| deliver(&left, &mut generator, 0, count));
            let deadline = Instant::now() + DEADLINE;
            let mut is_over = false;
            while !is_over {
                assert!(Instant::now() < deadline, "not all came");
                // All that was sent before this is found after it.
                is_over = sender.is_finished();
                while let Some(mut batch) = mirrored.first().next_batch() {
                    lost += batch.lost_before();
                    packets += batch.len() as u64;
                    for number in batch.packets().map(|packet| number(packet.bytes)) {
                        assert!(number >= next, "{number} comes after {next}");
                        next = number + 1;
                    }
                }
            }
        });
        let counts = mirrored.counters();
        assert_eq!(counts.total(), count);
        assert_eq!(counts.delivered, packets);
        // Only the counter includes packets that were lost after the last one.
        assert!(lost <= counts.lost, "{lost} {counts:?}");
        send(&left, &[end_frame()]);
        let mut batch = mirrored.first().next_batch().expect("the last packet");
        assert_eq!(batch.lost_before(), counts.lost - lost);
        assert_eq!(batch.packets().count(), 1);
    }
}

#[test]
fn each_cpu_has_a_buffer_and_each_buffer_its_cpus_packets() {
    if without(&TWO_PROCESSORS) {
        return;
    }
    let [left, right] = Net::new().pair();
    let mut mirrored = mirror(&right, XdpAttachMode::Native, &options(1 << 20));
    let mut generator = generator(&left);
    let counts = [1000, 3000];
    for (cpu, count) in counts.into_iter().enumerate() {
        deliver(&left, &mut generator, cpu, count);
    }
    let mut last = None;
    for (buffer, count) in mirrored.buffers.iter_mut().zip(counts) {
        let seen = collect(buffer, count as usize);
        let numbers: Vec<u64> = seen.iter().map(|packet| number(&packet.bytes)).collect();
        // A number is missing where the link dropped a frame.
        assert!(numbers.is_sorted_by(|a, b| a < b));
        assert!(numbers.first().copied() > last);
        last = numbers.last().copied();
        buffer.refresh();
        assert_eq!(buffer.counters().accepted, count);
    }
    let counts = mirrored.counters();
    assert_eq!(
        (counts.delivered, counts.unmatched, counts.lost),
        (4000, 0, 0)
    );
}

#[test]
fn a_held_batch_is_not_written_to() {
    let [left, right] = Net::new().pair();
    let mut mirrored = mirror(&right, XdpAttachMode::Native, &options(SMALL));
    send(&left, &[end_frame()]);
    wait(mirrored.first());
    let mut batch = mirrored.buffers[0]
        .next_batch()
        .expect("it polled readable");
    // Enough to go round the buffer many times, if it went round.
    deliver(&left, &mut generator(&left), 0, 20_000);
    let held: Vec<_> = batch.packets().map(Seen::from).collect();
    assert_eq!(bytes_of(held), [end_frame()]);
    drop(batch);
    until_seen(&mirrored, 20_001);
    assert_eq!(mirrored.counters().delivered, SMALL_PACKETS);
}

/// A record shorter than the header that the program writes before a packet is not a packet.
#[test]
fn what_the_program_does_not_write_is_unreadable() {
    let [_left, right] = Net::new().pair();
    let layout = MapLayout {
        map_type: MapType::RingBuffer,
        key_bytes: 0,
        value_bytes: 0,
        max_entries: 4096,
    };
    let map = Map::create(&layout, "nonsense").unwrap();
    let code = [
        Insn::store(Size::Double, Reg::R10, -8, -1),
        Insn::LoadMap {
            dst: Reg::R1,
            map: map.as_fd(),
        },
        Insn::mov(Reg::R2, Reg::R10),
        Insn::add(Reg::R2, -8),
        Insn::mov(Reg::R3, 8),
        Insn::mov(Reg::R4, 0),
        Insn::Call(Helper::RingbufOutput),
        Insn::mov(Reg::R0, 2),
        Insn::Exit,
    ];
    let program = Program::load(ProgramKind::Xdp, "nonsense", &code).unwrap();
    let name = right.interface().name.to_string();
    let options = BpfRingOptions::default();
    let buffer = right.run(|| BpfRing::open(&name, map.as_fd(), &options));
    let mut buffer = buffer.unwrap();
    assert!(buffer.next_batch().is_none());
    let run = TestRun {
        data: &[0; 60],
        ..TestRun::default()
    };
    for round in 1..=1000 {
        program.test_run(&run, &mut []).unwrap();
        let mut batch = buffer.next_batch().expect("a record is there");
        assert_eq!((batch.len(), batch.packets().count()), (1, 0));
        drop(batch);
        assert_eq!(buffer.counters().unreadable, round);
        assert!(buffer.next_batch().is_none(), "what was unreadable is gone");
    }
    assert_eq!(buffer.counters().delivered, 0);
}

/// When a batch is released partly, the next one contains the rest, and a loss is reported once.
#[test]
fn what_a_batch_leaves_is_lent_again() {
    let [left, right] = Net::new().pair();
    let mut mirrored = mirror(&right, XdpAttachMode::Native, &options(4096));
    // 42 records of 96 bytes fit, and 58 packets are lost; with room for 3 more come 3.
    send(&left, &vec![frame([0xff; 6], 60); 100]);
    until_seen(&mirrored, 100);
    let buffer = mirrored.first();
    let mut batch = buffer.next_batch().expect("the buffer is full");
    batch.truncate(3);
    assert_eq!(batch.packets().count(), 3);
    drop(batch);
    send(&left, &[61, 62, 63].map(|bytes| frame([0xff; 6], bytes)));
    until_seen(&mirrored, 103);
    let buffer = mirrored.first();
    assert_eq!(buffer.next_batch().expect("what was left").len(), 39);
    let mut seen = Vec::new();
    for (given_back, length, lost) in [(0, 3, 58), (1, 3, 58), (0, 2, 0), (2, 2, 0)] {
        let mut batch = buffer.next_batch().expect("what came later");
        assert_eq!((batch.len(), batch.lost_before()), (length, lost));
        batch.truncate(given_back);
        seen.extend(batch.packets().map(|packet| packet.bytes.len()));
    }
    assert_eq!(seen, [61, 62, 63]);
    assert!(buffer.next_batch().is_none());
    buffer.refresh();
    assert_eq!(
        (buffer.counters().delivered, buffer.counters().waiting()),
        (45, 0)
    );
    let counts = mirrored.counters();
    assert_eq!((counts.delivered, counts.lost), (45, 58));
}
