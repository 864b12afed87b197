//! Broken files: the reader returns every packet before the damage, and the error has an offset.

use crate::read_support;
use std::io::{Read, Write};

use crate::read_support::build::{LITTLE, frame};
use crate::read_support::{corpus, read_all, stream};
use tapline_store::read::ErrorKind::{Corrupt, Truncated, Unsupported};
use tapline_store::read::{ErrorKind, Item, ReadEnd, ReadError, Reader};

fn first_error(bytes: &[u8]) -> (usize, ReadError) {
    let mut packets = 0;
    let mut reader = match Reader::from_bytes(bytes.to_vec()) {
        Ok(reader) => reader,
        Err(error) => return (0, error),
    };
    loop {
        match reader.next_item() {
            Ok(Some(Item::Packet(_))) => packets += 1,
            Ok(Some(_)) => {}
            Ok(None) => panic!("no error"),
            Err(error) => return (packets, error),
        }
    }
}

/// Section header (28 bytes), interface (20), a packet of 60 bytes (92): 140 bytes.
fn good() -> Vec<u8> {
    let packet = LITTLE.enhanced(0, 1, &frame(1), &[]);
    [LITTLE.section(&[]), LITTLE.interface(1, 0, &[]), packet].concat()
}

#[test]
fn a_file_cut_anywhere_keeps_its_whole_packets() {
    for name in [
        "OSPFv2_Capture_FINAL.pcapng",
        "dcb_pfc.pcap",
        "isis_sr.pcapng",
    ] {
        let path = corpus()
            .into_iter()
            .find(|path| path.ends_with(name))
            .expect("file");
        let bytes = std::fs::read(&path).expect("read");
        let whole = read_all(Reader::from_bytes(bytes.clone()));
        let mut most = 0;
        for cut in 0..bytes.len() {
            let told = read_all(Reader::from_bytes(bytes[..cut].to_vec()));
            assert_eq!(
                told,
                read_all(stream(&bytes[..cut], 100)),
                "{name} cut at {cut}"
            );
            assert_eq!(
                told.packets,
                whole.packets[..told.packets.len()],
                "{name} cut at {cut}"
            );
            assert!(told.packets.len() >= most, "{name} cut at {cut}");
            most = told.packets.len();
            match told.end {
                None => {
                    let error = told.error.expect("an error");
                    let kinds = ["Truncated", "NotACapture"];
                    assert!(
                        kinds.iter().any(|kind| error.contains(kind)),
                        "{cut}: {error}"
                    );
                }
                Some(end) => assert!(
                    matches!(
                        end,
                        ReadEnd::Complete | ReadEnd::Failed(ErrorKind::Truncated)
                    ),
                    "{name} cut at {cut}: {end:?}"
                ),
            }
        }
        assert_eq!(most, whole.packets.len() - 1, "{name}");
    }
}

#[test]
fn a_truncated_compressed_file_keeps_its_complete_packets() {
    let record = |number: u32| LITTLE.record((number, 0), (60, 60), &noise(number));
    let header = LITTLE.pcap_header(0xa1b2_c3d4, (2, 4), 1);
    let bytes = [header, (0..5000).flat_map(record).collect()].concat();
    let whole = read_all(Reader::from_bytes(bytes.clone()));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&bytes).expect("write");
    // zstd can be decoded by blocks of at most 128 KiB, gzip to the byte.
    for (compressed, unseen) in [
        (gzip.finish().expect("finish"), 200),
        (zstd::encode_all(&bytes[..], 1).expect("encode"), 128 << 10),
    ] {
        for cut in (1..compressed.len())
            .step_by(997)
            .chain(compressed.len() - 30..compressed.len())
        {
            let told = read_all(Reader::from_bytes(compressed[..cut].to_vec()));
            let error = told
                .error
                .as_deref()
                .unwrap_or_else(|| panic!("no error at {cut}"));
            if told.packets.is_empty() && told.end.is_none() {
                continue;
            }
            assert!(error.contains("Truncated"), "{cut}: {error}");
            assert_eq!(told.packets, whole.packets[..told.packets.len()]);
            // As many as the cut allows: what is kept of the input, at this ratio, less what a
            // decompressor cannot give out yet.
            let kept = bytes.len() * cut / compressed.len();
            assert!(
                (told.packets.len() + 40) * 76 + unseen >= kept,
                "{cut}: {}",
                told.packets.len()
            );
        }
    }
}

/// An incompressible packet.
fn noise(seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let octets = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    octets.take(60).collect()
}

