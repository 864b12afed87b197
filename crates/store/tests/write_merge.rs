//! Merging encoded packets of several inputs, compared with the sorted times that went in and with tshark.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use crate::read_support::tshark;
use crate::write_support::{ethernet, options};
use tapline_store::model::Packet;
use tapline_store::read::{Item, Reader};
use tapline_store::write::{
    CaptureFile, CaptureFileOptions, ChunkEncoder, ChunkMerge, Format, Output, PacketChunk,
    Rotation,
};

/// A generator of numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

fn add(encoder: &ChunkEncoder, chunk: &mut PacketChunk, time: u64, bytes: &[u8]) {
    assert!(encoder.encode(&Packet::new(time, bytes), chunk).unwrap());
}

fn times(path: &std::path::Path) -> Vec<u64> {
    let mut reader = Reader::open(path).unwrap();
    let mut times = Vec::new();
    while let Some(item) = reader.next_item().unwrap() {
        if let Item::Packet(packet) = item {
            times.push(packet.timestamp_ns.unwrap());
        }
    }
    times
}

/// Sixty-four receive queues at 100 Gbit/s in frames of 128 bytes: a packet every 12 ns, in virtual time. Each queue
/// hands a chunk over every millisecond or later, with packets out of order by up to a microsecond, and says up to which
/// time it has handed over everything.
#[test]
fn sixty_four_queues_are_merged_in_order() {
    const QUEUES: usize = 64;
    const SLICES: u64 = 20;
    const SLICE_NS: u64 = 1_000_000;
    const GAP_NS: u64 = 12;
    const DISORDER_NS: u64 = 1000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("merged.pcapng");
    let mut file = CaptureFile::create(options(&path), 0).unwrap();
    let encoder = file.chunk_encoder();
    let mut merge = ChunkMerge::new(QUEUES);
    let mut numbers = Numbers(7);
    let mut chunks: Vec<PacketChunk> = (0..QUEUES).map(|_| PacketChunk::new(1 << 19)).collect();
    let mut marks = [0; QUEUES];
    let (mut sent, mut remaining) = (0, u64::MAX);
    for slice in 0..SLICES {
        let (start, end) = (slice * SLICE_NS, (slice + 1) * SLICE_NS);
        let mut time = start + DISORDER_NS;
        while time < end + DISORDER_NS {
            let queue = numbers.below(QUEUES as u64) as usize;
            add(
                &encoder,
                &mut chunks[queue],
                time - numbers.below(DISORDER_NS),
                &[7; 60],
            );
            (sent, time) = (sent + 1, time + GAP_NS);
        }
        for queue in 0..QUEUES {
            // One of eight readers is held up, for the slice.
            if slice + 1 < SLICES && numbers.below(8) == 0 && chunks[queue].len() < 3000 {
                continue;
            }
            let empty = merge
                .take_free(queue)
                .unwrap_or_else(|| PacketChunk::new(1 << 19));
            merge.add(queue, std::mem::replace(&mut chunks[queue], empty));
            marks[queue] = end;
        }
        let before = marks.iter().copied().min().unwrap();
        merge
            .write_before(before, &mut file, &mut remaining)
            .unwrap();
    }
    merge
        .write_before(u64::MAX, &mut file, &mut remaining)
        .unwrap();
    file.close(&[]).unwrap();
    assert_eq!(merge.waiting(), 0);
    let counts = merge.counts().fold((0, 0), |(written, late), input| {
        (written + input.written, late + input.late)
    });
    assert_eq!(counts, (sent, 0));
    let times = times(&path);
    assert_eq!(times.len() as u64, sent);
    assert!(times.is_sorted());
}

#[test]
fn every_packet_is_written_once_and_those_that_come_late_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut numbers = Numbers(1);
    for round in 0..50 {
        let path = folder.path().join(format!("{round}.pcapng"));
        let mut file = CaptureFile::create(options(&path), 0).unwrap();
        let encoder = file.chunk_encoder();
        let inputs = 1 + numbers.below(5) as usize;
        let mut merge = ChunkMerge::new(inputs);
        let mut sent = BTreeMap::<u64, u64>::new();
        let mut remaining = u64::MAX;
        for _ in 0..numbers.below(40) {
            let mut chunk = PacketChunk::new(4096);
            for _ in 0..numbers.below(20) {
                let time = numbers.below(1000);
                let bytes = vec![0; 60 + numbers.below(9) as usize];
                add(&encoder, &mut chunk, time, &bytes);
                *sent.entry(time).or_default() += 1;
            }
            merge.add(numbers.below(inputs as u64) as usize, chunk);
            let before = numbers.below(1100);
            merge
                .write_before(before, &mut file, &mut remaining)
                .unwrap();
        }
        merge
            .write_before(u64::MAX, &mut file, &mut remaining)
            .unwrap();
        file.close(&[]).unwrap();
        let written = times(&path);
        let (mut newest, mut late) = (0, 0);
        let mut found = BTreeMap::<u64, u64>::new();
        for time in written {
            late += u64::from(time < newest);
            newest = newest.max(time);
            *found.entry(time).or_default() += 1;
        }
        assert_eq!(found, sent);
        assert_eq!(merge.counts().map(|input| input.late).sum::<u64>(), late);
    }
}

