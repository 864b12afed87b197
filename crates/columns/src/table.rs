//! Rows to where they are kept.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use crate::batch::{BATCH_ROWS, Rows};
use crate::encoder::{ColumnFormat, Encoder};
use crate::output::Output;
use crate::partition::{self, Hour, OPEN_FILES};

/// Where rows go.
#[derive(Debug)]
pub enum Place {
    /// A file, which appears when it is complete. Pipes, devices and what a link leads to are written to as rows come.
    File(PathBuf),
    /// An open descriptor, called `name` in errors.
    Descriptor {
        /// The descriptor.
        file: File,
        /// Its name.
        name: String,
    },
    /// Files below a directory that exists.
    Partitions(Partitions),
}

/// A directory with files in `date=/hour=/host=/`, by the UTC hour of each row's time.
#[derive(Clone, Debug)]
pub struct Partitions {
    /// The directory.
    pub directory: PathBuf,
    /// Name of this host.
    pub host: String,
    /// Open files are completed at every multiple of this time since 1970, as [`Table::flush`] sees it.
    pub interval_ns: NonZeroU64,
}

/// Why rows could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
#[non_exhaustive]
pub struct TableError {
    /// The file, or the name of the descriptor.
    pub path: PathBuf,
    /// The kernel's answer.
    pub source: io::Error,
}

/// A file that is complete and has its name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompleteFile {
    /// The file.
    pub path: PathBuf,
    /// Rows in it.
    pub rows: u64,
    /// Its size.
    pub bytes: u64,
}

/// Receives each file that is complete. An error ends the table.
pub type OnComplete = Box<dyn FnMut(CompleteFile) -> io::Result<()> + Send>;

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Rows in complete files.
    pub rows: u64,
    /// Bytes of complete files.
    pub bytes: u64,
    /// Number of complete files.
    pub files: u64,
    /// The last complete file.
    pub last: Option<PathBuf>,
}

/// Writes rows.
pub struct Table<R: Rows> {
    format: ColumnFormat,
    partitions: Option<Partitions>,
    /// Those that were written to last are at the end.
    open: Vec<OpenFile<R>>,
    /// Number of the interval of the last flush.
    interval: Option<u64>,
    numbered: u64,
    now_ns: u64,
    max_file_bytes: u64,
    on_complete: Option<OnComplete>,
    written: Written,
}

/// A file that is written.
struct OpenFile<R> {
    path: PathBuf,
    hour: Hour,
    rows: R,
    encoder: Encoder<Output>,
    count: u64,
    /// Rows are missing: it is never completed.
    is_broken: bool,
}

impl<R: Rows> Table<R> {
    /// Opens a place. `now_ns` is the time since 1970, of which the names of partitions' files are made.
    ///
    /// # Errors
    /// [`TableError`] if a file cannot be created.
    pub fn new(format: ColumnFormat, place: Place, now_ns: u64) -> Result<Self, TableError> {
        let mut table = Self {
            format,
            partitions: None,
            open: Vec::new(),
            interval: None,
            numbered: 0,
            now_ns,
            max_file_bytes: u64::MAX,
            on_complete: None,
            written: Written::default(),
        };
        let (path, output) = match place {
            Place::Partitions(partitions) => {
                table.partitions = Some(partitions);
                return Ok(table);
            }
            Place::File(path) => {
                let output = Output::create(&path);
                (path, output)
            }
            Place::Descriptor { file, name } => (name.into(), Ok(Output::descriptor(file))),
        };
        let opened = output
            .and_then(|output| OpenFile::new(format, path.clone(), Hour::of(None), output))
            .map_err(|source| TableError { path, source })?;
        table.open.push(opened);
        Ok(table)
    }

