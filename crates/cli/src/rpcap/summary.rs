//! The summary of a remote capture, as text and as JSON.

use std::io::{self, Write};

use serde_json::{Value, json};
use tapline::rpcap::RemoteSummary;

use super::Url;
use crate::args::CaptureArgs;
use crate::output::{self, Written, json};
use crate::screen::printable;
use crate::values::units::{counted, grouped, span};

pub struct Summary<'a> {
    pub result: &'a RemoteSummary,
    pub written: &'a Written,
    pub url: &'a Url,
}

impl Summary<'_> {
    /// Prints it: JSON, or text unless `--quiet`; text on standard error if standard output carries packets.
    pub fn show(&self, args: &CaptureArgs) -> io::Result<()> {
        if args.json {
            return json::print(&self.json());
        }
        if args.quiet {
            return Ok(());
        }
        self.text(&mut *output::screen(&args.output))
    }

    /// The losses by place; `None` where the server does not say it.
    fn lost(&self) -> [(&'static str, Option<u64>); 4] {
        let account = &self.result.account;
        let server = account.server;
        [
            (
                "interface",
                server.map(|one| one.dropped_by_interface.into()),
            ),
            ("ring", server.map(|one| one.dropped_by_kernel.into())),
            ("network", Some(account.lost_network)),
            ("writer", Some(account.lost_writer)),
        ]
    }

    fn json(&self) -> Value {
        let account = &self.result.account;
        let lost = self
            .lost()
            .map(|(place, lost)| (place.to_owned(), Value::from(lost)));
        let server = account.server.map(|one| {
            json!({
                "ifrecv": one.received,
                "ifdrop": one.dropped_by_interface,
                "krnldrop": one.dropped_by_kernel,
                "svrcapt": one.sent,
            })
        });
        json!({
            "event": "summary",
            "url": self.url.to_string(),
            "received": account.received(),
            "arrived": account.arrived(),
            "delivered": account.delivered,
            "after_limit": account.after_limit,
            "filtered": null,
            "written": self.written.packets,
            "bytes_written": self.written.bytes,
            "lost": Value::Object(lost.into_iter().collect()),
            "server": server,
            "duration_ns": self.result.duration.as_nanos() as u64,
            "files": self.written.names(),
        })
    }

    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let account = &self.result.account;
        let places: Vec<_> = (self.lost().into_iter())
            .filter_map(|(place, lost)| match lost {
                Some(0) => None,
                Some(lost) => Some(format!("{place} {}", grouped(lost))),
                None => Some(format!("{place} unknown")),
            })
            .collect();
        let places = if places.is_empty() {
            String::new()
        } else {
            format!(" ({})", places.join(", "))
        };
        writeln!(
            out,
            "{} received = {} delivered + {} after the limit + {} lost{places}",
            counted(account.received(), "packet"),
            grouped(account.delivered),
            grouped(account.after_limit),
            grouped(account.lost_total()),
        )?;
        match account.server {
            Some(server) => writeln!(
                out,
                "the server counted {} received, {} dropped by the interface, {} by the kernel, {} sent; {} arrived",
                grouped(server.received.into()),
                grouped(server.dropped_by_interface.into()),
                grouped(server.dropped_by_kernel.into()),
                grouped(server.sent.into()),
                grouped(account.arrived()),
            )?,
            None => writeln!(out, "the server did not send its counters")?,
        }
        let url = printable(&self.url.to_string());
        writeln!(out, "{} from {url}", span(self.result.duration))?;
        self.written.print_to(out)
    }
}
