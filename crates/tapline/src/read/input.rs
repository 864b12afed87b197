//! The inputs of a read job: files and streams, one alone or several merged by time.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use store::block::{ByteOrder, COMMENT, Options, append_option, kind};
use store::model::{Packet, Section};
use store::read::{DetectedCompression, Header, Item, Merge, Reader};

use super::error::{InputError, ReadError};
use super::indexed::{IndexQuery, IndexUse};
use crate::Stop;

/// `shb_userappl`: a copy has its own.
const APPLICATION: u16 = 4;

/// An input that is not opened yet.
#[derive(Debug)]
pub(super) enum InputSource {
    Path(PathBuf),
    Stream { name: String, file: File },
}

/// An opened input.
pub(super) struct Input {
    pub name: String,
    pub reader: Reader,
    /// Bytes received from a stream, still compressed.
    pub received: Option<Arc<AtomicU64>>,
    /// The stream, to wait for.
    pub stream: Option<OwnedFd>,
    /// Length of a regular file.
    pub file_bytes: u64,
}

impl fmt::Display for InputSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(out),
            Self::Stream { name, .. } => out.write_str(name),
        }
    }
}

impl InputSource {
    /// Opens the input, which is number `input` of its job. A stream ends when `stop` is requested.
    pub(super) fn open(self, input: usize, stop: &Stop) -> Result<Input, ReadError> {
        let name = self.to_string();
        let open_error = |source| ReadError::Open {
            name: name.clone(),
            source,
        };
        let (file, is_path) = match self {
            Self::Path(path) => (open_path(&path).map_err(open_error)?, true),
            Self::Stream { file, .. } => (file, false),
        };
        let metadata = file.metadata().map_err(open_error)?;
        let (reader, received, stream) = if is_path && metadata.is_file() {
            (Reader::from_file(file), None, None)
        } else {
            let waited = file.as_fd().try_clone_to_owned().map_err(open_error)?;
            let stream = StoppableStream::new(file, stop).map_err(open_error)?;
            let received = Arc::clone(&stream.received);
            (Reader::from_stream(stream), Some(received), Some(waited))
        };
        match reader {
            Ok(reader) => Ok(Input {
                name,
                reader,
                received,
                stream,
                file_bytes: metadata.len(),
            }),
            Err(source) => Err(InputError {
                input,
                name,
                source: Box::new(source),
            }
            .into()),
        }
    }
}

/// A capture of which so little is read is read when it is opened, so that thousands take little memory.
const SMALL_BYTES: u64 = 64 << 10;

impl InputSource {
    /// As [`Self::open`], but only the parts that may have selected packets. `None` if there are none and it is not `needed`.
    pub(super) fn open_parts(
        self,
        input: usize,
        stop: &Stop,
        query: &IndexQuery,
        used: &mut IndexUse,
        is_needed: bool,
    ) -> Result<Option<Input>, ReadError> {
        let Self::Path(path) = &self else {
            return self.open(input, stop).map(Some);
        };
        let name = self.to_string();
        let open_error = |source| ReadError::Open {
            name: name.clone(),
            source,
        };
        let file = open_path(path).map_err(open_error)?;
        let metadata = file.metadata().map_err(open_error)?;
        if !metadata.is_file() {
            return self.open(input, stop).map(Some);
        }
        let parts = query.parts(&file, path, used);
        let parts = parts.map_err(|source| ReadError::Index {
            name: name.clone(),
            source,
        })?;
        let Some(parts) = parts else {
            return self.open(input, stop).map(Some);
        };
        if !parts.has_packets && !is_needed {
            used.skipped += 1;
            return Ok(None);
        }
        let bytes = parts.bytes();
        used.selected_bytes += bytes;
        let mut parts = parts.of(file);
        let reader = if bytes <= SMALL_BYTES {
            let mut whole = Vec::new();
            parts.read_to_end(&mut whole).map_err(open_error)?;
            Reader::from_bytes(whole)
        } else {
            Reader::from_stream(parts)
        };
        match reader {
            Ok(reader) => Ok(Some(Input {
                name,
                reader,
                received: None,
                stream: None,
                file_bytes: bytes,
            })),
            Err(source) => Err(InputError {
                input,
                name,
                source: Box::new(source),
            }
            .into()),
        }
    }
}

/// Opens a file or pipe. A named pipe does not wait for its writer here, where the job could not be stopped.
fn open_path(path: &Path) -> io::Result<File> {
    let nonblocking = OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.custom_flags(nonblocking.bits().cast_signed());
    let file = options.read(true).open(path)?;
    fcntl_setfl(&file, fcntl_getfl(&file)? - nonblocking)?;
    Ok(file)
}