#[test]
fn a_limit_and_a_discard_leave_nothing_unaccounted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limited.pcapng");
    let mut file = CaptureFile::create(options(&path), 0).unwrap();
    let encoder = file.chunk_encoder();
    let mut merge = ChunkMerge::new(2);
    for input in 0..2 {
        let mut chunk = PacketChunk::new(1 << 16);
        (0..100).for_each(|n| add(&encoder, &mut chunk, 2 * n + input, &[1; 60]));
        merge.add(input as usize, chunk);
    }
    let mut remaining = 51;
    merge
        .write_before(u64::MAX, &mut file, &mut remaining)
        .unwrap();
    assert_eq!(remaining, 0);
    merge.discard();
    file.close(&[]).unwrap();
    assert!(times(&path).into_iter().eq(0..51));
    let counts: Vec<_> = merge
        .counts()
        .map(|input| (input.written, input.discarded))
        .collect();
    assert_eq!(counts, [(26, 74), (25, 75)]);
    for input in 0..2 {
        assert!(merge.take_free(input).is_some_and(|chunk| chunk.is_empty()));
    }
}

#[test]
fn a_packet_longer_than_a_chunk_gets_one_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.pcapng");
    let mut file = CaptureFile::create(options(&path), 0).unwrap();
    let encoder = file.chunk_encoder();
    let mut chunk = PacketChunk::new(1000);
    add(&encoder, &mut chunk, 1, &[1; 60]);
    let long = vec![2; 70_000];
    assert!(!encoder.encode(&Packet::new(2, &long), &mut chunk).unwrap());
    let mut other = PacketChunk::new(1000);
    add(&encoder, &mut other, 2, &long);
    let mut merge = ChunkMerge::new(1);
    merge.add(0, chunk);
    merge.add(0, other);
    merge
        .write_before(u64::MAX, &mut file, &mut u64::MAX.clone())
        .unwrap();
    file.close(&[]).unwrap();
    assert_eq!(tshark(&path).0.len(), 2);
}

/// A packet and its input.
struct Arrival {
    time: u64,
    input: usize,
    bytes: Vec<u8>,
}

/// Packets that come to the inputs in bursts of up to `burst`, some of them with the same time stamp. Each has its own bytes.
fn arrivals(numbers: &mut Numbers, inputs: usize, burst: u64) -> Vec<Arrival> {
    const COUNT: u64 = 6000;
    let (mut time, mut input, mut left) = (1, 0, 0);
    let arrival = |number: u64| {
        if left == 0 {
            input = numbers.below(inputs as u64) as usize;
            left = 1 + numbers.below(burst);
        }
        left -= 1;
        time += numbers.below(3);
        let mut bytes = vec![input as u8; 60 + numbers.below(140) as usize];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        Arrival { time, input, bytes }
    };
    (0..COUNT).map(arrival).collect()
}

/// From packets that alternate to chunks that precede all others, in files that get ranges of memory and in files that get
/// copies: the same bytes as written packet by packet in the order of time stamp, input and arrival.
#[test]
fn interleaved_and_bursty_lanes_equal_a_merge_packet_by_packet() {
    let folder = tempfile::tempdir().unwrap();
    let mut numbers = Numbers(3);
    for (round, (burst, inputs)) in [1, 8, 100, 3000]
        .into_iter()
        .flat_map(|burst| [2, 3, 5, 9].map(|inputs| (burst, inputs)))
        .enumerate()
    {
        let packets = arrivals(&mut numbers, inputs, burst);
        let mut sorted: Vec<&Arrival> = packets.iter().collect();
        sorted.sort_by_key(|packet| (packet.time, packet.input));
        for format in [Format::Pcapng, Format::PcapNanos] {
            let create = |kind: &str| {
                let path = folder.path().join(format!("{round}-{kind}"));
                let output = Output::Path(path.clone());
                let mut options = CaptureFileOptions::new(output, vec![ethernet()]);
                options.format = format;
                (CaptureFile::create(options, 0).unwrap(), path)
            };
            let (mut single, expected) = create("single");
            for packet in &sorted {
                single
                    .write(&Packet::new(packet.time, &packet.bytes))
                    .unwrap();
            }
            single.close(&[]).unwrap();
            let (mut file, merged) = create("merged");
            let counts = merge_arrivals(&mut numbers, &packets, inputs, &mut file);
            file.close(&[]).unwrap();
            assert_eq!(counts, (packets.len() as u64, 0, 0));
            let [expected, merged] = [expected, merged].map(|path| std::fs::read(path).unwrap());
            assert!(
                expected == merged,
                "bursts of {burst}, {inputs} inputs, {format:?}"
            );
        }
    }
}