#[test]
fn a_damaged_compressed_file_keeps_what_was_before() {
    let record = |number: u32| LITTLE.record((number, 0), (60, 60), &noise(number));
    let header = LITTLE.pcap_header(0xa1b2_c3d4, (2, 4), 1);
    let bytes = [header, (0..20_000).flat_map(record).collect()].concat();
    let mut compressed = zstd::encode_all(&bytes[..], 1).expect("encode");
    let whole = compressed.len() / 4 * 3;
    compressed[whole..].fill(0xff);
    let (packets, error) = first_error(&compressed);
    assert_eq!(error.kind, ErrorKind::Corrupt, "{error}");
    // A zstd block has at most 128 KiB.
    let least = (bytes.len() / 4 * 3 - (132 << 10)) / 76;
    assert!(packets >= least, "{packets} of at least {least}");
}

#[test]
fn what_the_fuzzer_found_is_refused_in_every_way() {
    for path in read_support::regressions() {
        let bytes = std::fs::read(&path).expect("read");
        for reader in [
            Reader::from_bytes(bytes.clone()),
            stream(&bytes, 5),
            Reader::open(&path),
        ] {
            assert!(read_all(reader).error.is_some(), "{}", path.display());
        }
    }
}

#[test]
fn what_is_no_capture_is_refused_as_such() {
    for (bytes, reason) in [
        (&b""[..], "the input is empty"),
        (b"\x0a\x0d", "the input is shorter than a magic number"),
        (
            b"hello, world; this is no capture",
            "the first four bytes match no known format (pcap, pcapng, gzip, zstd)",
        ),
        (
            &[0; 100],
            "the first four bytes match no known format (pcap, pcapng, gzip, zstd)",
        ),
    ] {
        let (_, error) = first_error(bytes);
        assert_eq!((error.kind, error.reason), (ErrorKind::NotACapture, reason));
        assert_eq!(error.to_string(), format!("not a capture file: {reason}"));
    }
    let missing = Reader::open("/nonexistent/file".as_ref())
        .err()
        .expect("no such file");
    let source = missing.source.expect("the system's answer");
    assert_eq!(
        (missing.kind, source.kind()),
        (ErrorKind::Io, std::io::ErrorKind::NotFound)
    );
    assert!(Reader::open("/".as_ref()).is_err_and(|error| error.kind == ErrorKind::Io));
}

/// A file, the packets before its error, and the error's kind, field, block and offset.
type Case = (Vec<u8>, usize, ErrorKind, Option<&'static str>, u64, u64);

/// Checks the packets before the first error of each file, and the error's offset.
fn assert_located(cases: &[Case]) {
    for (bytes, packets, kind, field, block, offset) in cases {
        let (before, error) = first_error(bytes);
        let place = (before, error.kind, error.field, error.block, error.offset);
        assert_eq!(place, (*packets, *kind, *field, *block, *offset), "{error}");
    }
}

/// A file with two packets and one replaced word.
fn patched(at: usize, word: u32) -> Vec<u8> {
    let mut bytes = [good(), LITTLE.enhanced(0, 2, &frame(2), &[])].concat();
    bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    bytes
}

#[test]
fn every_damage_of_pcapng_is_located() {
    let length = Some("total length");
    assert_located(&[
        (
            patched(8, 0x1234_5678),
            0,
            Corrupt,
            Some("byte-order magic"),
            1,
            0,
        ),
        (patched(12, 2), 0, Unsupported, None, 1, 0),
        (patched(32, 8), 0, Corrupt, length, 2, 28),
        (patched(32, 0xffff_fff0), 0, Unsupported, None, 2, 28),
        (patched(44, 24), 0, Corrupt, length, 2, 28),
        (patched(148, 1), 1, Corrupt, Some("interface"), 4, 140),
        (patched(160, 61), 1, Corrupt, Some("packet"), 4, 140),
        (
            patched(160, 300_000),
            1,
            Corrupt,
            Some("captured length"),
            4,
            140,
        ),
        (patched(144, 96), 1, Truncated, None, 4, 140),
    ]);
    let with = |tail: &[u8]| [&good(), tail].concat();
    let overrun = [LITTLE.u16(2), LITTLE.u16(400)].concat();
    let undescribed = [LITTLE.section(&[]), LITTLE.simple(60, &frame(1))].concat();
    assert_located(&[
        (with(&[0; 32]), 1, Corrupt, length, 4, 140),
        (with(&[0; 8]), 1, Corrupt, length, 4, 140),
        (with(&[0; 3]), 1, Truncated, None, 4, 140),
        (
            with(&LITTLE.enhanced(0, 2, &frame(2), &overrun)),
            1,
            Corrupt,
            Some("option"),
            4,
            140,
        ),
        (
            with(&LITTLE.statistics(0, 2, &overrun)),
            1,
            Corrupt,
            Some("option"),
            4,
            140,
        ),
        (
            with(&LITTLE.block(5, &[0; 4])),
            1,
            Corrupt,
            Some("fixed part"),
            4,
            140,
        ),
        (
            with(&LITTLE.block(6, &[0; 16])),
            1,
            Corrupt,
            Some("fixed part"),
            4,
            140,
        ),
        (
            with(&LITTLE.simple(600, &frame(1))),
            1,
            Corrupt,
            Some("packet"),
            4,
            140,
        ),
        (with(&undescribed), 1, Corrupt, Some("interface"), 5, 168),
    ]);
    let (_, error) = first_error(&patched(160, 61));
    let line = "corrupt enhanced packet block (block 4 at byte 140): packet does not fit in its \
                block, 61 bytes needed, 60 available";
    assert_eq!(error.to_string(), line);
}

#[test]
fn every_damage_of_pcap_is_located() {
    let header = LITTLE.pcap_header(0xa1b2_c3d4, (2, 4), 1);
    let record = LITTLE.record((1, 1), (60, 60), &frame(1));
    let huge = LITTLE.record((1, 1), (262_145, 262_145), &[]);
    let old = LITTLE.pcap_header(0xa1b2_c3d4, (1, 0), 1);
    let reserved = LITTLE.pcap_header(0xa1b2_c3d4, (2, 4), 0x3001_0001);
    let with = |tail: &[u8]| [&header, &record, tail].concat();
    assert_located(&[
        (header[..20].to_vec(), 0, Truncated, None, 0, 0),
        (old, 0, Unsupported, None, 0, 0),
        (reserved, 0, Unsupported, None, 0, 0),
        (with(&huge), 1, Corrupt, Some("captured length"), 2, 100),
        (with(&record[..15]), 1, Truncated, None, 2, 100),
        (with(&record[..75]), 1, Truncated, None, 2, 100),
    ]);
}

#[test]
fn a_read_error_is_distinguished_from_the_end_of_a_stream() {
    struct Fails(std::io::Cursor<Vec<u8>>);
    impl Read for Fails {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(into)? {
                0 => Err(std::io::Error::from_raw_os_error(5)),
                bytes => Ok(bytes),
            }
        }
    }
    let mut reader = Reader::from_stream(Fails(std::io::Cursor::new(good()))).expect("a section");
    assert!(reader.next_packet().expect("read").is_some());
    let error = reader.next_packet().expect_err("fails");
    assert_eq!(
        (error.kind, error.block, error.offset),
        (ErrorKind::Io, 4, 140)
    );
    assert_eq!(
        error.source.and_then(|source| source.raw_os_error()),
        Some(5)
    );
    assert_eq!(reader.end(), Some(ReadEnd::Failed(ErrorKind::Io)));
}

