//! Indexing a capture file.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::builder::Builder;
use super::layout::{
    DecodeError, Encoder, Extent, Index, IndexDamage, IndexLengths, MAGIC, crc_of, decode_each,
    is_unbegun,
};
use crate::output::OpenOutput;
use crate::read::{DetectedCompression, ReadError, Reader};

/// Bytes at the beginning and at the end that tell a capture from another.
pub(super) const FINGERPRINT_BYTES: usize = 4 << 10;

/// Longest index that is read: of 1.6 TB.
const INDEX_BYTES_MAX: u64 = 4 << 30;

/// Buffer for reading a capture. The bytes that the kernel copied there are decoded while they are in the second-level cache
/// of a core, beside the sets.
const CAPTURE_BUFFER_BYTES: usize = 128 << 10;

/// Buffer for reading and writing an index.
const BUFFER_BYTES: usize = 64 << 10;

/// The permissions of the group and of other users to read a file.
const GROUP_READS: u32 = 0o040;
const OTHERS_READ: u32 = 0o004;

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

/// Creates or empties the file at `place`, for an index of the capture at `path`. If all users can read the capture, they can
/// read a new file; so can its group, if that is the group of the capture.
pub(super) fn create(place: &Path, path: &Path) -> io::Result<File> {
    let output = OpenOutput::create().truncate();
    let Ok(capture) = path.metadata() else {
        return output.open(place);
    };
    let readers = capture.mode() & (GROUP_READS | OTHERS_READ);
    if readers == GROUP_READS | OTHERS_READ {
        return output.for_all().open(place);
    }
    if readers == GROUP_READS {
        let file = output.for_group().open(place)?;
        let created = file.metadata()?;
        if created.gid() == capture.gid() || created.mode() & GROUP_READS == 0 {
            return Ok(file);
        }
        std::fs::remove_file(place)?;
    }
    output.open(place)
}

impl Index {
    /// Indexes the capture at `path`: reads it once. A capture that ends in the middle of a block is indexed to there.
    ///
    /// Memory: at most 12 MiB, whatever the size of the capture, and the index.
    ///
    /// # Errors
    /// [`IndexError::Capture`] if it is no capture or is corrupt (options of packets are not checked); [`IndexError::Compressed`], [`IndexError::NotRegular`].
    pub fn build(path: &Path) -> Result<Self, IndexError> {
        let failed = |source| IndexError::Io {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(IndexError::NotRegular);
        }
        let same = file.try_clone().map_err(failed)?;
        let mut reader = Reader::from_file_through(same, CAPTURE_BUFFER_BYTES)?;
        if reader.compression() != DetectedCompression::None {
            return Err(IndexError::Compressed);
        }
        let mut index = Self::default();
        let mut builder = Builder::default();
        let mut seal = |builder: &mut Builder| {
            // The end of an extent that was just read is in the page cache.
            for mut extent in builder.take_ended() {
                extent.fingerprint = fingerprint(&file, extent.offset + extent.bytes)?;
                index.extents.push(extent);
            }
            Ok::<(), io::Error>(())
        };
        while builder.add_items(&mut reader)? {
            if builder.has_ended() {
                seal(&mut builder).map_err(failed)?;
            }
        }
        builder.finish();
        seal(&mut builder).map_err(failed)?;
        (index.bytes, index.encoded_bytes) = (builder.end(), builder.index_bytes());
        Ok(index)
    }

    /// Indexes a capture in memory. Such an index belongs to no file.
    ///
    /// # Errors
    /// As [`Self::build`].
    pub fn of_bytes(capture: Vec<u8>) -> Result<Self, IndexError> {
        let mut reader = Reader::from_bytes(capture)?;
        let mut builder = Builder::default();
        while builder.add_items(&mut reader)? {}
        builder.finish();
        Ok(Self {
            bytes: builder.end(),
            encoded_bytes: builder.index_bytes(),
            extents: builder.take_ended().collect(),
        })
    }

