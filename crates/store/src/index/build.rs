//! Indexing a capture file.

use std::collections::HashSet;
use std::fs::File;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::fuse::{self, Fuse};
use super::keys::{Key, Keys};
use super::layout::{
    ADDRESSES, EXTENT_BYTES, Extent, FIXED_BYTES, FLOWS, Index, IndexDamage, PORTS, SET_BYTES, crc,
};
use crate::output::OpenOutput;
use crate::read::{DetectedCompression, Item, ReadError, Reader};

/// An extent with this many bytes ends as soon as its keys fit.
const EXTENT_BYTES_MIN: u64 = 4 << 20;

/// An extent of this size ends, whether its keys fit or not.
const EXTENT_BYTES_MAX: u64 = 32 << 20;

/// An index takes at most one byte for so many bytes of the capture: 0.25 %.
const BYTES_PER_INDEX_BYTE: u64 = 400;

/// A small index may be larger.
const SMALL_BYTES: u64 = 4 << 10;

/// More keys of one class would not fit.
const KEYS_MAX: usize = (EXTENT_BYTES_MAX / BYTES_PER_INDEX_BYTE) as usize + SMALL_BYTES as usize;

/// Packets of these many flows in a row are recognised without a look at the sets.
const RECENT: usize = 1024;

/// Bytes at the beginning and at the end that tell a capture from another.
const FINGERPRINT_BYTES: usize = 4 << 10;

/// Longest index that is read: of 1.6 TB.
const INDEX_BYTES_MAX: u64 = 4 << 30;

/// Why a capture cannot be indexed, or its index not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The capture cannot be read.
    #[error("cannot read the capture")]
    Capture(#[from] ReadError),
    /// A system call on the index or on the capture failed.
    #[error("cannot access {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The index cannot be used.
    #[error("cannot use {}: {damage}; index the capture again", path.display())]
    Damaged {
        /// The index.
        path: PathBuf,
        /// What is wrong with it.
        damage: IndexDamage,
    },
    /// Offsets in a compressed file lead nowhere.
    #[error("a compressed capture cannot be indexed (decompress it first)")]
    Compressed,
    /// A pipe has no offsets.
    #[error("only a regular file can be indexed")]
    NotRegular,
}

/// The place of the index of a capture: its name with `.index`.
pub fn index_path(capture: &Path) -> PathBuf {
    let mut name = capture.as_os_str().to_owned();
    name.push(".index");
    name.into()
}

impl Index {
    /// Indexes the capture at `path`: reads it once. A capture that ends in the middle of a block is indexed to there.
    ///
    /// Memory: at most 8 MiB, whatever the size of the capture, and the index.
    ///
    /// # Errors
    /// [`IndexError::Capture`] if it is no capture or is corrupt; [`IndexError::Compressed`], [`IndexError::NotRegular`].
    pub fn build(path: &Path) -> Result<Self, IndexError> {
        let failed = |source| IndexError::Io {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(IndexError::NotRegular);
        }
        let mut reader = Reader::from_file(file.try_clone().map_err(failed)?)?;
        if reader.compression() != DetectedCompression::None {
            return Err(IndexError::Compressed);
        }
        let mut index = Self::of_reader(&mut reader)?;
        index.fingerprint = fingerprint(&file, index.bytes).map_err(failed)?;
        Ok(index)
    }

    /// Indexes what `reader` has not read yet, which is all, to its end.
    fn of_reader(reader: &mut Reader) -> Result<Self, IndexError> {
        let mut builder = Builder::default();
        // Behind the header of the file.
        let mut end = reader.offset();
        builder.others(0, end);
        loop {
            match reader.next_item() {
                Ok(Some(Item::Packet(packet))) => {
                    let link_type = builder.link_types.get(packet.interface as usize);
                    let link_type = link_type.copied().unwrap_or(u16::MAX);
                    let time = packet.timestamp_ns;
                    let keys = Keys::of(link_type, packet.bytes);
                    let next = reader.offset();
                    builder.packet(end, next, time, keys);
                    end = next;
                }
                Ok(Some(item)) => {
                    if let Item::Interface { interface, .. } = item {
                        builder.link_types.push(interface.link_type.0);
                    }
                    let next = reader.offset();
                    builder.others(end, next);
                    end = next;
                }
                Ok(None) => break,
                // The rest is read as it is, and a later index has it.
                Err(error) if error.kind == crate::read::ErrorKind::Truncated => break,
                Err(error) => return Err(error.into()),
            }
        }
        builder.finish();
        let mut index = Self {
            bytes: end,
            extents: builder.extents,
            ..Self::default()
        };
        index.encoded_bytes = index.encode().len() as u64;
        Ok(index)
    }