    /// Limits the size of files: those of partitions are completed at about `bytes`, and a single file fails that would have
    /// more. Sizes are looked at after each [`BATCH_ROWS`] rows.
    #[must_use]
    pub fn max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_file_bytes = bytes;
        self
    }

    /// Hands each complete file to `receiver`.
    #[must_use]
    pub fn on_complete(mut self, receiver: OnComplete) -> Self {
        self.on_complete = Some(receiver);
        self
    }

    /// Adds a row of this time.
    ///
    /// # Errors
    /// [`TableError`] if a file cannot be created or written, or has reached its limit.
    #[inline]
    pub fn add(&mut self, time_ns: Option<u64>, row: &R::Row<'_>) -> Result<(), TableError> {
        let hour = match self.partitions {
            Some(_) => Hour::of(time_ns),
            None => Hour::of(None),
        };
        let is_encoded = match self.open.last_mut() {
            Some(file) if file.hour == hour => file.add(row)?,
            _ => self.file_of(hour)?.add(row)?,
        };
        if is_encoded {
            self.limit_last()?;
        }
        Ok(())
    }

    /// Completes the file that was written to last, or fails, if it has reached the limit.
    fn limit_last(&mut self) -> Result<(), TableError> {
        let limit = self.max_file_bytes;
        match self.open.pop_if(|file| file.encoder.bytes() >= limit) {
            None => Ok(()),
            Some(file) if self.partitions.is_some() => self.complete(file),
            Some(file) => {
                let text = format!("it has reached the limit of {limit} bytes");
                let source = io::Error::new(io::ErrorKind::FileTooLarge, text);
                let path = file.path;
                Err(TableError { path, source })
            }
        }
    }

    /// The file of an hour, moved to the end or created.
    fn file_of(&mut self, hour: Hour) -> Result<&mut OpenFile<R>, TableError> {
        let known = self.open.iter().position(|file| file.hour == hour);
        let file = if let Some(at) = known {
            self.open.remove(at)
        } else {
            if self.open.len() == OPEN_FILES {
                let oldest = self.open.remove(0);
                self.complete(oldest)?;
            }
            self.create(hour)?
        };
        self.open.push(file);
        let at = self.open.len() - 1;
        Ok(&mut self.open[at])
    }

    fn create(&mut self, hour: Hour) -> Result<OpenFile<R>, TableError> {
        let Some(partitions) = &self.partitions else {
            unreachable!("a place without partitions has one file, which is open until the end");
        };
        self.numbered += 1;
        let root = &partitions.directory;
        let (host, suffix) = (&partitions.host, self.format.suffix());
        let path = partition::file(root, hour, host, self.now_ns, self.numbered, suffix).map_err(
            |source| TableError {
                path: root.clone(),
                source,
            },
        )?;
        let opened = Output::create(&path)
            .and_then(|output| OpenFile::new(self.format, path.clone(), hour, output));
        opened.map_err(|source| TableError { path, source })
    }

    /// Hands over what can be read before the end, and completes the files of partitions whose interval is over. `now_ns` is the
    /// time since 1970.
    ///
    /// # Errors
    /// [`TableError`] if a file cannot be written.
    pub fn flush(&mut self, now_ns: u64) -> Result<(), TableError> {
        self.now_ns = now_ns;
        if let Some(partitions) = &self.partitions {
            let interval = now_ns / partitions.interval_ns;
            let before = self.interval.replace(interval);
            if before.is_some_and(|before| before != interval) {
                return self.complete_all();
            }
        }
        self.open.iter_mut().try_for_each(OpenFile::flush)
    }

    /// Completes all files but those in which rows are missing because of an earlier error.
    ///
    /// # Errors
    /// [`TableError`] if one cannot be written; those that follow are not completed.
    pub fn finish(mut self) -> Result<Written, TableError> {
        self.complete_all()?;
        Ok(self.written)
    }

    fn complete_all(&mut self) -> Result<(), TableError> {
        std::mem::take(&mut self.open)
            .into_iter()
            .try_for_each(|file| self.complete(file))
    }

    fn complete(&mut self, mut file: OpenFile<R>) -> Result<(), TableError> {
        if file.is_broken {
            // The error was returned when its rows were added.
            return Ok(());
        }
        file.encode()?;
        let OpenFile {
            path,
            encoder,
            count,
            ..
        } = file;
        let completed = encoder.finish().and_then(|output| {
            let bytes = output.bytes();
            output.complete().map(|()| bytes)
        });
        match completed {
            Ok(bytes) => {
                let written = &mut self.written;
                written.bytes += bytes;
                written.rows += count;
                written.files += 1;
                written.last = Some(path.clone());
                let Some(receiver) = &mut self.on_complete else {
                    return Ok(());
                };
                let file = CompleteFile {
                    path: path.clone(),
                    rows: count,
                    bytes,
                };
                receiver(file).map_err(|source| TableError { path, source })
            }
            Err(source) => Err(TableError { path, source }),
        }
    }
}

fn error(path: &Path, source: io::Error) -> TableError {
    let path = path.to_owned();
    TableError { path, source }
}

impl<R: Rows> OpenFile<R> {
    fn new(format: ColumnFormat, path: PathBuf, hour: Hour, output: Output) -> io::Result<Self> {
        Ok(Self {
            path,
            hour,
            rows: R::default(),
            encoder: Encoder::new::<R>(format, output)?,
            count: 0,
            is_broken: false,
        })
    }

    /// Returns whether rows were encoded.
    #[inline]
    fn add(&mut self, row: &R::Row<'_>) -> Result<bool, TableError> {
        self.rows.add(row);
        self.count += 1;
        if self.rows.len() < BATCH_ROWS {
            return Ok(false);
        }
        self.encode().map(|()| true)
    }

    fn flush(&mut self) -> Result<(), TableError> {
        if let Encoder::Parquet(_) = self.encoder {
            return Ok(());
        }
        self.encode()?;
        let flushed = self.encoder.flush();
        flushed.map_err(|source| error(&self.path, source))
    }

    fn encode(&mut self) -> Result<(), TableError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let batch = self.rows.take();
        let written = self.encoder.write(&batch);
        self.is_broken = written.is_err();
        written.map_err(|source| error(&self.path, source))
    }
}
