//! The files to read, one or several as one.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use store::read::{Item, Merge, ReadError, Reader};
use tapline::Stop;

use super::stream::Stream;
use crate::failure::{Exit, Failure};

/// An opened file.
pub struct Input {
    /// What people call it.
    pub name: String,
    pub reader: Reader,
    /// Bytes that have arrived, of a stream.
    pub arrived: Option<Arc<AtomicU64>>,
}

pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// What people call the file at `path`.
pub fn name(path: &Path) -> String {
    if is_stdin(path) {
        "standard input".into()
    } else {
        path.display().to_string()
    }
}

/// Standard input can be read once only.
pub fn refuse_twice_stdin(files: &[impl AsRef<Path>]) -> Result<(), Failure> {
    if files.iter().filter(|path| is_stdin(path.as_ref())).count() > 1 {
        let line = "standard input can be read only once";
        return Err(Failure::new(Exit::Usage, line));
    }
    Ok(())
}

impl Input {
    /// Opens the file at `path`; a regular one is mapped, everything else read as a stream.
    pub fn open(path: &Path, stop: &Stop) -> Result<Self, Failure> {
        let name = name(path);
        let file = Self::file(path)
            .map_err(|error| Failure::job_on(format!("cannot open {name}"), &error))?;
        let is_mappable = !is_stdin(path) && file.metadata()?.is_file();
        let (reader, arrived) = if is_mappable {
            (Reader::open(path), None)
        } else {
            let stream = Stream::new(file, stop)?;
            let arrived = stream.bytes();
            (Reader::from_stream(stream), Some(arrived))
        };
        match reader {
            Ok(reader) => Ok(Self {
                name,
                reader,
                arrived,
            }),
            Err(error) => Err(Failure::job_on(name, &error)),
        }
    }

    fn file(path: &Path) -> io::Result<File> {
        if is_stdin(path) {
            Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
        } else {
            File::open(path)
        }
    }
}

/// A file that could not be read to its end.
pub struct Broken {
    /// Its place among the files.
    pub input: usize,
    pub error: ReadError,
}

/// All files, read as one in time order.
pub enum Inputs {
    One(Box<Input>),
    /// The readers of several, in the order they were given.
    Several(Box<Merge>),
}

impl Inputs {
    pub fn new(mut inputs: Vec<Input>) -> Self {
        match (inputs.pop(), inputs.is_empty()) {
            (Some(input), true) => Self::One(Box::new(input)),
            (last, _) => {
                let inputs = inputs.into_iter().chain(last);
                let readers = inputs.map(|input| input.reader).collect();
                Self::Several(Box::new(Merge::new(readers)))
            }
        }
    }

    /// Lends the next packet, interface or statistics; `None` at the end of all files.
    ///
    /// After an error the other files go on.
    #[inline]
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>, Broken> {
        match self {
            Self::One(input) => input
                .reader
                .next_item()
                .map_err(|error| Broken { input: 0, error }),
            Self::Several(merge) => merge.next_item().map_err(|error| Broken {
                input: error.input,
                error: error.source,
            }),
        }
    }

    /// Whether all that has arrived has been read, so that the next item has to be waited for.
    ///
    /// It is known of a single stream that is not compressed.
    #[inline]
    pub fn must_wait(&self) -> bool {
        match self {
            Self::One(input) => input
                .arrived
                .as_ref()
                .is_some_and(|arrived| arrived.load(Ordering::Relaxed) == input.reader.offset()),
            Self::Several(_) => false,
        }
    }
}
