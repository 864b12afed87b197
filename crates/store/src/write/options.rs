//! Options of a capture file.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use super::preface::Preface;
use crate::model::{Interface, Section, Statistics};

/// Format of a capture file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// pcapng with nanoseconds: several interfaces, packet options, statistics.
    #[default]
    Pcapng,
    /// pcap with microseconds: truncated time stamps, one link type, no options, no statistics.
    PcapMicros,
    /// pcap with nanoseconds: as `PcapMicros`, with full time stamps.
    PcapNanos,
}

/// The destination of a capture file.
pub enum Output {
    /// A file of this name. It is created with mode 0600, since captures are confidential; an existing
    /// file is overwritten and keeps its mode. Compression appends `.zst` to a name without it. With
    /// rotation the name is a pattern (see [`Rotation`]).
    Path(PathBuf),
    /// An open descriptor: standard output, a pipe, a file. It must be blocking.
    Descriptor {
        /// The descriptor. A regular file is written from its current position on.
        file: File,
        /// Its name in errors and in the list of files.
        name: PathBuf,
    },
    /// Any other stream. It is called once per flush, not per packet.
    Stream {
        /// Receives the blocks.
        writer: Box<dyn Write + Send>,
        /// Its name in errors and in the list of files.
        name: PathBuf,
    },
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Descriptor { name, .. } => f.debug_tuple("Descriptor").field(name).finish(),
            Self::Stream { name, .. } => f.debug_tuple("Stream").field(name).finish(),
        }
    }
}

/// Compression of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// None.
    #[default]
    None,
    /// Zstandard, one frame per flush, compressed by the thread that writes.
    Zstd {
        /// 1 (fast) to 22 (small). 0 is zstd's default, 3. Other values are clamped.
        level: i32,
    },
}

/// When a new file starts: when the first of these limits is reached. Default: never.
///
/// The files of `dir/stem.pcapng` are named `dir/stem_00001_20261121071500.pcapng`: a counter and the local
/// time of the file's start. That is the caller's time for the first file, the start of the interval after
/// an interval, and otherwise the time stamp of the packet that did not fit. Each file is complete: it
/// begins with the section and all interfaces, and ends with their statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// Maximum bytes of a file, including statistics without their comments. A file contains at least one
    /// packet. With compression the size on disk counts, and a file can exceed the limit by one
    /// compressed buffer.
    pub bytes: Option<NonZeroU64>,
    /// Start a new file at multiples of this many nanoseconds since 1970 UTC, by packets' time stamps
    /// and by [`CaptureFile::tick`](super::CaptureFile::tick).
    pub interval_ns: Option<NonZeroU64>,
    /// Shift these multiples by this many nanoseconds. Default: 0.
    pub interval_offset_ns: u64,
    /// Maximum packets in a file.
    pub packets: Option<NonZeroU64>,
    /// Maximum number of files to keep, including the current one. The oldest files of this run are
    /// removed when a new one was created.
    pub keep: Option<NonZeroUsize>,
}

impl Rotation {
    /// Whether there is any limit.
    pub fn is_any(&self) -> bool {
        self.bytes.is_some() || self.interval_ns.is_some() || self.packets.is_some()
    }
}

/// Returns the statistics of each interface, when rotation closes a file.
///
/// It is called within [`CaptureFile::write`](super::CaptureFile::write), while the caller may still hold a
/// batch of the ring. It should only read shared counters.
pub type StatisticsSource = Box<dyn FnMut() -> Vec<Statistics> + Send>;

/// Returns the body of a Decryption Secrets Block with new secrets, if there are any.
///
/// It is called whenever buffered packets are written, and the block comes before them: programs that read a file once
/// need the secrets before the packets.
pub type SecretsSource = Box<dyn FnMut() -> Option<Vec<u8>> + Send>;

/// Options of a [`CaptureFile`](super::CaptureFile).
pub struct CaptureFileOptions {
    /// The destination.
    pub output: Output,
    /// The format.
    pub format: Format,
    /// The machine and the program, for pcapng files.
    pub section: Section,
    /// The interfaces. Packets refer to them by index.
    pub interfaces: Vec<Interface>,
    /// The beginning of the first section, instead of `section` and `interfaces`: of a copy, which keeps other
    /// blocks and options.
    pub preface: Option<Preface>,
    /// Whether packets are truncated to their interface's snaplen. Default: true. A copy of a file keeps
    /// longer packets, too.
    pub cut_to_snaplen: bool,
    /// The compression.
    pub compression: Compression,
    /// When a new file starts.
    pub rotation: Rotation,
    /// Whether each file gets an [index](crate::index), which grows with it: as `tapline index` makes afterwards. The file
    /// must be a regular one without compression. If the index cannot be written further, the file goes on without it.
    /// Default: false.
    pub index: bool,
    /// Returns the statistics for the end of each rotated file.
    pub statistics: StatisticsSource,
    /// Statistics of each interface at the end of a file: more than one if some count a
    /// [part](crate::model::Statistics::part) of its packets. Default: 1.
    pub statistics_blocks: u32,
    /// Returns new secrets. Later files of a rotation begin with those so far, up to 16 MiB. A pcap file has none.
    pub secrets: Option<SecretsSource>,
    /// Size of the buffer in bytes, at most 1 GiB. Default: 256 KiB.
    pub buffer_bytes: usize,
}

impl CaptureFileOptions {
    /// Uncompressed pcapng to `output`, without rotation. The application is "tapline" with its version.
    pub fn new(output: Output, interfaces: Vec<Interface>) -> Self {
        let application = concat!("tapline ", env!("CARGO_PKG_VERSION"));
        Self {
            output,
            format: Format::default(),
            section: Section {
                application: Some(application.into()),
                ..Section::default()
            },
            interfaces,
            preface: None,
            cut_to_snaplen: true,
            compression: Compression::default(),
            rotation: Rotation::default(),
            index: false,
            statistics: Box::new(Vec::new),
            statistics_blocks: 1,
            secrets: None,
            buffer_bytes: 256 << 10,
        }
    }
}

impl fmt::Debug for CaptureFileOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureFileOptions")
            .field("output", &self.output)
            .field("format", &self.format)
            .field("section", &self.section)
            .field("interfaces", &self.interfaces)
            .field("cut_to_snaplen", &self.cut_to_snaplen)
            .field("compression", &self.compression)
            .field("rotation", &self.rotation)
            .field("index", &self.index)
            .field("buffer_bytes", &self.buffer_bytes)
            .finish_non_exhaustive()
    }
}