/// A pipe or other stream that ends when the job is stopped, even while no data arrives.
struct StoppableStream {
    file: File,
    stop: OwnedFd,
    received: Arc<AtomicU64>,
}

impl StoppableStream {
    fn new(file: File, stop: impl AsFd) -> io::Result<Self> {
        Ok(Self {
            file,
            stop: stop.as_fd().try_clone_to_owned()?,
            received: Arc::default(),
        })
    }

    /// Waits for data or the end of the stream. Returns `false` if the job is stopped.
    fn wait(&self) -> io::Result<bool> {
        let mut waits = [
            PollFd::new(&self.file, PollFlags::IN),
            PollFd::new(&self.stop, PollFlags::IN),
        ];
        // Bound: a signal that interrupts the call either stops the job or is unrelated.
        while let Err(errno) = poll(&mut waits, None) {
            if errno != Errno::INTR {
                return Err(errno.into());
            }
        }
        Ok(waits[1].revents().is_empty())
    }
}

impl Read for StoppableStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if !self.wait()? {
            return Ok(0);
        }
        let bytes = self.file.read(into)?;
        // Relaxed: one thread reads and counts.
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

/// Whether the job was asked to stop.
pub(super) fn is_stopped(stop: &Stop) -> bool {
    let mut waits = [PollFd::new(stop, PollFlags::IN)];
    let no_wait = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut waits, Some(&no_wait)).is_ok_and(|ready| ready > 0)
}

/// The inputs as one source of items.
pub(super) struct Inputs {
    pub names: Vec<String>,
    pub kind: InputKind,
    /// The descriptors of the inputs that are streams.
    streams: Vec<Option<OwnedFd>>,
}

pub(super) enum InputKind {
    One(Box<Input>),
    Several(Box<Merge>),
}

impl Inputs {
    pub(super) fn new(mut inputs: Vec<Input>) -> Self {
        let names = inputs.iter().map(|input| input.name.clone()).collect();
        let streams = inputs.iter_mut().map(|input| input.stream.take()).collect();
        let kind = match (inputs.pop(), inputs.is_empty()) {
            (Some(input), true) => InputKind::One(Box::new(input)),
            (last, _) => {
                let inputs = inputs.into_iter().chain(last);
                let readers = inputs.map(|input| input.reader).collect();
                InputKind::Several(Box::new(Merge::new(readers)))
            }
        };
        Self {
            names,
            kind,
            streams,
        }
    }

    /// Lends the next item. After an error of one input, the next call continues with the others.
    #[inline]
    pub(super) fn next_item(&mut self) -> Result<Option<Item<'_>>, InputError> {
        let error = |input: usize, source| InputError {
            input,
            name: self.names[input].clone(),
            source: Box::new(source),
        };
        match &mut self.kind {
            InputKind::One(input) => input.reader.next_item().map_err(|source| error(0, source)),
            InputKind::Several(merge) => merge
                .next_item()
                .map_err(|merged| error(merged.input, merged.source)),
        }
    }

    /// Calls `take` for the next packets of a single input that are in its buffer, until `take` returns `false`. Returns their number.
    #[inline]
    pub(super) fn take_buffered<E>(
        &mut self,
        take: impl FnMut(&Packet<'_>) -> Result<bool, E>,
    ) -> Result<u64, E> {
        match &mut self.kind {
            InputKind::One(input) => input.reader.take_buffered(take),
            InputKind::Several(_) => Ok(0),
        }
    }

    /// Lends the packet that [`Self::next_item`] returned last, again.
    #[inline]
    pub(super) fn last_packet(&self) -> Option<Packet<'_>> {
        match &self.kind {
            InputKind::One(input) => Some(input.reader.last_packet()),
            InputKind::Several(merge) => merge.last_packet(),
        }
    }

    /// Options of section headers that a merged copy does not have, because it has only one section.
    pub(super) fn left_out_options(&self) -> u64 {
        match &self.kind {
            InputKind::One(_) => 0,
            InputKind::Several(merge) => merge.left_out_options(),
        }
    }

    /// Bytes of the (uncompressed) captures read so far.
    pub(super) fn offset(&self) -> u64 {
        match &self.kind {
            InputKind::One(input) => input.reader.offset(),
            InputKind::Several(merge) => merge.readers().map(Reader::offset).sum(),
        }
    }

    /// Whether the next item has to be waited for. Known only of uncompressed streams.
    #[inline]
    pub(super) fn must_wait(&self) -> bool {
        self.awaited().is_some()
    }

    /// The input for which the next item has to wait.
    #[inline]
    fn awaited(&self) -> Option<usize> {
        match &self.kind {
            InputKind::One(input) => input.reader.must_wait().then_some(0),
            InputKind::Several(merge) => merge.awaited(),
        }
    }

    /// Waits for at most `time` until more of the next item is there. Returns whether that may be so, or the job is stopped.
    pub(super) fn wait(&self, stop: &Stop, time: &Timespec) -> bool {
        let stream = self.awaited().and_then(|input| self.streams.get(input));
        let Some(Some(stream)) = stream else {
            return true;
        };
        let mut waits = [
            PollFd::new(stream, PollFlags::IN),
            PollFd::new(stop, PollFlags::IN),
        ];
        // Other errors are also those of reading.
        !matches!(poll(&mut waits, Some(time)), Ok(0) | Err(Errno::INTR))
    }
}

