//! What the demo says, as it goes on and at its end.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::compare::{Comparison, Row};
use super::hosts::{Host, Hosts};
use super::kind::Kind;
use super::recording::Recording;
use super::table;
use super::traffic::Sent;
use crate::capture::{account_line, lost_json};
use crate::failure::Failure;
use crate::paint::Paint;
use crate::units::{binary, grouped, span};

/// Where and how it is said.
pub struct Screen {
    json: bool,
    is_terminal: bool,
    paint: Paint,
}

impl Screen {
    pub fn new(json: bool) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let paint = Paint::new(is_terminal && !json);
        Self {
            json,
            is_terminal,
            paint,
        }
    }

    pub fn begin(&self) -> Result<(), Failure> {
        self.text(|_, paint| {
            let title = paint.strong("Two test hosts, real traffic, every packet accounted for");
            format!("{title}\n\n")
        })
    }

    pub fn hosts(&self, hosts: &Hosts) -> Result<(), Failure> {
        let Hosts { left, right } = hosts;
        self.event(|| json!({ "event": "hosts", "left": host(left), "right": host(right) }))?;
        self.text(|_, paint| {
            let line = |host: &Host| format!("{}  {}  {}", host.name, host.v4, host.v6);
            format!(
                "{}{}\n         {}\n",
                paint.dim("hosts    "),
                line(left),
                line(right)
            )
        })
    }

    pub fn capture(&self, on: &Host, recording: &Recording, file: &Path) -> Result<(), Failure> {
        let Recording {
            backend,
            ring_bytes,
            ..
        } = recording;
        self.event(|| {
            json!({
                "event": "capture",
                "interface": on.name.to_string(),
                "backend": backend,
                "ring_bytes": ring_bytes,
                "file": file.to_string_lossy(),
            })
        })?;
        self.text(|_, paint| {
            format!(
                "{}on {} with {backend} ring of {}\n\n",
                paint.dim("capture  "),
                on.name,
                binary(*ring_bytes)
            )
        })
    }

    /// On a terminal, what is going on now.
    pub fn sending(&self, kind: Kind) -> Result<(), Failure> {
        self.text(|is_terminal, _| {
            if is_terminal {
                format!("  {:<16}", kind.name())
            } else {
                String::new()
            }
        })
    }

    /// Ends the line that [`sending`](Self::sending) began and [`sent`](Self::sent) will not end.
    pub fn break_line(&self) {
        // The failure that is under way is told in any case.
        let _ = self.text(|is_terminal, _| if is_terminal { "\n" } else { "" }.to_owned());
    }

    pub fn sent(&self, sent: &Sent) -> Result<(), Failure> {
        self.event(|| {
            json!({
                "event": "sent",
                "kind": sent.kind.key(),
                "what": sent.did.what,
                "packets": sent.counted.packets(),
                "bytes": sent.counted.bytes(),
            })
        })?;
        self.text(|is_terminal, _| {
            let name = if is_terminal { "" } else { sent.kind.name() };
            let width = if is_terminal { 0 } else { 16 };
            let indent = if is_terminal { "" } else { "  " };
            format!("{indent}{name:<width$}{}\n", sent.did.what)
        })
    }

    pub fn result(
        &self,
        comparison: &Comparison<'_>,
        file: &Path,
        took: Duration,
    ) -> Result<(), Failure> {
        self.event(|| summary(comparison, file, took))?;
        self.text(|_, paint| {
            let verdict = if comparison.agrees() {
                paint.good("everything sent is in the file")
            } else {
                paint.bad("what was sent and what is in the file differ")
            };
            let file = file.display().to_string();
            let label = |text: &str| paint.dim(text);
            let mut account = Vec::new();
            // Writing to a Vec does not fail.
            let _ = account_line(&mut account, None, &comparison.recorded.account);
            format!(
                "\n{}\n{}{}{}{verdict}, after {}\n{}{}  {} bytes\n{}tapline read {file}\n         \
                 tshark -r {file}\n",
                table::lines(comparison, paint),
                label("account  "),
                String::from_utf8_lossy(&account),
                label("verdict  "),
                span(took),
                label("file     "),
                paint.strong(&file),
                grouped(comparison.recorded.bytes_written),
                label("next     "),
            )
        })
    }

    pub fn keep(&self, hosts: &Hosts) -> Result<(), Failure> {
        self.text(|_, paint| {
            format!(
                "{}until Ctrl-C; to be there:\n         nsenter --net={} bash\n         \
                 nsenter --net={} tapline capture -i {}\n",
                paint.dim("hosts    "),
                hosts.left.namespace_path(),
                hosts.right.namespace_path(),
                hosts.right.name,
            )
        })
    }

    pub fn end(&self, kept: bool) -> Result<(), Failure> {
        self.text(|_, paint| {
            let line = if kept && self.is_terminal { "\r" } else { "" };
            format!(
                "{line}{}both hosts and their link\n",
                paint.dim("removed  ")
            )
        })
    }

    fn event(&self, event: impl FnOnce() -> Value) -> Result<(), Failure> {
        if !self.json {
            return Ok(());
        }
        crate::json::print(&event()).map_err(|error| unwritable(&error))
    }

    /// Says what `text` makes of whether this is a terminal, and of its colours.
    fn text(&self, text: impl FnOnce(bool, Paint) -> String) -> Result<(), Failure> {
        if self.json {
            return Ok(());
        }
        let text = text(self.is_terminal, self.paint);
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())
            .and_then(|()| out.flush())
            .map_err(|error| unwritable(&error))
    }
}

fn unwritable(error: &io::Error) -> Failure {
    Failure::stdout(error)
}

fn host(host: &Host) -> Value {
    json!({
        "interface": host.name.to_string(),
        "mac": host.mac.to_string(),
        "ipv4": host.v4.to_string(),
        "ipv6": host.v6.to_string(),
        "namespace": host.namespace_path(),
    })
}

fn summary(comparison: &Comparison<'_>, file: &Path, took: Duration) -> Value {
    let recorded = comparison.recorded;
    let account = &recorded.account;
    let rows = |rows: &[Row]| -> Vec<Value> { rows.iter().map(row).collect() };
    json!({
        "event": "summary",
        "agrees": comparison.agrees(),
        "kinds": rows(&comparison.kinds()),
        "directions": rows(&comparison.directions()),
        "received": account.received(),
        "delivered": account.delivered,
        "filtered": account.filtered,
        "written": recorded.packets_written,
        "bytes_written": recorded.bytes_written,
        "lost": lost_json(&account.lost),
        "duration_ns": took.as_nanos() as u64,
        "backend": recorded.backend,
        "file": file.to_string_lossy(),
    })
}

fn row(row: &Row) -> Value {
    json!({
        "kind": row.key,
        "sent_packets": row.sent.packets,
        "sent_bytes": row.sent.bytes,
        "stored_packets": row.stored.packets,
        "stored_bytes": row.stored.bytes,
        "verdict": row.verdict.words(),
    })
}
