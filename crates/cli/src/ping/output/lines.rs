//! A line for each answer, in ping's style.

use std::io::{self, Write};
use std::time::SystemTime;

use tapline::ping::{AnswerMessage, Classification, PingEvent, Probe, Prober};

use super::icmp_text::{describe, detail, reported_error};
use super::milliseconds::line_ms;
use super::{figures, warnings};
use crate::args::PingArgs;
use crate::ping::setup;

/// Bytes of an ICMP header.
const HEADER_BYTES: usize = 8;

/// Prints answers and errors.
pub struct AnswerLines<'a> {
    args: &'a PingArgs,
}

impl<'a> AnswerLines<'a> {
    pub fn new(args: &'a PingArgs) -> Self {
        Self { args }
    }

    /// Prints the line for `event`, if it has one, and flushes.
    pub fn print(
        &self,
        out: &mut impl Write,
        event: &PingEvent,
        statistics: &Prober,
    ) -> io::Result<()> {
        match event {
            PingEvent::Answer {
                class,
                message,
                wall_ns,
            } => {
                let Some(line) = self.line(class, message, statistics) else {
                    return Ok(());
                };
                if self.args.timestamps {
                    let ns = wall_ns.unwrap_or_else(realtime_ns);
                    let (seconds, us) = (ns / 1_000_000_000, ns / 1_000 % 1_000_000);
                    write!(out, "[{seconds}.{us:06}] ")?;
                }
                writeln!(out, "{line}")?;
            }
            PingEvent::Lost { probe } if self.args.verbose => {
                write!(out, "no answer yet for icmp_seq={}", probe.sequence())?;
                if statistics.targets().len() > 1 {
                    let targets = statistics.targets();
                    let name = figures::name(targets, probe.target);
                    let path = figures::path(targets, probe.target);
                    write!(out, " from {name}{path}")?;
                }
                writeln!(out)?;
            }
            PingEvent::NotSent { probe, error } => {
                let name = figures::name(statistics.targets(), probe.target);
                let is_in_kernel = setup::is_in_kernel(self.args);
                warnings::not_sent(&name, Some(probe.sequence()), error, is_in_kernel);
            }
            _ => return Ok(()),
        }
        out.flush()
    }

    fn line(
        &self,
        class: &Classification,
        message: &AnswerMessage,
        statistics: &Prober,
    ) -> Option<String> {
        if let Some((probe, error)) = reported_error(class, message) {
            let (router, sequence) = (error.router, probe.sequence());
            let about = if statistics.targets().len() > 1 {
                format!(" for {}", self.origin(statistics, probe.target))
            } else {
                String::new()
            };
            let (text, detail) = (describe(&error), detail(message));
            return Some(format!(
                "From {router} icmp_seq={sequence} {text}{detail}{about}"
            ));
        }
        match message {
            AnswerMessage::Reply {
                hops,
                sequence,
                payload_bytes,
                is_intact,
                ..
            } => {
                let (probe, rtt_ns, remark) = remark(class)?;
                let bytes = payload_bytes + HEADER_BYTES;
                let origin = match class {
                    Classification::WrongSource { source, .. } => source.to_string(),
                    _ => self.origin(statistics, probe.target),
                };
                let ttl = hops.map_or_else(String::new, |hops| format!(" ttl={hops}"));
                let time =
                    rtt_ns.map_or_else(String::new, |ns| format!(" time={} ms", line_ms(ns)));
                let damage = if *is_intact { "" } else { " (BAD CHECKSUM!)" };
                Some(format!(
                    "{bytes} bytes from {origin}: icmp_seq={sequence}{ttl}{time}{remark}{damage}"
                ))
            }
            _ => None,
        }
    }

    fn origin(&self, statistics: &Prober, target: u32) -> String {
        let targets = statistics.targets();
        let address = figures::shown_address(targets, target);
        let path = figures::path(targets, target);
        match targets.name(target) {
            Some(_) if !self.args.numeric => {
                format!("{} ({address}){path}", figures::name(targets, target))
            }
            _ => address + &path,
        }
    }
}

/// The probe of a reply, its round trip, and a remark if it is not a plain answer.
fn remark(class: &Classification) -> Option<(Probe, Option<u64>, &'static str)> {
    match *class {
        Classification::Received { probe, rtt_ns, .. } => Some((probe, rtt_ns, "")),
        Classification::Late { probe, rtt_ns } => Some((probe, rtt_ns, " (LATE!)")),
        Classification::Duplicate { probe, rtt_ns } => Some((probe, rtt_ns, " (DUP!)")),
        Classification::Stale { probe } => Some((probe, None, " (LATE!)")),
        Classification::WrongSource { probe, .. } => Some((probe, None, " (DIFFERENT ADDRESS!)")),
        Classification::Corrupt { target, probe } => {
            let probe = probe.unwrap_or(Probe { target, round: 0 });
            Some((probe, None, " (WRONG DATA!)"))
        }
        Classification::CutShort { target } => {
            Some((Probe { target, round: 0 }, None, " (truncated)"))
        }
        _ => None,
    }
}

/// The wall clock in nanoseconds since 1970.
pub fn realtime_ns() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64)
}