/// Bytes of all inputs; `None` unless all are uncompressed regular files.
pub(super) fn total_bytes(inputs: &[Input]) -> Option<u64> {
    let bytes = |input: &Input| {
        let is_plain = input.received.is_none()
            && matches!(input.reader.compression(), DetectedCompression::None);
        is_plain.then_some(input.file_bytes)
    };
    inputs.iter().map(bytes).sum()
}

/// The section header for a copy.
pub(super) struct CopiedSection {
    pub section: Section,
    /// All its options, and their byte order.
    pub options: (Vec<u8>, ByteOrder),
    /// Options of headers of the inputs that it does not have.
    pub left_out: u64,
}

impl CopiedSection {
    /// The section of a single input; of several, what they have in common, and the comments of all.
    pub(super) fn of(inputs: &[Input]) -> Self {
        let headers: Vec<_> = inputs.iter().map(|input| input.reader.header()).collect();
        let section = common_section(&headers);
        if let [header] = headers[..] {
            return Self {
                section,
                options: (header.options.clone(), header.byte_order),
                left_out: 0,
            };
        }
        let native: Vec<_> = headers
            .iter()
            .map(|header| native_options(header))
            .collect();
        let sets: Vec<HashSet<&[u8]>> = native.iter().map(|all| described(all).collect()).collect();
        let first = native.first().into_iter().flat_map(|all| described(all));
        let common: Vec<&[u8]> = first
            .filter(|option| sets.iter().all(|set| set.contains(option)))
            .collect();
        let kept: HashSet<&[u8]> = common.iter().copied().collect();
        let all = native.iter().flat_map(|all| described(all));
        let left_out = all.filter(|option| !kept.contains(option)).count() as u64;
        let mut options = Vec::new();
        for comment in distinct_comments(&headers) {
            append_option(&mut options, COMMENT, comment.as_bytes());
        }
        options.extend(common.into_iter().flatten());
        Self {
            section,
            options: (options, ByteOrder::NATIVE),
            left_out,
        }
    }
}

/// The options of a header, in the byte order of this machine.
fn native_options(header: &Header) -> Vec<u8> {
    let mut native = Vec::new();
    options_of(header).append_to(kind::SECTION, &mut native);
    native
}

/// The options but comments and the application.
fn described(native: &[u8]) -> impl Iterator<Item = &[u8]> {
    let all = Options {
        bytes: native,
        order: ByteOrder::NATIVE,
    };
    let kept = all
        .into_iter()
        .filter(|option| ![COMMENT, APPLICATION].contains(&option.code));
    kept.map(|option| option.bytes)
}

/// The fields that `headers` have in common, and the comments of all.
fn common_section(headers: &[&Header]) -> Section {
    let mut sections = headers.iter().map(|header| &header.section);
    let Some(first) = sections.next() else {
        return Section::default();
    };
    let mut common = first.clone();
    for section in sections {
        common.os = common.os.filter(|_| first.os == section.os);
        common.hardware = common
            .hardware
            .filter(|_| first.hardware == section.hardware);
    }
    let comments = distinct_comments(headers);
    common.comment = (!comments.is_empty()).then(|| comments.join("\n"));
    common
}

/// The comments of all `headers`, each once.
fn distinct_comments<'h>(headers: &[&'h Header]) -> Vec<Cow<'h, str>> {
    let mut seen = HashSet::new();
    let all = headers.iter().copied().flat_map(comments_of);
    all.filter(|comment| seen.insert(comment.clone())).collect()
}

/// The comments of a section.
fn comments_of(header: &Header) -> impl Iterator<Item = Cow<'_, str>> {
    let comments = options_of(header).into_iter();
    let comments = comments.filter(|option| option.code == COMMENT);
    comments.map(|option| String::from_utf8_lossy(option.value))
}

fn options_of(header: &Header) -> Options<'_> {
    Options {
        bytes: &header.options,
        order: header.byte_order,
    }
}