    /// Indexes a capture in memory. Such an index belongs to no file.
    ///
    /// # Errors
    /// As [`Self::build`].
    pub fn of_bytes(capture: Vec<u8>) -> Result<Self, IndexError> {
        Self::of_reader(&mut Reader::from_bytes(capture)?)
    }

    /// Writes the index beside the capture at `path`: whole or not at all.
    ///
    /// # Errors
    /// [`IndexError::Io`].
    pub fn write(&self, path: &Path) -> Result<u64, IndexError> {
        let place = index_path(path);
        let mut partial = place.clone().into_os_string();
        partial.push(".part");
        let partial = PathBuf::from(partial);
        let bytes = self.encode();
        let write = || {
            // Whose name cannot be replaced: behind a sandbox the kernel would only say that it is forbidden.
            if place.symlink_metadata().is_ok_and(|about| about.is_dir()) {
                return Err(rustix::io::Errno::ISDIR.into());
            }
            // Of a run that was killed; one that runs keeps its own.
            match std::fs::remove_file(&partial) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = OpenOutput::create().truncate().open(&partial)?;
            file.write_all(&bytes)?;
            std::fs::rename(&partial, &place)
        };
        write().map_err(|source| {
            // What counts is the first error.
            let _ = std::fs::remove_file(&partial);
            IndexError::Io {
                path: place,
                source,
            }
        })?;
        Ok(bytes.len() as u64)
    }

    /// Reads the index beside the capture `file` at `path`. `None` if there is none.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] also if the capture is another one; [`IndexError::Io`].
    pub fn of(file: &File, path: &Path) -> Result<Option<Self>, IndexError> {
        let place = index_path(path);
        let failed = |source| IndexError::Io {
            path: place.clone(),
            source,
        };
        let damaged = |damage| IndexError::Damaged {
            path: place.clone(),
            damage,
        };
        let bytes = match File::open(&place) {
            Ok(mut index) => {
                let length = index.metadata().map_err(failed)?.len();
                if length > INDEX_BYTES_MAX {
                    return Err(damaged(IndexDamage::Checksum));
                }
                let mut bytes = Vec::with_capacity(length as usize);
                io::Read::read_to_end(&mut io::Read::take(&mut index, length), &mut bytes)
                    .map_err(failed)?;
                bytes
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let index = Self::decode(&bytes).map_err(damaged)?;
        let is_same = file.metadata().map_err(failed)?.len() >= index.bytes
            && fingerprint(file, index.bytes).map_err(failed)? == index.fingerprint;
        if is_same {
            Ok(Some(index))
        } else {
            Err(damaged(IndexDamage::Stale))
        }
    }
}

/// Checksum of the first and the last bytes before `end`.
fn fingerprint(file: &File, end: u64) -> io::Result<u32> {
    let length = end.min(FINGERPRINT_BYTES as u64);
    let mut bytes = vec![0; 2 * length as usize];
    let (first, last) = bytes.split_at_mut(length as usize);
    file.read_exact_at(first, 0)?;
    file.read_exact_at(last, end - length)?;
    Ok(crc(&bytes))
}

/// Hashes are hashed already.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0 << 8 | u64::from(byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Keys of one class. `None` once there are too many.
type Class = Option<HashSet<u64, BuildHasherDefault<Identity>>>;

/// The extent that is being filled, and those before.
struct Builder {
    link_types: Vec<u16>,
    extents: Vec<Extent>,
    /// Bytes that the index has so far.
    index_bytes: u64,
    current: Extent,
    addresses: Class,
    ports: Class,
    flows: Class,
    /// Hashes of flows that are in the sets.
    recent: Vec<u64>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            link_types: Vec::new(),
            extents: Vec::new(),
            index_bytes: FIXED_BYTES as u64,
            current: empty(0),
            addresses: Some(HashSet::default()),
            ports: Some(HashSet::default()),
            flows: Some(HashSet::default()),
            recent: vec![0; RECENT],
        }
    }
}

