//! Writes rows to a file, a descriptor or a partitioned directory.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use crate::batch::{BATCH_ROWS, Rows};
use crate::encoder::{ColumnFormat, Encoder};
use crate::output::Output;
use crate::partition::{self, Hour, MOST_HOURS, OPEN_FILES};

/// Where rows are written.
#[derive(Debug)]
pub enum Destination {
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

/// A directory with files in `date=/hour=/host=/`, by the UTC hour of each row's time. A file has at most about 33.5 million rows.
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

/// Most small files that are completed because times go back to an earlier hour. Times that jump between more than
/// [`MOST_HOURS`] hours could put each row into a file of its own.
const MOST_SMALL_FILES: u64 = 1000;

/// Rows after which a file of partitions is completed, also within its interval: the metadata of all rows of an open file are in
/// memory. For these it is less than 16 MiB.
const FILE_ROWS_MAX: u64 = 1 << 25;

/// Writes rows.
pub struct Table<R: Rows> {
    format: ColumnFormat,
    partitions: Option<Partitions>,
    /// The open files, least recently written first. Without partitions there is one until the end.
    open: Vec<OpenHour<R>>,
    /// The latest hour of a row.
    latest: Hour,
    /// Completed because times went back.
    small_files: u64,
    /// Number of the interval of the last flush.
    interval: Option<u64>,
    numbered: u64,
    now_ns: u64,
    max_file_bytes: u64,
    /// Of a file of partitions.
    max_file_rows: u64,
    on_complete: Option<OnComplete>,
    written: Written,
}

/// The rows of an hour that are not in a complete file.
struct OpenHour<R> {
    hour: Hour,
    /// Fewer than [`BATCH_ROWS`].
    rows: R,
    /// What is encoded; none of the partitions of few rows.
    file: Option<OpenFile>,
    count: u64,
    /// Rows are missing: it is never completed.
    is_broken: bool,
}

/// A file that is written.
struct OpenFile {
    path: PathBuf,
    encoder: Encoder<Output>,
}

impl<R: Rows> Table<R> {
    /// Opens a destination. `now_ns` is the time since 1970, which is part of the names of partitions' files.
    ///
    /// # Errors
    /// [`TableError`] if a file cannot be created.
    pub fn new(
        format: ColumnFormat,
        destination: Destination,
        now_ns: u64,
    ) -> Result<Self, TableError> {
        let mut table = Self {
            format,
            partitions: None,
            open: Vec::new(),
            latest: Hour::of(None),
            small_files: 0,
            interval: None,
            numbered: 0,
            now_ns,
            max_file_bytes: u64::MAX,
            max_file_rows: FILE_ROWS_MAX,
            on_complete: None,
            written: Written::default(),
        };
        let (path, output) = match destination {
            Destination::Partitions(partitions) => {
                table.partitions = Some(partitions);
                return Ok(table);
            }
            Destination::File(path) => {
                let output = Output::create(&path);
                (path, output)
            }
            Destination::Descriptor { file, name } => (name.into(), Ok(Output::descriptor(file))),
        };
        let encoder = output.and_then(|output| Encoder::new::<R>(format, output));
        let encoder = encoder.map_err(|source| error(&path, source))?;
        table.open.push(OpenHour {
            file: Some(OpenFile { path, encoder }),
            ..OpenHour::new(Hour::of(None))
        });
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
        let is_full = match self.open.last_mut() {
            Some(open) if open.hour == hour => open.add(row),
            _ => self.hour(hour)?.add(row),
        };
        if is_full {
            self.encode_last()?;
            self.limit_last()?;
        }
        Ok(())
    }

    /// Encodes the rows of the hour that was written to last.
    fn encode_last(&mut self) -> Result<(), TableError> {
        let Some(mut last) = self.open.pop() else {
            return Ok(());
        };
        let result = self.encode(&mut last);
        self.open.push(last);
        result
    }

    /// Encodes the rows of an hour into its file, which is created if it has none.
    fn encode(&mut self, open: &mut OpenHour<R>) -> Result<(), TableError> {
        if open.file.is_none() {
            let mut others = self.open.iter();
            let files = others.clone().filter(|other| other.file.is_some());
            if files.count() >= OPEN_FILES
                && let Some(oldest) = others.position(|other| other.file.is_some())
            {
                let oldest = self.open.remove(oldest);
                self.complete(oldest)?;
            }
            let created = self.create(open.hour);
            open.is_broken = created.is_err();
            open.file = Some(created?);
        }
        open.encode()
    }

    /// Completes the file that was written to last, or fails, if it has reached the limit.
    fn limit_last(&mut self) -> Result<(), TableError> {
        let limit = self.max_file_bytes;
        let max_rows = match self.partitions {
            Some(_) => self.max_file_rows,
            None => u64::MAX,
        };
        let bytes = |open: &OpenHour<R>| open.file.as_ref().map_or(0, |file| file.encoder.bytes());
        let is_full = |open: &mut OpenHour<R>| bytes(open) >= limit || open.count >= max_rows;
        match self.open.pop_if(is_full) {
            None => Ok(()),
            Some(open) if self.partitions.is_some() => self.complete(open),
            Some(open) => {
                let text = format!(
                    "it has reached the limit of {limit} bytes (use --partition, which writes several files, or a larger --spool-limit)"
                );
                let source = io::Error::new(io::ErrorKind::FileTooLarge, text);
                let path = open.file.map(|file| file.path).unwrap_or_default();
                Err(TableError { path, source })
            }
        }
    }

