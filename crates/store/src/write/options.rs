//! What is to be written, where and how.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use crate::model::{Interface, Section, Statistics};

/// Format of a capture file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// pcapng with nanoseconds: several interfaces, packet options, statistics.
    #[default]
    Pcapng,
    /// pcap with microseconds: time stamps are cut, one link type, no options, no statistics.
    PcapMicros,
    /// pcap with nanoseconds: as `PcapMicros`, with whole time stamps.
    PcapNanos,
}

/// Where a capture file goes.
pub enum Output {
    /// A file of this name, made with mode 0600 (a capture holds what others said) or, if it
    /// exists, overwritten with the mode it has. With compression `.zst` is appended to a name
    /// without it; with rotation the name is the pattern [`Rotation`] describes.
    Path(PathBuf),
    /// An open descriptor: standard output, a pipe, a file. It must be blocking.
    Descriptor {
        /// The descriptor; a regular file is written from its present position on.
        file: File,
        /// What errors and the list of files call it.
        name: PathBuf,
    },
    /// Any other stream. It is called once per flush, not per packet.
    Stream {
        /// Takes the blocks.
        writer: Box<dyn Write + Send>,
        /// What errors and the list of files call it.
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

/// Compression of what is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// None.
    #[default]
    None,
    /// Zstandard, a frame per flush. It runs in the thread that writes.
    Zstd {
        /// 1 (fast) to 22 (small); 0 is zstd's own default, 3. Outside of its range zstd takes the nearest.
        level: i32,
    },
}

/// When a new file is begun; any rules together, the first that applies. The default is never.
///
/// The files of `dir/stem.pcapng` are named `dir/stem_00001_20261121071500.pcapng`: a number that
/// counts up and the local time of the file's beginning. That time is the caller's clock for the
/// first, the beginning of the interval for those the interval began, else the time stamp of the
/// packet that did not fit. Each file is complete: it begins with the section and all interfaces
/// and ends with their statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// Size of a file at most, in bytes, its statistics included but for their comments. A file
    /// holds at least one packet. With compression the size on disk counts, and a file is over
    /// the limit by up to one buffer, compressed.
    pub bytes: Option<NonZeroU64>,
    /// Files change at multiples of this many nanoseconds since 1970 UTC, by packets' time stamps
    /// and by [`CaptureFile::tick`](super::CaptureFile::tick).
    pub interval_ns: Option<NonZeroU64>,
    /// Packets in a file at most.
    pub packets: Option<NonZeroU64>,
    /// Files kept at most, the one being written included: the oldest that this run made are
    /// removed when a new one is open.
    pub keep: Option<NonZeroUsize>,
}

impl Rotation {
    /// Whether there is any rule that begins a new file.
    pub fn is_any(&self) -> bool {
        self.bytes.is_some() || self.interval_ns.is_some() || self.packets.is_some()
    }
}

/// Tells a file's closing statistics, one of each interface; called when rotation closes a file.
///
/// It is called from within [`CaptureFile::write`](super::CaptureFile::write), while the caller
/// may still hold a batch of the ring: have it read counters the capture shares.
pub type StatisticsSource = Box<dyn FnMut() -> Vec<Statistics> + Send>;

/// What a [`CaptureFile`](super::CaptureFile) is made of.
pub struct Options {
    /// Where it goes.
    pub output: Output,
    /// Its format.
    pub format: Format,
    /// What it says of the machine and the program; pcap files say nothing.
    pub section: Section,
    /// Its interfaces; packets name them by their place here.
    pub interfaces: Vec<Interface>,
    /// Whether packets are cut to their interface's snaplen. A copy of a file keeps also those that
    /// break what the file says.
    pub cut_to_snaplen: bool,
    /// How it is compressed.
    pub compression: Compression,
    /// When a new file is begun.
    pub rotation: Rotation,
    /// Gives the statistics at the end of each rotated file.
    pub statistics: StatisticsSource,
    /// Bytes that gather before they are written; more than 1 GiB is taken as that.
    pub buffer_bytes: usize,
}

impl Options {
    /// pcapng to `output`, neither compressed nor rotated, written by "tapline" with its version.
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
            cut_to_snaplen: true,
            compression: Compression::default(),
            rotation: Rotation::default(),
            statistics: Box::new(Vec::new),
            buffer_bytes: 256 << 10,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("output", &self.output)
            .field("format", &self.format)
            .field("section", &self.section)
            .field("interfaces", &self.interfaces)
            .field("cut_to_snaplen", &self.cut_to_snaplen)
            .field("compression", &self.compression)
            .field("rotation", &self.rotation)
            .field("buffer_bytes", &self.buffer_bytes)
            .finish_non_exhaustive()
    }
}
