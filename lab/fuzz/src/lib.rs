//! What the fuzz targets do with their bytes.
//!
//! The seeds are the files of `lab/corpus`. In `lab`, with a nightly toolchain and cargo-fuzz:
//!
//! ```text
//! mkdir -p fuzz/corpus/read
//! cargo +nightly fuzz run read fuzz/corpus/read corpus/captures corpus/made -- -max_len=6000
//! ```
//!
//! and so for the targets `read_stream` and `merge`.
//!
//! Targets whose inputs have a structure mutate it ([`mutated`]), every other time; the fuzzer's own mutations use the words of
//! `dictionaries`.

#![forbid(unsafe_code)]

use std::io::{self, Cursor, Read};

use store::block::{ByteOrder, Options, kind};
use store::read::{Item, Merge, ReadError, Reader};
use tapline_lab::mutate::Plain;
use tapline_lab::oracle::Random;

/// A mutator of [`tapline_lab::mutate`].
pub type Mutator = fn(&mut Random, &[u8], Plain<'_>) -> Vec<u8>;

/// Mutates the first `size` of `data` for `fuzz_mutator!`, at most to `max_size`, and returns how many there are then: every other
/// time by `mutator`, behind the first `prefix` bytes, which choose what is done with the rest.
pub fn mutated(
    data: &mut [u8],
    (size, max_size): (usize, usize),
    seed: u32,
    prefix: usize,
    mutator: Mutator,
) -> usize {
    let mut random = Random::new(seed.into());
    if size <= prefix || random.one_in(2) {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    let mut plain = |bytes: &mut Vec<u8>, most: usize| {
        let size = bytes.len();
        bytes.resize(most.max(size).max(1), 0);
        let most = bytes.len();
        let size = libfuzzer_sys::fuzzer_mutate(bytes, size, most);
        bytes.truncate(size);
    };
    let changed = mutator(&mut random, &data[prefix..size], &mut plain);
    let end = prefix + changed.len();
    if end > max_size.min(data.len()) {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    data[prefix..end].copy_from_slice(&changed);
    end
}

/// What a reader gave.
#[derive(Debug, Default)]
pub struct Sum {
    /// Packets.
    pub packets: u64,
    /// Captured bytes of the packets.
    pub bytes: u64,
    /// Interfaces and statistics.
    pub others: u64,
    /// What ended the reading before its end.
    pub error: Option<ReadError>,
}

/// Reads to the end and adds up what was given.
///
/// # Panics
/// If more bytes are given than went in, or an interface is used before it was described.
pub fn read(reader: Result<Reader, ReadError>) -> Sum {
    let mut sum = Sum::default();
    let mut reader = match reader {
        Ok(reader) => reader,
        Err(error) => {
            return Sum {
                error: Some(error),
                ..sum
            };
        }
    };
    loop {
        match reader.next_item() {
            Ok(Some(Item::Packet(packet))) => {
                sum.packets += 1;
                sum.bytes += packet.bytes.len() as u64;
                let interface = packet.interface as usize;
                convert(packet.options, kind::PACKET);
                assert!(interface < reader.interfaces().len());
                assert!(sum.bytes <= reader.offset());
            }
            Ok(Some(Item::Block(block))) => {
                sum.others += 1;
                let encoded = block.encode();
                assert_eq!(encoded.len(), 12 + block.body.len());
                assert_eq!(encoded.len() % 4, 0);
            }
            Ok(Some(Item::Interface { options, .. })) => {
                sum.others += 1;
                convert(options, kind::INTERFACE);
            }
            Ok(Some(_)) => sum.others += 1,
            Ok(None) => return sum,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                return Sum {
                    error: Some(error),
                    ..sum
                };
            }
        }
    }
}

/// Converts options to the byte order of this machine.
///
/// # Panics
/// If there are other options afterwards.
fn convert(options: Options<'_>, block: u32) {
    let mut bytes = Vec::new();
    options.append_to(block, &mut bytes);
    let order = ByteOrder::NATIVE;
    let converted = Options::parse(&bytes, order);
    let codes = |options: Options<'_>| {
        options
            .into_iter()
            .map(|option| option.code)
            .collect::<Vec<_>>()
    };
    assert_eq!(codes(converted), codes(options));
}

/// Reads the same bytes from memory and from a stream that gives a few at a time.
///
/// # Panics
/// If the two differ, but for a damaged compression, which gives out more or less before the damage.
pub fn read_both_ways(input: &[u8]) {
    let Some((&chunk, capture)) = input.split_first() else {
        return;
    };
    let stream = Trickle {
        from: Cursor::new(capture.to_vec()),
        chunk: usize::from(chunk) + 1,
    };
    let sums = [
        Reader::from_bytes(capture.to_vec()),
        Reader::from_stream(stream),
    ]
    .map(read);
    let [whole, parts] = &sums;
    if sums.iter().any(|sum| {
        sum.error
            .as_ref()
            .is_some_and(|error| error.source.is_some())
    }) {
        assert!(whole.error.is_some() && parts.error.is_some());
        return;
    }
    assert_eq!(format!("{whole:?}"), format!("{parts:?}"));
}

/// Merges the input's two halves.
///
/// # Panics
/// If the merge gives more or fewer packets than its inputs.
pub fn merge(input: &[u8]) {
    let halves = input.split_at(input.len() / 2);
    let readers = || {
        let captures = [halves.0, halves.1, halves.0];
        captures
            .into_iter()
            .filter_map(|half| Reader::from_bytes(half.to_vec()).ok())
    };
    let apart: u64 = readers().map(|reader| read(Ok(reader)).packets).sum();
    let mut merge = Merge::new(readers().collect());
    let mut together = 0;
    loop {
        match merge.next_item() {
            Ok(Some(Item::Packet(packet))) => {
                together += 1;
                let interface = packet.interface as usize;
                assert!(interface < merge.interfaces().len());
            }
            Ok(Some(_)) | Err(_) => {}
            Ok(None) => break,
        }
    }
    assert_eq!(together, apart);
}

struct Trickle {
    from: Cursor<Vec<u8>>,
    chunk: usize,
}

impl Read for Trickle {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = into.len().min(self.chunk);
        self.from.read(&mut into[..bytes])
    }
}