    /// The rows of an hour, moved to the end or new.
    fn hour(&mut self, hour: Hour) -> Result<&mut OpenHour<R>, TableError> {
        let known = self.open.iter().position(|open| open.hour == hour);
        let open = if let Some(at) = known {
            self.open.remove(at)
        } else {
            if self.open.len() == MOST_HOURS {
                let oldest = self.open.remove(0);
                self.limit_small_files(&oldest, hour)?;
                self.complete(oldest)?;
            }
            self.latest = self.latest.max(hour);
            OpenHour::new(hour)
        };
        self.open.push(open);
        let at = self.open.len() - 1;
        Ok(&mut self.open[at])
    }

    /// Fails if too many files have few rows because rows of earlier hours follow. Without this, a file whose times change with
    /// each row would make as many files as it has rows, each of which is waited for until it is on the disk.
    fn limit_small_files(&mut self, oldest: &OpenHour<R>, next: Hour) -> Result<(), TableError> {
        if oldest.file.is_none() && next < self.latest {
            self.small_files += 1;
        }
        let root = self.partitions.as_ref().map(|to| to.directory.as_path());
        match root {
            Some(root) if self.small_files > MOST_SMALL_FILES => {
                let text = format!(
                    "times go back too often between more than {MOST_HOURS} hours (sort the packets by time first, for example with tapline read --sort)"
                );
                Err(error(
                    root,
                    io::Error::new(io::ErrorKind::InvalidData, text),
                ))
            }
            _ => Ok(()),
        }
    }

    fn create(&mut self, hour: Hour) -> Result<OpenFile, TableError> {
        let Some(partitions) = &self.partitions else {
            unreachable!(
                "a destination without partitions has one file, which is open until the end"
            );
        };
        self.numbered += 1;
        let root = &partitions.directory;
        let (host, suffix) = (&partitions.host, self.format.suffix());
        let path = partition::file(root, hour, host, self.now_ns, self.numbered, suffix)
            .map_err(|(path, source)| TableError { path, source })?;
        let output = Output::create(&path);
        match output.and_then(|output| Encoder::new::<R>(self.format, output)) {
            Ok(encoder) => Ok(OpenFile { path, encoder }),
            Err(source) => Err(TableError { path, source }),
        }
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
        self.open.iter_mut().try_for_each(OpenHour::flush)
    }

    /// Completes all files but those in which rows are missing because of an earlier error.
    ///
    /// # Errors
    /// [`TableError`] of the first that cannot be written. The others are completed all the same.
    pub fn finish(&mut self) -> Result<(), TableError> {
        self.complete_all()
    }

    /// What was written so far.
    pub fn written(&self) -> &Written {
        &self.written
    }

    /// Completes each, also after an error, of which it returns the first.
    fn complete_all(&mut self) -> Result<(), TableError> {
        let mut result = Ok(());
        for open in std::mem::take(&mut self.open) {
            let completed = self.complete(open);
            result = result.and(completed);
        }
        result
    }

    fn complete(&mut self, mut open: OpenHour<R>) -> Result<(), TableError> {
        if open.is_broken {
            // The error was returned when its rows were added.
            return Ok(());
        }
        self.encode(&mut open)?;
        let count = open.count;
        let Some(OpenFile { path, encoder }) = open.file else {
            return Ok(());
        };
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

impl<R: Rows> OpenHour<R> {
    fn new(hour: Hour) -> Self {
        Self {
            hour,
            rows: R::default(),
            file: None,
            count: 0,
            is_broken: false,
        }
    }

    /// Returns whether the rows are to be encoded.
    #[inline]
    fn add(&mut self, row: &R::Row<'_>) -> bool {
        self.rows.add(row);
        self.count += 1;
        self.rows.len() >= BATCH_ROWS
    }

    fn flush(&mut self) -> Result<(), TableError> {
        // Nobody reads a file of partitions before it is complete.
        if !matches!(&self.file, Some(file) if matches!(file.encoder, Encoder::Arrow(_))) {
            return Ok(());
        }
        self.encode()?;
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let flushed = file.encoder.flush();
        flushed.map_err(|source| error(&file.path, source))
    }

    /// Encodes the rows, if there is a file.
    fn encode(&mut self) -> Result<(), TableError> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        if self.rows.is_empty() {
            return Ok(());
        }
        let batch = self.rows.take();
        let written = file.encoder.write(&batch);
        self.is_broken = written.is_err();
        written.map_err(|source| error(&file.path, source))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc::channel;

    use super::*;
    use crate::packets::{PacketRow, PacketRows};

    #[test]
    fn an_hour_of_many_rows_has_several_files() {
        let name = format!("tapline-table-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir(&directory).expect("a directory");
        let destination = Destination::Partitions(Partitions {
            directory: directory.clone(),
            host: "a".into(),
            interval_ns: NonZeroU64::MAX,
        });
        let (complete, files) = channel();
        let table =
            Table::<PacketRows>::new(ColumnFormat::Parquet, destination, 1).expect("a table");
        let mut table = table.on_complete(Box::new(move |file| {
            complete.send(file.rows).map_err(io::Error::other)
        }));
        let batch = BATCH_ROWS as u64;
        table.max_file_rows = 2 * batch;
        let row = PacketRow {
            time_ns: Some(7),
            interface: "",
            direction: None,
            bytes: &[],
            original_bytes: 0,
            link_type: 1,
            packet_id: None,
        };
        for _ in 0..5 * batch + 3 {
            table.add(row.time_ns, &row).expect("a row");
        }
        table.finish().expect("files");
        assert_eq!(table.written().files, 3);
        drop(table);
        let rows: Vec<u64> = files.iter().collect();
        assert_eq!(rows, [2 * batch, 2 * batch, batch + 3]);
        fs::remove_dir_all(&directory).expect("its files");
    }
}
