//! Captures with several readers: from flags to their options, and their files.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tapline::capture::{CaptureOptions, FanoutMode, FileConsumer, Queues, ReaderOptions};
use tapline::file::write::IndexCounts;

use crate::args::{CaptureArgs, Order, ReaderCount};
use crate::capture::setup;
use crate::capture::source::{self, Source};
use crate::failure::{Exit, Failure};
use crate::output::{self, Written};

/// The readers of the flags for a capture with `capture`; `None` for a single one. Rejects what several do not support.
pub fn options(
    args: &CaptureArgs,
    capture: &CaptureOptions,
) -> Result<Option<ReaderOptions>, Failure> {
    let flags = &args.readers;
    let Some(queues) = &flags.queues else {
        return Ok(None);
    };
    let is_queue = flags.order == Some(Order::Queue);
    let to_stdout = args.output.write.as_deref().is_some_and(output::is_stdout);
    let line = if is_queue && args.output.write.is_none() {
        "--order queue needs -w FILE, after which its files are named"
    } else if is_queue && (args.who || args.packet_id) {
        "--order queue does not support --who and --packet-id"
    } else if is_queue && args.record.trigger_flow.is_some() {
        "--order queue does not support --trigger-flow: both directions of a flow may be in two queues"
    } else if source::namespaces(&args.netns, &args.interface).is_some() {
        "--queues needs interfaces that stay: it is not for -i any or --netns"
    } else if is_queue && to_stdout {
        "--order queue needs -w FILE, after which its files are named"
    } else if !flags.stripe.is_empty() && !is_queue {
        "--stripe needs --order queue: one file is in one directory"
    } else if !flags.stripe.is_empty() && has_directory(args) {
        "--stripe names the directories: give -w a name without one"
    } else if is_queue && args.count.is_some() {
        "--order queue does not support -c: no reader counts the packets of the others"
    } else {
        let mut options = match queues {
            ReaderCount::Automatic => match ReaderOptions::automatic(capture)? {
                Some(options) => options,
                // Its file is named as those of several.
                None if is_queue => readers(Queues::Count(NonZeroUsize::MIN)),
                None => return Ok(None),
            },
            ReaderCount::Fixed(queues) => readers(queues.clone()),
        };
        options.cpus = flags.cpus.clone().map(|list| list.0).unwrap_or_default();
        options.distribution = flags.fanout.map(FanoutMode::from);
        options.is_merged = !is_queue;
        return Ok(Some(options));
    };
    Err(Failure::new(Exit::Usage, line))
}

fn readers(queues: Queues) -> ReaderOptions {
    let mut options = ReaderOptions::default();
    options.queues = queues;
    options
}

fn has_directory(args: &CaptureArgs) -> bool {
    let path = args.output.write.as_deref();
    path.is_some_and(|path| path.file_name() != Some(path.as_os_str()))
}

/// Whether each reader has a file.
pub fn has_files(args: &CaptureArgs) -> bool {
    args.readers.order == Some(Order::Queue)
}

/// A file for each reader of `capture`.
pub fn files(
    args: &CaptureArgs,
    path: &Path,
    capture: &Source,
    flush: Duration,
) -> Result<Vec<FileConsumer>, Failure> {
    let paths = paths(args, path, capture).into_iter();
    paths
        .map(|path| {
            let file = setup::file(args, &path, capture, None)?;
            Ok(FileConsumer::new(file, flush))
        })
        .collect()
}

/// The path of the file of each reader of `capture`.
pub fn paths(args: &CaptureArgs, path: &Path, capture: &Source) -> Vec<PathBuf> {
    let directories = &args.readers.stripe;
    let readers = capture.readers().iter().enumerate();
    readers
        .map(|(place, reader)| {
            let number = reader.queue.map_or(place, |queue| queue as usize);
            let path = numbered(path, number);
            match directories.len() {
                0 => path,
                count => directories[place % count].join(path),
            }
        })
        .collect()
}

/// What was written to `files`.
pub fn written(files: &[FileConsumer]) -> Written {
    let indexes = files.iter().filter_map(FileConsumer::indexes);
    Written {
        packets: files.iter().map(FileConsumer::packets_written).sum(),
        bytes: files.iter().map(FileConsumer::bytes_written).sum(),
        files: files.iter().flat_map(FileConsumer::paths).collect(),
        processes: files.iter().find_map(FileConsumer::process_counts),
        keys: None,
        indexes: all_indexes(indexes),
        refused_flows: None,
    }
}

/// The sum of the indexes of several files; `None` without any.
pub fn all_indexes(indexes: impl Iterator<Item = IndexCounts>) -> Option<IndexCounts> {
    indexes.reduce(|mut all, one| {
        all.add(one);
        all
    })
}

/// `dir/name.pcapng.zst` becomes `dir/name-queue0.pcapng.zst`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let name = path.file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let (stem, suffix) = name.split_once('.').unwrap_or((&name, ""));
    let mut numbered = OsString::from(format!("{stem}-queue{number}"));
    if !suffix.is_empty() {
        numbered.push(format!(".{suffix}"));
    }
    path.with_file_name(numbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_numbered_before_their_suffix() {
        for (path, expected) in [
            ("a.pcapng", "a-queue3.pcapng"),
            ("/x.y/a.pcapng.zst", "/x.y/a-queue3.pcapng.zst"),
            ("dir/a", "dir/a-queue3"),
        ] {
            assert_eq!(numbered(Path::new(path), 3), Path::new(expected));
        }
    }
}
