//! A line for each answer, as ping has them.

use std::io::{self, Write};

use tapline::ping::Event;
use tapline::probe::{Message, Probe, Prober, Verdict};

use super::milliseconds::of_line;
use super::network_words::{detail, told_of, words};
use super::{figures, sidelines};
use crate::args::PingArgs;

/// Bytes of an ICMP header.
const HEADER_BYTES: usize = 8;

/// Lines about answers and errors.
pub struct Lines<'a> {
    args: &'a PingArgs,
}

impl<'a> Lines<'a> {
    pub fn new(args: &'a PingArgs) -> Self {
        Self { args }
    }

    /// Writes the line for `event`, if there is one, and has it seen at once.
    pub fn tell(&self, out: &mut impl Write, event: &Event<'_>, prober: &Prober) -> io::Result<()> {
        match event {
            Event::Answer {
                verdict,
                message,
                wall_ns,
            } => {
                let Some(line) = self.line(verdict, message, prober) else {
                    return Ok(());
                };
                if self.args.timestamps {
                    let ns = wall_ns.unwrap_or_else(abi::clock::realtime_ns);
                    let (seconds, us) = (ns / 1_000_000_000, ns / 1_000 % 1_000_000);
                    write!(out, "[{seconds}.{us:06}] ")?;
                }
                writeln!(out, "{line}")?;
            }
            Event::Lost { probe } if self.args.verbose => {
                write!(out, "no answer yet for icmp_seq={}", probe.sequence())?;
                if prober.targets().len() > 1 {
                    let name = figures::name(prober.targets(), probe.target);
                    write!(out, " from {name}")?;
                }
                writeln!(out)?;
            }
            Event::Dropped { probe, error } => {
                let name = figures::name(prober.targets(), probe.target);
                sidelines::not_sent(&name, Some(probe.sequence()), error);
            }
            _ => return Ok(()),
        }
        out.flush()
    }

    fn line(&self, verdict: &Verdict, message: &Message<'_>, prober: &Prober) -> Option<String> {
        if let Some((probe, error)) = told_of(verdict, message) {
            let (router, sequence) = (error.router, probe.sequence());
            let about = if prober.targets().len() > 1 {
                format!(" for {}", self.origin(prober, probe.target))
            } else {
                String::new()
            };
            let (words, detail) = (words(&error), detail(message));
            return Some(format!(
                "From {router} icmp_seq={sequence} {words}{detail}{about}"
            ));
        }
        match (verdict, message) {
            (verdict, Message::Reply(reply)) => {
                let (probe, rtt_ns, what) = reading(verdict)?;
                let bytes = reply.payload.len() + HEADER_BYTES;
                let origin = match verdict {
                    Verdict::WrongSource { source, .. } => source.to_string(),
                    _ => self.origin(prober, probe.target),
                };
                let sequence = reply.sequence;
                let hops = reply.hops;
                let ttl = hops.map_or_else(String::new, |hops| format!(" ttl={hops}"));
                let time =
                    rtt_ns.map_or_else(String::new, |ns| format!(" time={} ms", of_line(ns)));
                let damage = if reply.intact { "" } else { " (BAD CHECKSUM!)" };
                Some(format!(
                    "{bytes} bytes from {origin}: icmp_seq={sequence}{ttl}{time}{what}{damage}"
                ))
            }
            _ => None,
        }
    }

    fn origin(&self, prober: &Prober, target: u32) -> String {
        let targets = prober.targets();
        let address = figures::address(targets, target);
        match targets.name(target) {
            Some(_) if !self.args.numeric => {
                format!("{} ({address})", figures::name(targets, target))
            }
            _ => address,
        }
    }
}

/// Which probe a reply is about, its round trip, and what is odd about it.
fn reading(verdict: &Verdict) -> Option<(Probe, Option<u64>, &'static str)> {
    match *verdict {
        Verdict::Received { probe, rtt_ns, .. } => Some((probe, rtt_ns, "")),
        Verdict::Late { probe, rtt_ns } => Some((probe, rtt_ns, " (LATE!)")),
        Verdict::Duplicate { probe, rtt_ns } => Some((probe, rtt_ns, " (DUP!)")),
        Verdict::Stale { probe } => Some((probe, None, " (LATE!)")),
        Verdict::WrongSource { probe, .. } => Some((probe, None, " (DIFFERENT ADDRESS!)")),
        Verdict::Corrupt { target, probe } => {
            let probe = probe.unwrap_or(Probe { target, round: 0 });
            Some((probe, None, " (WRONG DATA!)"))
        }
        Verdict::CutShort { target } => Some((Probe { target, round: 0 }, None, " (truncated)")),
        _ => None,
    }
}