/// Merges `packets`, which inputs hand over in chunks of any size, and after any time. Returns how many were written, late and
/// discarded.
fn merge_arrivals(
    numbers: &mut Numbers,
    packets: &[Arrival],
    inputs: usize,
    file: &mut CaptureFile,
) -> (u64, u64, u64) {
    let encoder = file.chunk_encoder();
    let mut merge = ChunkMerge::new(inputs);
    let chunk_bytes = 4096 << numbers.below(5);
    let new_chunk = || PacketChunk::new(chunk_bytes);
    let mut chunks: Vec<PacketChunk> = (0..inputs).map(|_| new_chunk()).collect();
    // Each input has handed over all packets that are older.
    let mut marks = vec![0; inputs];
    let mut remaining = u64::MAX;
    for Arrival { time, input, bytes } in packets {
        let packet = Packet::new(*time, bytes);
        let has_room = encoder.encode(&packet, &mut chunks[*input]).unwrap();
        // Another input that has waited for long, if there is one.
        let other = (numbers.below(50) == 0).then(|| numbers.below(inputs as u64) as usize);
        let full = (!has_room).then_some(*input);
        for number in full.into_iter().chain(other) {
            merge.add(number, std::mem::replace(&mut chunks[number], new_chunk()));
            marks[number] = *time;
        }
        if !has_room {
            assert!(encoder.encode(&packet, &mut chunks[*input]).unwrap());
        }
        if numbers.below(20) == 0 {
            let before = marks.iter().copied().min().unwrap();
            merge.write_before(before, file, &mut remaining).unwrap();
        }
    }
    for (input, chunk) in chunks.into_iter().enumerate() {
        merge.add(input, chunk);
    }
    merge.write_before(u64::MAX, file, &mut remaining).unwrap();
    assert_eq!(merge.waiting(), 0);
    merge.counts().fold((0, 0, 0), |sum, input| {
        (
            sum.0 + input.written,
            sum.1 + input.late,
            sum.2 + input.discarded,
        )
    })
}

/// Rotation by packets, and the older format: the merged files equal what is written packet by packet.
#[test]
fn merged_files_equal_those_of_a_single_writer() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format, packets) in [
        ("a", Format::Pcapng, None),
        ("b", Format::PcapNanos, None),
        ("c", Format::PcapMicros, NonZeroU64::new(7)),
        ("d", Format::Pcapng, NonZeroU64::new(7)),
    ] {
        let create = |kind: &str| {
            let path = folder.path().join(format!("{name}-{kind}"));
            let mut options = CaptureFileOptions::new(Output::Path(path), vec![ethernet()]);
            options.format = format;
            options.rotation = Rotation {
                packets,
                ..Rotation::default()
            };
            CaptureFile::create(options, 0).unwrap()
        };
        let (mut single, mut merged) = (create("single"), create("merged"));
        let encoder = merged.chunk_encoder();
        let mut merge = ChunkMerge::new(3);
        let mut chunks = [(); 3].map(|()| PacketChunk::new(1 << 16));
        for number in 0..100_u64 {
            let bytes = vec![number as u8; 60 + number as usize];
            single.write(&Packet::new(number, &bytes)).unwrap();
            add(
                &encoder,
                &mut chunks[number as usize * 7 % 3],
                number,
                &bytes,
            );
        }
        for (input, chunk) in chunks.into_iter().enumerate() {
            merge.add(input, chunk);
        }
        merge
            .write_before(u64::MAX, &mut merged, &mut u64::MAX.clone())
            .unwrap();
        single.close(&[]).unwrap();
        merged.close(&[]).unwrap();
        let contents = |file: &CaptureFile| -> Vec<Vec<u8>> {
            file.files()
                .map(|made| std::fs::read(&made.path).unwrap())
                .collect()
        };
        assert_eq!(contents(&single), contents(&merged), "{name}");
    }
}
