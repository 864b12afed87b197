//! Parts of a file, scanned in parallel, give the same result as reading in order.

use std::convert::Infallible;
use std::io::Write;
use std::path::Path;

use crate::read_support::{corpus, describe, made, regressions};
use proptest::prelude::*;
use tapline_store::model::Packet;
use tapline_store::read::{Item, PacketBlock, Part, Position, ReadError, Reader};

/// Everything a reader returns, and its error.
#[derive(Debug, Default, PartialEq)]
struct Told {
    items: Vec<String>,
    error: Option<String>,
}

fn told_packet(packet: &Packet<'_>) -> String {
    format!("{packet:?}")
}

/// Reads up to `bound`. Returns `false` at the end.
fn read_alone(reader: &mut Reader, bound: u64, told: &mut Told) -> bool {
    while reader.offset() < bound {
        match reader.next_item() {
            Ok(Some(Item::Packet(packet))) => told.items.push(told_packet(&packet)),
            Ok(Some(other)) => told.items.push(format!("{other:?}")),
            Ok(None) => return false,
            Err(error) => {
                told.error = Some(describe(error));
                return false;
            }
        }
    }
    true
}

fn in_order(path: &Path) -> Option<Told> {
    let mut told = Told::default();
    read_alone(&mut Reader::open(path).ok()?, u64::MAX, &mut told);
    Some(told)
}

/// Returns the packets of a part. Also decodes them from copies of their blocks.
fn scan(
    reader: &Reader,
    scan: impl FnOnce(&mut dyn FnMut(&Packet<'_>, PacketBlock<'_>)) -> Part,
) -> (Part, Vec<String>) {
    let (mut packets, mut blocks) = (Vec::new(), Vec::new());
    let part = scan(&mut |packet, block| {
        packets.push(told_packet(packet));
        blocks.extend_from_slice(block.bytes);
    });
    assert_eq!(part.packets, packets.len() as u64);
    let mut decoder = reader.block_decoder();
    decoder.load(blocks);
    for packet in &packets {
        let decoded = decoder.next_packet().expect("a packet");
        assert_eq!(told_packet(&decoded), *packet);
    }
    (part, packets)
}

/// Reads in parts of `part_bytes`. Also returns the number of parts whose start was guessed correctly.
fn in_parts(path: &Path, part_bytes: u64) -> Option<(Told, u32)> {
    let mut reader = Reader::open(path).ok()?;
    let mut told = Told::default();
    let mut confirmed = 0;
    if !read_alone(&mut reader, part_bytes, &mut told) {
        return Some((told, 0));
    }
    let Some(mut scanner) = reader.part_scanner() else {
        read_alone(&mut reader, u64::MAX, &mut told);
        return Some((told, 0));
    };
    let mut from = reader.offset();
    while from < scanner.file_bytes() {
        let bound = ((from / part_bytes + 1) * part_bytes).min(scanner.file_bytes());
        let (mut part, mut packets) = scan(&reader, |see| scanner.scan(from..bound, see));
        from = bound;
        let Position { offset, blocks } = reader.position();
        if offset >= bound {
            continue;
        }
        if part.start == offset {
            confirmed += 1;
        } else {
            (part, packets) = scan(&reader, |see| scanner.scan_from(offset, bound, see));
        }
        assert_eq!(part.start, offset);
        assert!(part.is_cut || part.end >= bound);
        told.items.append(&mut packets);
        let blocks = blocks + part.blocks;
        reader.seek(Position {
            offset: part.end,
            blocks,
        });
        if part.is_cut {
            let known = reader.interfaces().len();
            if !read_alone(&mut reader, bound, &mut told) {
                return Some((told, confirmed));
            }
            if reader.interfaces().len() != known {
                scanner = reader.part_scanner()?;
            }
        }
    }
    read_alone(&mut reader, u64::MAX, &mut told);
    Some((told, confirmed))
}

/// Takes packets from the buffer, at most `most` at a time, and reads everything else.
fn in_runs(path: &Path, most: u64) -> Option<Told> {
    let mut reader = Reader::open(path).ok()?;
    let mut told = Told::default();
    loop {
        let mut left = most;
        let items = &mut told.items;
        let taken = reader.take_buffered(|packet| {
            items.push(told_packet(packet));
            left -= 1;
            Ok::<_, Infallible>(left > 0)
        });
        let Ok(taken) = taken;
        assert_eq!(taken, most - left);
        // The next block or record, whatever it is.
        let next = reader.offset() + 1;
        if taken == 0 && !read_alone(&mut reader, next, &mut told) {
            return Some(told);
        }
    }
}

