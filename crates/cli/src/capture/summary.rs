//! What a capture says at its end.

use std::io::{self, Write};

use bpf::Intake;
use serde_json::Value;
use tapline::capture::{Account, Backend, FilterPlace, Lost, Mode, Outcome, ReaderTime, XdpMode};

use super::sockets;
use crate::args::CaptureArgs;
use crate::failure::{chain, xdp_refusal};
use crate::json;
use crate::output::{self, Written};
use crate::units::{grouped, span};

pub struct Summary<'a> {
    pub outcome: &'a Outcome,
    pub written: &'a Written,
    pub backend: &'static str,
}

impl Summary<'_> {
    /// Prints it: JSON always, text unless told to be quiet; text on standard error where standard
    /// output carries packets.
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
                // A closed standard error ends nothing.
                let _ = self.text(args, &mut io::stderr());
                Ok(())
            }
        }
    }

    fn json(&self, args: &CaptureArgs) -> Value {
        let Outcome {
            account,
            links,
            duration,
            timestamp_source,
            ..
        } = self.outcome;
        let interfaces: Vec<_> = links
            .iter()
            .map(|link| {
                let mut told = serde_json::json!({
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
                sockets::add(&mut told, link.sockets, link.fall_back);
                told
            })
            .collect();
        let mut told = serde_json::json!({
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
            "reader_ran_ns": self.outcome.reader_time.map(|time| time.ran.as_nanos() as u64),
            "reader_waited_ns": self.outcome.reader_time.map(|time| time.waited.as_nanos() as u64),
            "backend": self.backend,
            "mode": args.mode.mode.name(),
            "xdp_mode": xdp_mode_json(self.outcome.xdp_mode()),
            "native_refusal": self.outcome.native_refusal().map(xdp_refusal),
            "filter": self.outcome.filter().map(FilterPlace::name),
            "queues": self.outcome.rings(),
            "timestamp_source": timestamp_source.name(),
            "packets_per_timestamp": self.packets_per_timestamp(args),
            "files": self.written.names(),
            "interfaces": interfaces,
        });
        sockets::add(&mut told, self.outcome.sockets(), self.outcome.fall_back());
        told
    }

    /// How many packets in a row may have one time stamp.
    fn packets_per_timestamp(&self, args: &CaptureArgs) -> u32 {
        let is_taken_in =
            args.mode.mode == Mode::Drop && self.backend == Backend::XdpRingbuf.name();
        if is_taken_in {
            Intake::PACKETS_PER_TIMESTAMP
        } else {
            1
        }
    }

    fn text(&self, args: &CaptureArgs, out: &mut dyn Write) -> io::Result<()> {
        let Outcome {
            account,
            links,
            duration,
            timestamp_source,
            ..
        } = self.outcome;
        account_line(out, None, account)?;
        if links.len() > 1 {
            for link in links {
                account_line(out, Some(&link.name), &link.account)?;
            }
        }
        let xdp_mode = self.outcome.xdp_mode();
        let xdp_mode = xdp_mode.map_or_else(String::new, |mode| format!("{mode} "));
        let sockets = self.outcome.sockets();
        let how = sockets.map_or_else(String::new, |sockets| {
            format!(" ({})", sockets::words(sockets))
        });
        writeln!(
            out,
            "{} with {xdp_mode}{} ring{how}, time stamps by {}{}",
            span(*duration),
            self.backend,
            timestamp_source.name(),
            match self.packets_per_timestamp(args) {
                1 => String::new(),
                packets => format!(", one for up to {packets} packets in a row"),
            }
        )?;
        if account.lost.ring + account.lost.program > 0
            && let Some(time) = self.outcome.reader_time
        {
            writeln!(out, "{}", reader_line(time))?;
        }
        self.instead(out)?;
        if let Some(sampling) = args.sample {
            let left_out = account.sampled_out.map_or("unknown".to_owned(), grouped);
            writeln!(
                out,
                "sampled {sampling} in the kernel: {left_out} of the filtered packets were left out"
            )?;
        }
        self.written.tell(out)
    }

    /// Why packets did not come by the way that costs least.
    fn instead(&self, out: &mut dyn Write) -> io::Result<()> {
        for link in &self.outcome.links {
            if let Some(refusal) = &link.native_refusal {
                let (name, why) = (&link.name, xdp_refusal(refusal));
                writeln!(
                    out,
                    "XDP ran in the stack: the driver of {name} refused it: {why}"
                )?;
            }
            if let Some(reason) = &link.uncounted {
                let (name, why) = (&link.name, chain(&**reason));
                writeln!(out, "what the filter of {name} refused is not known: {why}")?;
            }
        }
        if self.outcome.xdp_mode() == Some(XdpMode::Generic) {
            writeln!(
                out,
                "in the stack a super-packet, joined from several of the wire or yet to be split, \
                 comes and counts as one packet"
            )?;
        }
        if let Some(reason) = self.outcome.fall_back() {
            writeln!(
                out,
                "packets came by AF_XDP, not by the cheaper xdp-ringbuf: {reason}"
            )?;
        }
        if self.outcome.filter() == Some(FilterPlace::Split) {
            writeln!(
                out,
                "filter split: the kernel ran a coarse one, the reader the exact one (it is too \
                 long for the kernel)"
            )?;
        }
        Ok(())
    }
}

/// Whether a ring overflowed because the reader is slow, or because it was not let run.
fn reader_line(time: ReaderTime) -> String {
    let (ran, waited) = (span(time.ran), span(time.waited));
    let advice = if time.waited > time.ran {
        ": give it one of its own, or run it with 'nice -n -20'"
    } else {
        ""
    };
    format!("the reader ran for {ran} and waited for a processor for {waited}{advice}")
}

/// `received = delivered + filtered + lost`, in words.
pub fn account_line(out: &mut dyn Write, link: Option<&str>, account: &Account) -> io::Result<()> {
    if let Some(link) = link {
        write!(out, "  {link}: ")?;
    }
    let number = |value: Option<u64>| value.map_or("unknown".to_owned(), grouped);
    writeln!(
        out,
        "{} packets received = {} delivered + {} filtered + {} lost{}",
        number(account.received()),
        grouped(account.delivered),
        number(account.filtered),
        grouped(account.lost.total()),
        places(&account.lost),
    )
}

/// Where packets were lost, if they were, and which places cannot be known.
fn places(lost: &Lost) -> String {
    let told: Vec<_> = (lost.places().into_iter())
        .filter_map(|(place, count)| match count {
            Some(0) => None,
            Some(count) => Some(format!("{place} {}", grouped(count))),
            None => Some(format!("{place} unknown")),
        })
        .collect();
    if told.is_empty() {
        String::new()
    } else {
        format!(" ({})", told.join(", "))
    }
}

/// Where an XDP program runs; null without one.
pub fn xdp_mode_json(mode: Option<XdpMode>) -> Value {
    mode.map(|mode| mode.to_string()).into()
}

/// The losses by place; what cannot be known is null.
pub fn lost_json(lost: &Lost) -> Value {
    let places = lost.places().into_iter();
    let places = places.map(|(place, lost)| (place.to_owned(), Value::from(lost)));
    Value::Object(places.collect())
}