fn empty(offset: u64) -> Extent {
    Extent {
        offset,
        bytes: 0,
        packets: 0,
        times_ns: [u64::MAX, 0],
        classes: 0,
        keys: None,
    }
}

impl Builder {
    fn packet(&mut self, from: u64, to: u64, time: Option<u64>, keys: Option<Keys>) {
        if self.current.packets == 0 && self.current.bytes > 0 {
            self.end_extent(from);
        }
        self.current.bytes += to - from;
        self.current.packets += 1;
        let [first, last] = &mut self.current.times_ns;
        if let Some(time) = time {
            (*first, *last) = ((*first).min(time), (*last).max(time));
        } else {
            // It may be selected with any time.
            (*first, *last) = (0, u64::MAX);
        }
        if let Some(keys) = keys {
            self.add(&keys);
        } else {
            (self.addresses, self.ports, self.flows) = (None, None, None);
        }
        let bytes = self.current.bytes;
        if bytes >= EXTENT_BYTES_MAX || bytes >= EXTENT_BYTES_MIN && self.fits() {
            self.end_extent(to);
        }
    }

    /// Blocks of other types.
    fn others(&mut self, from: u64, to: u64) {
        if self.current.packets > 0 {
            self.end_extent(from);
        }
        self.current.bytes += to - from;
    }

    fn add(&mut self, keys: &Keys) {
        let flow = keys.flow().map(Key::hash);
        if let Some(flow) = flow {
            let recent = &mut self.recent[flow as usize % RECENT];
            if *recent == flow {
                return;
            }
            *recent = flow;
            insert(&mut self.flows, flow);
        }
        for address in keys.addresses.into_iter().flatten() {
            insert(&mut self.addresses, Key::Address(address).hash());
        }
        for port in keys.ports.into_iter().flatten() {
            insert(&mut self.ports, Key::Port(port).hash());
        }
    }

    /// What the index may have with the current extent.
    fn budget(&self) -> usize {
        let end = self.current.offset + self.current.bytes;
        let all = (end / BYTES_PER_INDEX_BYTE).max(SMALL_BYTES);
        let used = self.index_bytes + (EXTENT_BYTES + SET_BYTES) as u64;
        all.saturating_sub(used) as usize
    }

    fn fits(&self) -> bool {
        let classes = [&self.addresses, &self.ports, &self.flows];
        let count = classes
            .iter()
            .filter_map(|class| class.as_ref())
            .map(HashSet::len)
            .sum();
        fuse::bytes(count) <= self.budget()
    }

    /// Ends the current extent; the next begins at `offset`. Classes of keys that do not fit are dropped: flows first,
    /// since addresses and ports tell something of them.
    fn end_extent(&mut self, offset: u64) {
        let budget = self.budget();
        let mut extent = std::mem::replace(&mut self.current, empty(offset));
        let mut hashes = Vec::new();
        let classes = [
            (&mut self.addresses, ADDRESSES),
            (&mut self.ports, PORTS),
            (&mut self.flows, FLOWS),
        ];
        for (class, bit) in classes {
            let set = class
                .take()
                .filter(|set| fuse::bytes(hashes.len() + set.len()) <= budget);
            if let Some(set) = set.filter(|_| extent.packets > 0) {
                extent.classes |= bit;
                hashes.extend(set);
            }
            *class = Some(HashSet::default());
        }
        self.recent.fill(0);
        if extent.classes != 0 {
            hashes.sort_unstable();
            hashes.dedup();
            extent.keys = Fuse::new(&hashes);
        }
        self.index_bytes += EXTENT_BYTES as u64;
        match &extent.keys {
            Some(keys) => self.index_bytes += (SET_BYTES + keys.fingerprints.len()) as u64,
            None => extent.classes = 0,
        }
        self.extents.push(extent);
    }

    fn finish(&mut self) {
        if self.current.bytes > 0 {
            let end = self.current.offset + self.current.bytes;
            self.end_extent(end);
        }
    }
}

fn insert(class: &mut Class, hash: u64) {
    if let Some(set) = class {
        set.insert(hash);
        if set.len() > KEYS_MAX {
            *class = None;
        }
    }
}
