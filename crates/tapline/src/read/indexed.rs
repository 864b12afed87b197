//! Reading only those parts of a capture file that may have selected packets, as its index says.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use filter::RequiredKeys;
use store::index::{Extent, Index, IndexError, Key};

/// How much of the inputs was read because of their indexes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexUse {
    /// Bytes of all inputs.
    pub bytes: u64,
    /// Bytes that may have selected packets, and were to be read.
    pub selected_bytes: u64,
    /// Bytes of the indexes.
    pub index_bytes: u64,
    /// Inputs without an index, which were read as a whole.
    pub without_index: usize,
    /// Inputs that were not read, since no packet in them can be selected.
    pub skipped: usize,
}

/// The search of an index: keys and times that every selected packet has.
#[derive(Debug)]
pub(super) struct IndexQuery {
    pub required: RequiredKeys,
    pub times: Option<Range<u64>>,
}

/// The parts of a file to read.
pub(super) struct Parts {
    ranges: VecDeque<Range<u64>>,
    /// Whether a packet may be in them.
    pub has_packets: bool,
}

impl IndexQuery {
    /// The parts of `file` at `path`. `None` if it has no index.
    pub(super) fn parts(
        &self,
        file: &File,
        path: &Path,
        used: &mut IndexUse,
    ) -> Result<Option<Parts>, IndexError> {
        let mut parts = Parts {
            ranges: VecDeque::new(),
            has_packets: false,
        };
        let lengths = Index::each_extent_of(file, path, |extent| {
            let is_other = extent.packets == 0;
            if is_other || self.may_select(&extent) {
                parts.has_packets |= !is_other;
                parts.add(extent.offset..extent.offset + extent.bytes);
            }
        })?;
        // Afterwards: a file that is being written has at least what its index describes.
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        used.bytes += length;
        let Some(lengths) = lengths else {
            used.without_index += 1;
            used.selected_bytes += length;
            return Ok(None);
        };
        // What was appended since.
        parts.has_packets |= length > lengths.capture_bytes;
        parts.add(lengths.capture_bytes..length);
        used.index_bytes += lengths.index_bytes;
        Ok(Some(parts))
    }

    fn may_select(&self, extent: &Extent) -> bool {
        let [first, last] = extent.times_ns;
        let is_in_time =
            (self.times.as_ref()).is_none_or(|times| first < times.end && last >= times.start);
        is_in_time && may_have(extent, &self.required)
    }
}

/// Whether a packet of the extent may have the required keys.
fn may_have(extent: &Extent, required: &RequiredKeys) -> bool {
    match required {
        RequiredKeys::Address(address) => extent.may_have(Key::Address(*address)),
        RequiredKeys::Port(port) => extent.may_have(Key::Port(*port)),
        RequiredKeys::Any(list) => list.iter().any(|required| may_have(extent, required)),
        RequiredKeys::All(list) => {
            let flow = flow(list);
            flow.is_none_or(|flow| extent.may_have(flow))
                && list.iter().all(|required| may_have(extent, required))
        }
        _ => true,
    }
}

/// Two addresses and two ports that one packet must have are those of its flow: it has no more.
fn flow(list: &[RequiredKeys]) -> Option<Key> {
    let mut addresses: Vec<IpAddr> = Vec::new();
    let mut ports: Vec<u16> = Vec::new();
    for required in list {
        match required {
            RequiredKeys::Address(address) if !addresses.contains(address) => {
                addresses.push(*address);
            }
            RequiredKeys::Port(port) if !ports.contains(port) => ports.push(*port),
            _ => {}
        }
    }
    match (addresses[..].try_into(), ports[..].try_into()) {
        (Ok(addresses), Ok(ports)) => Some(Key::Flow(addresses, ports)),
        _ => None,
    }
}

impl Parts {
    fn add(&mut self, range: Range<u64>) {
        match self.ranges.back_mut() {
            _ if range.is_empty() => {}
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.ranges.push_back(range),
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.ranges
            .iter()
            .map(|range| range.end - range.start)
            .sum()
    }

    pub(super) fn of(self, file: File) -> PartsReader {
        PartsReader {
            file,
            ranges: self.ranges,
        }
    }
}

/// Reads the parts of a file one after another.
pub(super) struct PartsReader {
    file: File,
    ranges: VecDeque<Range<u64>>,
}

impl Read for PartsReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(range) = self.ranges.front_mut() else {
            return Ok(0);
        };
        let most = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let most = most.min(into.len());
        let bytes = self.file.read_at(&mut into[..most], range.start)?;
        if bytes == 0 && most > 0 {
            let reason = "the file was shortened while it was read";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, reason));
        }
        range.start += bytes as u64;
        if range.is_empty() {
            self.ranges.pop_front();
        }
        Ok(bytes)
    }
}
