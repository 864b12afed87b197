//! The summary of a capture, as text and as JSON.

use std::io::{self, Write};
use std::time::Duration;

use serde_json::Value;
use tapline::capture::{
    Backend, CaptureSummary, FilterPlace, Mode, PACKETS_PER_TIMESTAMP, XdpMode,
};

use super::account::{account_line, lost_json};
use super::stamps;
use crate::args::CaptureArgs;
use crate::capture::buffer::BufferChoice;
use crate::capture::readers::accounts;
use crate::capture::readers::choice::ReaderChoice;
use crate::capture::sockets;
use crate::failure::{chain, xdp_refusal};
use crate::output::{self, Written, json};
use crate::screen::printable;
use crate::values::units::{grouped, span};

pub struct Summary<'a> {
    pub result: &'a CaptureSummary,
    pub written: &'a Written,
    pub buffer: BufferChoice,
    pub readers: &'a ReaderChoice,
}

impl Summary<'_> {
    /// Prints it: JSON, or text unless `--quiet`; text on standard error if standard output carries packets.
    pub fn show(&self, args: &CaptureArgs) -> io::Result<()> {
        if args.json {
            return json::print(&self.json(args));
        }
        if args.quiet {
            return Ok(());
        }
        match &args.output.write {
            Some(path) if !output::is_stdout(path) => self.text(args, &mut io::stdout()),
            _ => {
                // A closed standard error is no reason to end.
                let _ = self.text(args, &mut io::stderr());
                Ok(())
            }
        }
    }

    /// The back end of the first interface; `None` if there was no interface.
    fn backend(&self) -> Option<Backend> {
        self.result.links.first().map(|link| link.backend)
    }

    fn json(&self, args: &CaptureArgs) -> Value {
        let CaptureSummary {
            account,
            links,
            duration,
            ..
        } = self.result;
        let interfaces: Vec<_> = links
            .iter()
            .map(|link| {
                let mut object = serde_json::json!({
                    "name": link.name,
                    "received": link.account.received(),
                    "delivered": link.account.delivered,
                    "filtered": link.account.filtered,
                    "sampled_out": link.account.sampled_out,
                    "lost": lost_json(&link.account.lost),
                    "filter": link.filter.map(FilterPlace::name),
                    "queues": link.rings,
                    "xdp_mode": xdp_mode_json(link.xdp_mode),
                    "native_refusal": link.native_refusal.as_deref().map(xdp_refusal),
                    "uncounted": link.uncounted.as_deref().map(|reason| chain(reason)),
                });
                sockets::add(&mut object, link.sockets, link.fall_back);
                stamps::add(&mut object, link);
                object
            })
            .collect();
        let mut object = serde_json::json!({
            "event": "summary",
            "received": account.received(),
            "delivered": account.delivered,
            "filtered": account.filtered,
            "sample": args.sample.map(|sampling| sampling.to_string()),
            "sampled_out": account.sampled_out,
            "written": self.written.packets,
            "bytes_written": self.written.bytes,
            "lost": lost_json(&account.lost),
            "duration_ns": duration.as_nanos() as u64,
            "reader_ran_ns": self.result.reader_time.map(|time| time.ran.as_nanos() as u64),
            "reader_waited_ns": self.result.reader_time.map(|time| time.waited.as_nanos() as u64),
            "backend": self.backend().map(Backend::name),
            "mode": args.mode.mode.name(),
            "xdp_mode": xdp_mode_json(self.result.xdp_mode()),
            "native_refusal": self.result.native_refusal().map(xdp_refusal),
            "filter": self.result.filter().map(FilterPlace::name),
            "queues": self.result.rings(),
            "buffer": self.buffer.json(),
            "timestamp_source": stamps::source(self.result.timestamp_source()),
            "timestamps": stamps::counts(&self.result.timestamp_counts()),
            "packets_per_timestamp": self.packets_per_timestamp(args),
            "files": self.written.names(),
            "processes": self.written.processes_json(),
            "keylog": self.written.keys_json(),
            "index": self.written.indexes_json(),
            "refused_flows": self.written.refused_flows,
            "interfaces": interfaces,
        });
        sockets::add(&mut object, self.result.sockets(), self.result.fall_back());
        accounts::add_summary(&mut object, self.result);
        object["reader_choice"] = self.readers.json();
        object
    }

    /// How many packets in a row may share a time stamp.
    fn packets_per_timestamp(&self, args: &CaptureArgs) -> u32 {
        let is_shared_memory =
            args.mode.mode == Mode::Drop && self.backend() == Some(Backend::XdpRingbuf);
        if is_shared_memory {
            PACKETS_PER_TIMESTAMP
        } else {
            1
        }
    }

    fn text(&self, args: &CaptureArgs, out: &mut dyn Write) -> io::Result<()> {
        let CaptureSummary {
            account,
            links,
            duration,
            ..
        } = self.result;
        account_line(out, None, account)?;
        if links.len() > 1 {
            for link in links {
                account_line(out, Some(&link.name), &link.account)?;
            }
        }
        accounts::summary_lines(out, self.result)?;
        if let Some(line) = self.readers.line() {
            writeln!(out, "{line}")?;
        }
        let Some(backend) = self.backend() else {
            let time = span(*duration);
            writeln!(out, "duration {time}; no interface came up")?;
            return self.written.print_to(out);
        };
        let xdp_mode = self.result.xdp_mode();
        let xdp_mode = xdp_mode.map_or_else(String::new, |mode| format!(", {mode}"));
        let sockets = self.result.sockets();
        let how = sockets.map_or_else(String::new, |sockets| {
            format!(", {}", sockets::words(sockets))
        });
        writeln!(
            out,
            "duration {}; backend {}{xdp_mode}{how}; time stamps: {}{}",
            span(*duration),
            backend.name(),
            stamps::words(self.result),
            match self.packets_per_timestamp(args) {
                1 => String::new(),
                packets => format!(", shared by up to {packets} consecutive packets"),
            }
        )?;
        if account.lost.ring + account.lost.program > 0
            && let Some(time) = self.result.reader_time
            && self.result.readers.is_empty()
        {
            writeln!(out, "{}", reader_line(time.ran, time.waited, *duration))?;
            accounts::advise(args, time, *duration, out)?;
        }
        self.reasons(out)?;
        if let Some(sampling) = args.sample {
            let left_out = account.sampled_out.map_or("unknown".to_owned(), grouped);
            writeln!(
                out,
                "sampled {sampling} in the kernel: {left_out} of the filtered packets were sampled out"
            )?;
        }
        self.written.print_to(out)
    }

    /// The reasons for a slower back end.
    fn reasons(&self, out: &mut dyn Write) -> io::Result<()> {
        for link in &self.result.links {
            let name = printable(&link.name);
            if let Some(clock) = &link.device_clock {
                writeln!(out, "{}", stamps::clock_line(&name, clock))?;
            }
            if let Some(refusal) = &link.native_refusal {
                let why = printable(&xdp_refusal(refusal));
                writeln!(
                    out,
                    "generic XDP on {name}: the driver refused native XDP: {why}"
                )?;
            }
            if let Some(reason) = &link.uncounted {
                let why = printable(&chain(&**reason));
                writeln!(out, "filtered packets on {name} were not counted: {why}")?;
            }
        }
        if self.result.xdp_mode() == Some(XdpMode::Generic) {
            writeln!(
                out,
                "generic XDP sees GRO and GSO super-packets: each counts as one packet"
            )?;
        }
        if let Some(reason) = self.result.fall_back() {
            writeln!(
                out,
                "backend xdp instead of the cheaper xdp-ringbuf: {reason}"
            )?;
        }
        if self.result.filter() == Some(FilterPlace::Split) {
            writeln!(
                out,
                "filter split: too long for the kernel, which ran a coarser filter; the reader ran the \
                 exact one"
            )?;
        }
        Ok(())
    }
}

