//! What ping and fping have no line for: the rest of the account, and how it was obtained.

use std::fmt::Display;
use std::io::{self, Write};

use tapline::ping::Outcome;
use tapline::probe::{NetworkError, NetworkErrors};

use super::network_words::words;
use super::teller::Start;
use crate::units::grouped;

/// Says something on standard error, on a line of its own.
pub fn warn(line: &str) {
    // A closed standard error ends nothing.
    let _ = writeln!(
        io::stderr(),
        "tapline: {}",
        line.replace(char::is_control, "?")
    );
}

/// Says where the counters are, if somewhere.
pub fn metrics(start: &Start<'_>) {
    if let Some(url) = start.metrics {
        // A closed standard error ends nothing.
        let _ = writeln!(io::stderr(), "metrics at {url}");
    }
}

/// Says that a probe was not sent.
pub fn not_sent(name: &str, sequence: Option<u16>, error: &io::Error) {
    let sequence = sequence.map_or_else(String::new, |number| format!("icmp_seq={number} "));
    warn(&format!("{sequence}not sent to {name}: {}", reason(error)));
}

/// The system's words without the number that Rust appends, and what they mean where that is not plain.
///
/// # Source
/// EACCES: `raw_sendmsg` and `ip_output_key_hash`, net/ipv4: a broadcast without `SO_BROADCAST`, or a
/// route that prohibits. EPERM: netfilter, `nf_hook_slow`, net/netfilter/core.c.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error ").unwrap_or(text.len());
    let meaning = match error.raw_os_error() {
        Some(libc::EACCES) => ": a broadcast address, or a route that prohibits",
        Some(libc::EPERM) => ": by a firewall of this host",
        _ => "",
    };
    format!("{}{meaning}", &text[..end])
}

/// What else became of probes and answers, if anything did.
pub fn rest(out: &mut impl Write, outcome: &Outcome) -> io::Result<()> {
    let prober = &outcome.prober;
    let (total, others) = (prober.total(), prober.others());
    let told: Vec<String> = [
        (total.late, "late"),
        (total.pending(), "still awaited"),
        (others.reordered, "overtaken by later ones"),
        (others.wrong_source, "from other addresses"),
        (others.forged, "forged"),
        (others.cut_short, "cut short"),
        (others.foreign, "to other programs' probes"),
        (others.stale, "too late to be told apart"),
        (others.untimed, "without a time"),
        (
            outcome.overruns.unwrap_or(0),
            "dropped by this host for want of room",
        ),
        (
            outcome.checksum_drops.unwrap_or(0),
            "dropped by this host for a wrong checksum",
        ),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{} {what}", grouped(count)))
    .collect();
    if !told.is_empty() {
        writeln!(out, "answers: {}", told.join(", "))?;
    }
    for (error, count) in outcome.local_drops.iter() {
        writeln!(out, "not sent: {} ({})", grouped(count), reason(&error))?;
    }
    let more = outcome.local_drops.others();
    if more > 0 {
        writeln!(out, "not sent: {} (other reasons)", grouped(more))?;
    }
    if outcome.clock_steps > 0 {
        let steps = outcome.clock_steps;
        writeln!(out, "the clock was set {steps} times during the run")?;
    }
    Ok(())
}

/// ICMP errors by router, a line for each of the first `most`, and how many more there are.
pub fn error_lines(errors: &NetworkErrors, most: usize) -> Vec<String> {
    let line = |(error, count): (NetworkError, u64)| {
        let (router, words) = (error.router, words(&error));
        format!("errors: {} from {router}: {words}", grouped(count))
    };
    let mut lines: Vec<String> = errors.iter().take(most).map(line).collect();
    let more = errors.iter().skip(most).map(|(_, count)| count);
    let more = more.sum::<u64>() + errors.others();
    if more > 0 {
        lines.push(format!("errors: {} more, --json has them", grouped(more)));
    }
    lines
}

/// By what the figures were obtained.
pub fn sources(out: &mut impl Write, outcome: &Outcome) -> io::Result<()> {
    let backend = outcome.backend.name();
    let probes: &dyn Display = match departures(outcome) {
        None => return writeln!(out, "{backend} back end"),
        Some("kernel") => &"the kernel",
        Some("mixed") => &format!(
            "the kernel ({} of {})",
            grouped(outcome.departures_by_kernel),
            grouped(outcome.departures_by_kernel + outcome.departures_by_program)
        ),
        _ => &"tapline",
    };
    writeln!(
        out,
        "{backend} back end, probes stamped by {probes}, answers by the {}",
        outcome.timestamp_source
    )
}

/// Who stamped the probes that were answered; none without an answer.
pub fn departures(outcome: &Outcome) -> Option<&'static str> {
    match (outcome.departures_by_kernel, outcome.departures_by_program) {
        (0, 0) => None,
        (_, 0) => Some("kernel"),
        (0, _) => Some("program"),
        _ => Some("mixed"),
    }
}