#[test]
fn packets_are_the_same_when_taken_from_the_buffer() {
    for path in [corpus(), made(), regressions()].concat() {
        for most in [1, 3, u64::MAX] {
            assert_eq!(in_runs(&path, most), in_order(&path), "{}", path.display());
        }
    }
}

fn assert_same(path: &Path, part_bytes: u64) -> u32 {
    let Some((told, confirmed)) = in_parts(path, part_bytes) else {
        assert!(Reader::open(path).is_err());
        return 0;
    };
    assert_eq!(
        Some(told),
        in_order(path),
        "{} in {part_bytes}",
        path.display()
    );
    confirmed
}

#[test]
fn every_file_reads_the_same_in_parts_of_any_size() {
    let mut confirmed = 0;
    for path in [corpus(), made(), regressions()].concat() {
        for part_bytes in [1, 7, 60, 256, 1000, 4096, 65_536] {
            confirmed += assert_same(&path, part_bytes);
        }
    }
    assert!(
        confirmed > 10_000,
        "too few starts are guessed: {confirmed}"
    );
}

#[test]
fn the_reader_continues_at_every_scanned_block() {
    for path in [made(), corpus()].concat() {
        let Ok(mut reader) = Reader::open(&path) else {
            continue;
        };
        let mut told = Told::default();
        let known = |reader: &Reader| reader.interfaces().len();
        read_alone(&mut reader, 2, &mut told);
        let (Some(mut scanner), interfaces) = (reader.part_scanner(), known(&reader)) else {
            continue;
        };
        let mut found = Vec::new();
        let mut offset = reader.offset();
        // Blocks without packets lie between the packets of some files.
        loop {
            let mut last = None;
            let part = scanner.scan_from(offset, offset + 1, |packet, _| {
                last = Some(told_packet(packet));
            });
            if part.is_cut {
                break;
            }
            found.extend(last.map(|packet| (offset, packet)));
            offset = part.end;
        }
        for (offset, expected) in found {
            reader.seek(Position { offset, blocks: 1 });
            match reader.next_item() {
                Ok(Some(Item::Packet(packet))) => assert_eq!(told_packet(&packet), expected),
                other => panic!("{path:?}: {other:?}"),
            }
        }
        assert_eq!(known(&reader), interfaces);
    }
}

/// Packets whose payload is a capture, so that offsets in it look like block starts.
#[test]
fn a_capture_inside_packets_is_not_mistaken_for_blocks() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("nested.pcapng");
    let inner = std::fs::read(&made()[2]).expect("a file");
    for copies in [1, 3, 50] {
        let payload = inner.repeat(copies);
        let interface = tapline_store::model::Interface::new(tapline_store::model::LinkType(1), 0);
        let output = tapline_store::write::Output::Path(path.clone());
        let options = tapline_store::write::CaptureFileOptions::new(output, vec![interface]);
        let mut file = tapline_store::write::CaptureFile::create(options, 0).expect("made");
        for time in 0..40 {
            file.write(&Packet::new(time, &payload)).expect("written");
        }
        file.close(&[]).expect("closed");
        for part_bytes in [64, 300, 5000, 100_000] {
            assert_same(&path, part_bytes);
        }
    }
}

#[test]
fn streams_and_compressed_files_have_no_part_scanner() {
    let none =
        |reader: Result<Reader, ReadError>| reader.expect("a capture").part_scanner().is_none();
    let path = made()
        .into_iter()
        .find(|path| path.ends_with("sections.pcapng.zst"));
    assert!(none(Reader::open(&path.expect("the file"))));
    let bytes = std::fs::read(&made()[0]).expect("a file");
    assert!(none(Reader::from_stream(std::io::Cursor::new(bytes))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Corruption is reported at the same offset, after the same packets.
    #[test]
    fn damaged_files_read_the_same_in_parts(
        file in 0_usize..40,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
        part_bytes in 1_u64..3000,
    ) {
        let files = [made(), corpus()].concat();
        let mut bytes = std::fs::read(&files[file]).expect("a file");
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()).max(1));
        }
        let mut copy = tempfile::NamedTempFile::new().expect("a file");
        copy.write_all(&bytes).expect("written");
        assert_same(copy.path(), part_bytes);
    }
}