/// Whether a ring overflowed because the reader is slow, because it had no CPU, or because it slept.
fn reader_line(ran: Duration, waited: Duration, duration: Duration) -> String {
    let slept = duration.saturating_sub(ran + waited);
    let had_no_cpu = waited > ran;
    let [ran, waited, rest] = [ran, waited, slept].map(span);
    if slept > duration / 2 {
        return format!(
            "the reader ran for {ran}, waited for a CPU for {waited} and slept for {rest}: if its \
             output (a pipe, a disk) was slow, a larger --buffer bridges pauses"
        );
    }
    let advice = if had_no_cpu {
        ": give it one of its own, or run it with 'nice -n -20'"
    } else {
        ""
    };
    format!("the reader ran for {ran} and waited for a CPU for {waited}{advice}")
}

/// Where an XDP program runs; null without one.
pub fn xdp_mode_json(mode: Option<XdpMode>) -> Value {
    mode.map(|mode| mode.to_string()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_is_for_what_the_reader_did_most() {
        let line = |ran, waited| {
            let [ran, waited] = [ran, waited].map(Duration::from_secs);
            reader_line(ran, waited, Duration::from_secs(10))
        };
        assert_eq!(
            line(8, 1),
            "the reader ran for 8.0 s and waited for a CPU for 1.0 s"
        );
        assert!(line(2, 7).ends_with(": give it one of its own, or run it with 'nice -n -20'"));
        let slept = line(1, 2);
        assert!(
            slept.contains(" and slept for 7.0 s: if its output "),
            "{slept}"
        );
    }
}