    /// Writes the index beside the capture at `path`: whole or not at all. If all users can read the capture, they can
    /// read the index; so can its group, if that is the group of the capture.
    ///
    /// # Errors
    /// [`IndexError::Io`].
    pub fn write(&self, path: &Path) -> Result<u64, IndexError> {
        let place = index_path(path);
        let mut partial = place.clone().into_os_string();
        partial.push(".part");
        let partial = PathBuf::from(partial);
        let write = || -> io::Result<u64> {
            // Whose name cannot be replaced: behind a sandbox the kernel would only say that it is forbidden.
            if place.symlink_metadata().is_ok_and(|about| about.is_dir()) {
                return Err(rustix::io::Errno::ISDIR.into());
            }
            // Of a run that was killed; one that runs keeps its own.
            match std::fs::remove_file(&partial) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let bytes = self.write_to(create(&partial, path)?)?;
            std::fs::rename(&partial, &place)?;
            Ok(bytes)
        };
        write().map_err(|source| {
            // What counts is the first error.
            let _ = std::fs::remove_file(&partial);
            IndexError::Io {
                path: place,
                source,
            }
        })
    }

    /// Writes the bytes of an index file, an extent at a time. Returns their number.
    fn write_to(&self, file: File) -> io::Result<u64> {
        let mut file = BufWriter::with_capacity(BUFFER_BYTES, file);
        file.write_all(MAGIC)?;
        let mut bytes = MAGIC.len();
        let (mut encoder, mut encoded) = (Encoder::default(), Vec::new());
        for extent in &self.extents {
            encoded.clear();
            encoder.append(extent, &mut encoded);
            file.write_all(&encoded)?;
            bytes += encoded.len();
        }
        file.flush()?;
        Ok(bytes as u64)
    }

    /// Reads the index beside the capture `file` at `path`. `None` if there is none, or this user may not read it. One that is
    /// still being written, or whose writer was killed, describes the beginning of the capture: [`Self::bytes`] is less than its
    /// length.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] also if the capture is another one; [`IndexError::Io`].
    pub fn of(file: &File, path: &Path) -> Result<Option<Self>, IndexError> {
        let mut extents = Vec::new();
        let lengths = Self::each_extent_of(file, path, |extent| extents.push(extent))?;
        Ok(lengths.map(|lengths| Self {
            bytes: lengths.capture_bytes,
            encoded_bytes: lengths.index_bytes,
            extents,
        }))
    }

    /// As [`Self::of`], but passes each extent to `each`. If the result is an error, the extents must not be used: whether they
    /// describe this capture is known at the end.
    ///
    /// Memory: that of one extent, whatever the size of the index.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn each_extent_of(
        file: &File,
        path: &Path,
        mut each: impl FnMut(Extent),
    ) -> Result<Option<IndexLengths>, IndexError> {
        let place = index_path(path);
        let failed = |source| IndexError::Io {
            path: place.clone(),
            source,
        };
        let damaged = |damage| IndexError::Damaged {
            path: place.clone(),
            damage,
        };
        let index = match File::open(&place) {
            Ok(index) => index,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let length = index.metadata().map_err(failed)?.len();
        if length > INDEX_BYTES_MAX {
            return Err(damaged(IndexDamage::Checksum));
        }
        if length < MAGIC.len() as u64 {
            let mut bytes = Vec::new();
            let mut begun = index.take(length);
            begun.read_to_end(&mut bytes).map_err(failed)?;
            if is_unbegun(&bytes) {
                return Ok(None);
            }
            return Err(damaged(IndexDamage::Magic));
        }
        let mut fingerprinted = None;
        let index = BufReader::with_capacity(BUFFER_BYTES, index);
        let decoded = decode_each(index, length, |extent| {
            fingerprinted = Some(extent.fingerprint);
            each(extent);
        });
        let lengths = decoded.map_err(|error| match error {
            DecodeError::Io(error) => failed(error),
            DecodeError::Damaged(damage) => damaged(damage),
        })?;
        let Some(fingerprinted) = fingerprinted else {
            return Ok(Some(lengths));
        };
        let is_same = file.metadata().map_err(failed)?.len() >= lengths.capture_bytes
            && fingerprint(file, lengths.capture_bytes).map_err(failed)? == fingerprinted;
        if is_same {
            Ok(Some(lengths))
        } else {
            Err(damaged(IndexDamage::Stale))
        }
    }
}

/// Whether an index cannot be opened because there is none for this user.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
    )
}

/// Checksum of the first and the last bytes before `end`.
fn fingerprint(file: &File, end: u64) -> io::Result<u32> {
    let length = end.min(FINGERPRINT_BYTES as u64);
    let mut bytes = vec![0; 2 * length as usize];
    let (first, last) = bytes.split_at_mut(length as usize);
    file.read_exact_at(first, 0)?;
    file.read_exact_at(last, end - length)?;
    Ok(crc_of(&[&bytes]))
}
