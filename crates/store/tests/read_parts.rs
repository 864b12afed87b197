//! Parts, read side by side and proven one by the other, give what reading in order gives.

mod read_support;

use std::io::Write;
use std::path::Path;

use proptest::prelude::*;
use read_support::{corpus, describe, made, regressions};
use tapline_store::model::Packet;
use tapline_store::read::{Item, Mark, Part, Parts, ReadError, Reader};

/// Everything a reader tells, and the error with its place.
#[derive(Debug, Default, PartialEq)]
struct Told {
    items: Vec<String>,
    error: Option<String>,
}

fn told_packet(packet: &Packet<'_>) -> String {
    format!("{packet:?}")
}

/// Reads on to `bound`; `false` if there is no more.
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

/// The packets of the parts between `bounds`.
fn walk(parts: &Parts, bounds: &[u64]) -> Vec<(Part, Vec<String>)> {
    let mut packets = vec![Vec::new(); bounds.len() - 1];
    let walked = parts.walk(bounds, |part, _, packet| {
        packets[part].push(told_packet(packet));
    });
    walked.into_iter().zip(packets).collect()
}

/// Reads in parts of so many bytes, `in_turn` of them at a time; counts the parts that were guessed
/// right.
fn in_parts(path: &Path, part_bytes: u64, in_turn: usize) -> Option<(Told, u32)> {
    let mut reader = Reader::open(path).ok()?;
    let mut told = Told::default();
    let mut proven = 0;
    if !read_alone(&mut reader, part_bytes, &mut told) {
        return Some((told, 0));
    }
    let Some(mut parts) = reader.parts() else {
        read_alone(&mut reader, u64::MAX, &mut told);
        return Some((told, 0));
    };
    while reader.offset() < parts.bytes() {
        let mut bounds = vec![reader.offset()];
        while bounds.len() <= in_turn && bounds.last() < Some(&parts.bytes()) {
            let next = (bounds[bounds.len() - 1] / part_bytes + 1) * part_bytes;
            bounds.push(next.min(parts.bytes()));
        }
        for ((mut part, mut packets), bound) in walk(&parts, &bounds).into_iter().zip(&bounds[1..])
        {
            let Mark { offset, blocks } = reader.mark();
            if offset >= *bound {
                continue;
            }
            if part.start == offset {
                proven += 1;
            } else {
                packets.clear();
                part = parts.walk_from(offset, *bound, |_, packet| {
                    packets.push(told_packet(packet));
                });
            }
            assert_eq!(part.start, offset);
            assert_eq!(part.packets, packets.len() as u64);
            assert!(part.is_cut || part.end >= *bound);
            told.items.append(&mut packets);
            let blocks = blocks + part.blocks;
            reader.return_to(Mark {
                offset: part.end,
                blocks,
            });
            if part.is_cut {
                let known = reader.interfaces().len();
                if !read_alone(&mut reader, *bound, &mut told) {
                    return Some((told, proven));
                }
                if reader.interfaces().len() != known {
                    break;
                }
            }
        }
        parts = reader.parts()?;
    }
    read_alone(&mut reader, u64::MAX, &mut told);
    Some((told, proven))
}

fn assert_same(path: &Path, part_bytes: u64, in_turn: usize) -> u32 {
    let Some((told, proven)) = in_parts(path, part_bytes, in_turn) else {
        assert!(Reader::open(path).is_err());
        return 0;
    };
    assert_eq!(
        Some(told),
        in_order(path),
        "{} in {part_bytes}",
        path.display()
    );
    proven
}

#[test]
fn every_file_reads_the_same_in_parts_of_any_size() {
    let mut proven = 0;
    for path in [corpus(), made(), regressions()].concat() {
        for part_bytes in [1, 7, 60, 256, 1000, 4096, 65_536] {
            proven += assert_same(&path, part_bytes, 4);
        }
    }
    assert!(proven > 10_000, "the beginnings are found: {proven}");
}

#[test]
fn a_place_found_leads_to_its_packet() {
    for path in [made(), corpus()].concat() {
        let Ok(mut reader) = Reader::open(&path) else {
            continue;
        };
        let mut told = Told::default();
        let known = |reader: &Reader| reader.interfaces().len();
        read_alone(&mut reader, 2, &mut told);
        let (Some(parts), interfaces) = (reader.parts(), known(&reader)) else {
            continue;
        };
        let mut found = Vec::new();
        parts.walk_from(reader.offset(), u64::MAX, |spot, packet| {
            found.push((spot.offset, told_packet(packet)));
        });
        for (offset, expected) in found {
            reader.return_to(Mark { offset, blocks: 1 });
            match reader.next_item() {
                Ok(Some(Item::Packet(packet))) => assert_eq!(told_packet(&packet), expected),
                other => panic!("{path:?}: {other:?}"),
            }
        }
        assert_eq!(known(&reader), interfaces);
    }
}

/// Packets whose payload is a capture: places in it look like beginnings.
#[test]
fn a_capture_within_a_capture_misleads_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("nested.pcapng");
    let inner = std::fs::read(&made()[2]).expect("a file");
    for copies in [1, 3, 50] {
        let payload = inner.repeat(copies);
        let interface = tapline_store::model::Interface::new(tapline_store::model::LinkType(1), 0);
        let output = tapline_store::write::Output::Path(path.clone());
        let options = tapline_store::write::Options::new(output, vec![interface]);
        let mut file = tapline_store::write::CaptureFile::create(options, 0).expect("made");
        for time in 0..40 {
            file.write(&Packet::new(time, &payload)).expect("written");
        }
        file.close(&[]).expect("closed");
        for part_bytes in [64, 300, 5000, 100_000] {
            assert_same(&path, part_bytes, 3);
        }
    }
}

#[test]
fn streams_and_compressed_files_have_no_parts() {
    let none = |reader: Result<Reader, ReadError>| reader.expect("a capture").parts().is_none();
    let path = made()
        .into_iter()
        .find(|path| path.ends_with("sections.pcapng.zst"));
    assert!(none(Reader::open(&path.expect("the file"))));
    let bytes = std::fs::read(&made()[0]).expect("a file");
    assert!(none(Reader::from_stream(std::io::Cursor::new(bytes))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Damage, wherever it is, is found at the same place with the same packets before it.
    #[test]
    fn damaged_files_read_the_same_in_parts(
        file in 0_usize..40,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
        part_bytes in 1_u64..3000,
        in_turn in 1_usize..9,
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
        assert_same(copy.path(), part_bytes, in_turn);
    }
}
