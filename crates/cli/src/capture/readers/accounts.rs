//! What is printed about several readers.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::Duration;

use serde_json::{Value, json};
use tapline::capture::{CaptureSummary, FanoutMode, OpenReader, ReaderTime};
use tapline::irq::PinnedIrq;

use crate::args::CaptureArgs;
use crate::capture::report::account::{account_line, lost_json};
use crate::values::units::{binary, counted, numbered, span};

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
        FanoutMode::Random => "random",
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
    let cpus: BTreeSet<u32> = readers.iter().map(|reader| reader.cpu as u32).collect();
    let shared = mode.map_or_else(String::new, |mode| {
        format!(", packets distributed by {}", distribution(mode))
    });
    let too_many = if cpus.len() < readers.len() {
        " (more readers than CPUs: some share one)"
    } else {
        ""
    };
    Some(format!(
        "{} on {}{too_many}{shared}",
        counted(readers.len() as u64, "reader"),
        numbered("CPU", &cpus)
    ))
}

/// The interrupts of receive queues that were pinned, in the start event.
pub fn irqs_json(irqs: &[PinnedIrq]) -> Value {
    let irq = |one: &PinnedIrq| {
        json!({
            "interface": one.link,
            "queue": one.queue,
            "irq": one.irq,
            "cpu": one.cpu,
        })
    };
    irqs.iter().map(irq).collect()
}

/// The pinned interrupts in the start message.
pub fn irqs_line(irqs: &[PinnedIrq]) -> Option<String> {
    let irq = |one: &PinnedIrq| format!("{} to CPU {}", one.irq, one.cpu);
    let pinned: Vec<_> = irqs.iter().map(irq).collect();
    let s = if irqs.len() == 1 { "" } else { "s" };
    (!irqs.is_empty()).then(|| format!("pinned interrupt{s} {}", pinned.join(", ")))
}

/// Which queues are in no account.
pub fn unread_line(queues: &[u32]) -> Option<String> {
    let queues: BTreeSet<u32> = queues.iter().copied().collect();
    (!queues.is_empty()).then(|| format!("not read: {}", numbered("queue", &queues)))
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
    object["unread_queues"] = result.unread_queues.clone().into();
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
    if let Some(line) = unread_line(&result.unread_queues) {
        writeln!(out, "{line}")?;
    }
    if let Some(merge) = &result.merge {
        writeln!(
            out,
            "merged by time stamp: {} (limits: {} of waiting packets, {} of delay)",
            counted(merge.late, "late packet"),
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
            "one reader was too slow: distribute the packets with '--queues all' or '--queues 2'";
        writeln!(out, "{line}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_of_no_interrupts() {
        assert_eq!(irqs_line(&[]), None);
        assert_eq!(irqs_json(&[]), json!([]));
    }
}
