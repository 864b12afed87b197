//! Captures with several readers: from flags to their options, their files, and what is printed about them.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tapline::capture::{
    CaptureSummary, FanoutMode, FileConsumer, OpenReader, ReaderOptions, ReaderTime,
};

use super::setup;
use super::source::Source;
use super::summary::{account_line, lost_json};
use crate::args::{CaptureArgs, Order};
use crate::failure::{Exit, Failure};
use crate::output::{self, Written};
use crate::units::{binary, grouped, span};

/// The readers of the flags; `None` for a single one. Rejects what several do not support.
pub fn options(args: &CaptureArgs) -> Result<Option<ReaderOptions>, Failure> {
    let flags = &args.readers;
    let Some(queues) = flags.queues else {
        return Ok(None);
    };
    let is_queue = flags.order == Some(Order::Queue);
    let to_stdout = args.output.write.as_deref().is_some_and(output::is_stdout);
    let line = if args.record.record.is_some() {
        "--queues does not support --record"
    } else if super::source::namespaces(&args.netns, &args.interface).is_some() {
        "--queues needs interfaces that stay: it is not for -i any or --netns"
    } else if is_queue && to_stdout {
        "--order queue needs -w FILE, after which its files are named"
    } else if is_queue && args.count.is_some() {
        "--order queue does not support -c: no reader counts the packets of the others"
    } else {
        let mut options = ReaderOptions::default();
        options.queues = queues;
        options.cpus = flags.cpus.clone().map(|list| list.0).unwrap_or_default();
        options.distribution = flags.fanout.map(FanoutMode::from);
        return Ok(Some(options));
    };
    Err(Failure::new(Exit::Usage, line))
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
    let readers = capture.readers().iter().enumerate();
    readers
        .map(|(number, reader)| {
            let number = reader.queue.map_or(number, |queue| queue as usize);
            let file = setup::file(args, &numbered(path, number), capture)?;
            Ok(FileConsumer::new(file, flush))
        })
        .collect()
}

/// What was written to `files`.
pub fn written(files: &[FileConsumer]) -> Written {
    Written {
        packets: files.iter().map(FileConsumer::packets_written).sum(),
        bytes: files.iter().map(FileConsumer::bytes_written).sum(),
        files: files.iter().flat_map(FileConsumer::paths).collect(),
    }
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

/// How the kernel distributes the packets; null for other back ends.
pub fn distribution_json(mode: Option<FanoutMode>) -> Value {
    mode.map(distribution).into()
}

fn distribution(mode: FanoutMode) -> &'static str {
    match mode {
        FanoutMode::Queue => "queue",
        FanoutMode::Cpu => "cpu",
        FanoutMode::Hash => "hash",
        FanoutMode::RoundRobin => "round-robin",
    }
}

/// The readers in the start event.
pub fn start_json(readers: &[OpenReader]) -> Value {
    let reader = |reader: &OpenReader| json!({"queue": reader.queue, "cpu": reader.cpu});
    readers.iter().map(reader).collect()
}

/// The readers in the start message.
pub fn start_line(readers: &[OpenReader], mode: Option<FanoutMode>) -> Option<String> {
    if readers.is_empty() {
        return None;
    }
    let cpus: Vec<_> = readers
        .iter()
        .map(|reader| reader.cpu.to_string())
        .collect();
    let s = if readers.len() == 1 { "" } else { "s" };
    let shared = mode.map_or_else(String::new, |mode| {
        format!(", which share the packets by {}", distribution(mode))
    });
    let (count, cpus) = (readers.len(), cpus.join(","));
    Some(format!("{count} reader{s} on CPU {cpus}{shared}"))
}

/// Adds the readers to the summary.
pub fn add_summary(object: &mut Value, result: &CaptureSummary) {
    let readers = result.readers.iter().map(|reader| {
        json!({
            "queue": reader.queue,
            "cpu": reader.cpu,
            "received": reader.account.received(),
            "delivered": reader.account.delivered,
            "filtered": reader.account.filtered,
            "lost": lost_json(&reader.account.lost),
            "late": reader.late,
            "ran_ns": reader.time.map(|time| time.ran.as_nanos() as u64),
            "waited_ns": reader.time.map(|time| time.waited.as_nanos() as u64),
        })
    });
    object["readers"] = readers.collect();
    object["merge"] = result.merge.map_or(Value::Null, |merge| {
        json!({
            "late": merge.late,
            "memory_bytes": merge.memory_bytes,
            "max_delay_ns": merge.max_delay.as_nanos() as u64,
            "ran_ns": merge.time.map(|time| time.ran.as_nanos() as u64),
        })
    });
}

/// The readers in the summary for people.
pub fn summary_lines(out: &mut dyn Write, result: &CaptureSummary) -> io::Result<()> {
    for (number, reader) in result.readers.iter().enumerate() {
        let name = match reader.queue {
            Some(queue) => format!("queue {queue}, CPU {}", reader.cpu),
            None => format!("reader {number}, CPU {}", reader.cpu),
        };
        account_line(out, Some(&name), &reader.account)?;
    }
    if let Some(merge) = &result.merge {
        writeln!(
            out,
            "merged by time stamp: {} packets late; at most {} of memory, and {} for a reader that is held up",
            grouped(merge.late),
            binary(merge.memory_bytes),
            span(merge.max_delay),
        )?;
    }
    Ok(())
}

/// Advises several readers if a single one was busy all the time and there are other CPUs.
pub fn advise(
    args: &CaptureArgs,
    time: ReaderTime,
    duration: Duration,
    out: &mut dyn Write,
) -> io::Result<()> {
    let is_busy = time.ran > duration / 2;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if is_busy && cpus > 1 && args.readers.queues.is_none() && args.output.write.is_some() {
        let line =
            "one reader was too slow: several share the work with '--queues all' or '--queues 2'";
        writeln!(out, "{line}")?;
    }
    Ok(())
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