/// After a truncation, the reader returns the packets in its buffer and then an error, even if the file ends at a
/// record boundary.
#[test]
fn a_file_truncated_while_it_is_read_gives_an_error() {
    let record = LITTLE.record((1, 1), (60, 60), &frame(1));
    let file = [
        LITTLE.pcap_header(0xa1b2_c3d4, (2, 4), 1),
        record.repeat(20_000),
    ]
    .concat();
    for length in [24, 24 + 76 * 5000, 24 + 76 * 5000 + 30, 0] {
        let mut copy = tempfile::NamedTempFile::new().expect("a file");
        copy.write_all(&file).expect("written");
        let mut reader = Reader::open(copy.path()).expect("a capture");
        assert!(reader.next_packet().expect("read").is_some());
        copy.as_file().set_len(length).expect("truncated");
        let mut packets = 1;
        let error = loop {
            match reader.next_packet() {
                Ok(Some(packet)) => assert_eq!(packet.bytes, frame(1)),
                Ok(None) => panic!("no error at {length}"),
                Err(error) => break error,
            }
            packets += 1;
        };
        assert_eq!(error.kind, Truncated, "{error}");
        assert!(
            error
                .to_string()
                .ends_with("the file was shortened while it was read"),
            "{error}"
        );
        assert!(
            packets >= length / 76 && packets < 20_000,
            "{packets} of {length}"
        );
    }
}

#[test]
fn interfaces_are_bounded() {
    let interface = LITTLE.interface(1, 0, &[]);
    let bytes = [
        LITTLE.section(&[]),
        interface.repeat(tapline_store::read::INTERFACES_MAX + 1),
    ]
    .concat();
    let (_, error) = first_error(&bytes);
    assert_eq!((error.kind, error.block), (ErrorKind::Unsupported, 65_538));
}

#[test]
fn descriptions_of_interfaces_are_bounded() {
    let interface = LITTLE.interface(1, 0, &LITTLE.option(1, &vec![b'x'; 60_000]));
    // Without type and lengths.
    let fitting = tapline_store::read::INTERFACES_BYTES_MAX / (interface.len() - 12);
    let bytes = [LITTLE.section(&[]), interface.repeat(fitting + 1)].concat();
    let (_, error) = first_error(&bytes);
    let block = fitting as u64 + 2;
    assert_eq!((error.kind, error.block), (ErrorKind::Unsupported, block));
}
