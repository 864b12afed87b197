//! Where whole buffers go.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::options::Output;

/// An open output.
pub(super) struct Sink {
    place: Place,
    bytes: u64,
    /// Why nothing more can be written.
    broken: Option<Answer>,
}

enum Place {
    /// A descriptor that has a position and can be cut.
    Regular(File),
    Stream(Box<dyn Write + Send>),
}

/// What is left of an [`io::Error`] when it has to be told again.
#[derive(Clone, Copy, Debug)]
enum Answer {
    Os(i32),
    Kind(ErrorKind),
}

/// A write that did not take everything.
#[derive(Debug)]
pub(super) struct Failure {
    /// Packets that are written nevertheless.
    pub(super) packets_written: u64,
    pub(super) source: io::Error,
}

impl Sink {
    /// Makes the file `path`, or empties it.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        Self::of_file(options.open(path)?)
    }

    /// Takes an output that is open already.
    pub(super) fn of_output(output: Output) -> io::Result<Self> {
        match output {
            Output::Path(path) => Self::create(&path),
            Output::Descriptor { file, .. } => Self::of_file(file),
            Output::Stream { writer, .. } => Ok(Self::new(Place::Stream(writer))),
        }
    }

    fn of_file(file: File) -> io::Result<Self> {
        let regular = file.metadata()?.is_file();
        Ok(Self::new(if regular {
            Place::Regular(file)
        } else {
            Place::Stream(Box::new(file))
        }))
    }

    fn new(place: Place) -> Self {
        Self {
            place,
            bytes: 0,
            broken: None,
        }
    }

    /// Bytes written so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes all of `data`.
    ///
    /// If only a part could be written, `whole` says how much of it is whole records and how many
    /// packets these hold. A regular file is cut to that and can be written on; a stream has its
    /// part and is not written to again.
    pub(super) fn write(
        &mut self,
        data: &[u8],
        whole: impl FnOnce(&[u8]) -> (usize, u64),
    ) -> Result<(), Failure> {
        if let Some(answer) = self.broken {
            return Err(Failure {
                packets_written: 0,
                source: answer.error(),
            });
        }
        let (written, result) = match &mut self.place {
            Place::Regular(file) => write_all(file, data),
            Place::Stream(stream) => {
                let (written, result) = write_all(stream, data);
                (written, result.and_then(|()| stream.flush()))
            }
        };
        self.bytes += written as u64;
        let Err(source) = result else { return Ok(()) };
        let (kept, packets_written) = whole(&data[..written]);
        if !self.cut((written - kept) as u64) {
            self.broken = Some(Answer::of(&source));
        }
        Err(Failure {
            packets_written,
            source,
        })
    }

    /// Takes the last `bytes` back; `false` if they stay.
    fn cut(&mut self, bytes: u64) -> bool {
        let Place::Regular(file) = &mut self.place else {
            return false;
        };
        // The position is asked for, not remembered: a descriptor that appends moves on its own.
        let cut = file.stream_position().and_then(|position| {
            let end = position.saturating_sub(bytes);
            file.set_len(end)?;
            file.seek(SeekFrom::Start(end))
        });
        if cut.is_ok() {
            self.bytes -= bytes;
        }
        cut.is_ok()
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink")
            .field("bytes", &self.bytes)
            .field("broken", &self.broken)
            .finish_non_exhaustive()
    }
}

impl Answer {
    fn of(error: &io::Error) -> Self {
        error
            .raw_os_error()
            .map_or(Self::Kind(error.kind()), Self::Os)
    }

    fn error(self) -> io::Error {
        match self {
            Self::Os(number) => io::Error::from_raw_os_error(number),
            Self::Kind(kind) => kind.into(),
        }
    }
}

/// Writes `data` in as many parts as the writer wants; tells how much of it was taken.
fn write_all(writer: &mut impl Write, data: &[u8]) -> (usize, io::Result<()>) {
    let mut written = 0;
    // Bound: each round takes at least one octet, ends, or was interrupted by a signal.
    while written < data.len() {
        match writer.write(&data[written..]) {
            Ok(0) => return (written, Err(ErrorKind::WriteZero.into())),
            Ok(taken) => written += taken,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return (written, Err(error)),
        }
    }
    (written, Ok(()))
}
