//! Prints the progress and the result of the demo, as text or JSON.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::comparison::{Comparison, Row};
use super::hosts::{Host, Hosts, LEFT, RIGHT};
use super::recording::Recording;
use super::traffic::kind::Kind;
use super::traffic::sent::Sent;
use crate::capture::{account_line, lost_json};
use crate::failure::Failure;
use crate::output::paint::Paint;
use crate::values::units::{binary, grouped, span};

/// How the demo prints.
pub struct Printer {
    json: bool,
    is_terminal: bool,
    paint: Paint,
}

impl Printer {
    pub fn new(json: bool) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let paint = Paint::of_stdout();
        Self {
            json,
            is_terminal,
            paint,
        }
    }

    pub fn title(&self) -> Result<(), Failure> {
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

    /// On a terminal, starts the line of the current kind.
    pub fn sending(&self, kind: Kind) -> Result<(), Failure> {
        self.text(|is_terminal, _| {
            if is_terminal {
                format!("  {:<16}", kind.names().1)
            } else {
                String::new()
            }
        })
    }

    /// Ends the line that [`sending`](Self::sending) started, after a failure.
    pub fn end_line(&self) {
        // The failure is printed in any case.
        let _ = self.text(|is_terminal, _| if is_terminal { "\n" } else { "" }.to_owned());
    }

    pub fn sent(&self, sent: &Sent) -> Result<(), Failure> {
        self.event(|| {
            json!({
                "event": "sent",
                "kind": sent.kind.names().0,
                "what": sent.description,
                "packets": sent.counted.packets(),
                "bytes": sent.counted.bytes(),
            })
        })?;
        self.text(|is_terminal, _| {
            let name = if is_terminal { "" } else { sent.kind.names().1 };
            let width = if is_terminal { 0 } else { 16 };
            let indent = if is_terminal { "" } else { "  " };
            format!("{indent}{name:<width$}{}\n", sent.description)
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
            // Writing to a Vec cannot fail.
            let _ = account_line(&mut account, None, &comparison.recorded.account);
            format!(
                "\n{}\n{}{}{}{verdict}, after {}\n{}{}  {} bytes\n{}tapline read {file}\n         \
                 tshark -r {file}\n",
                table(comparison, paint),
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
                "{}kept until Ctrl-C; to enter them:\n         nsenter --net={} bash\n         \
                 nsenter --net={} tapline capture -i {}\n",
                paint.dim("hosts    "),
                hosts.left.namespace_path(),
                hosts.right.namespace_path(),
                hosts.right.name,
            )
        })
    }

    pub fn removed(&self, kept: bool) -> Result<(), Failure> {
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
        crate::output::json::print(&event()).map_err(|error| unwritable(&error))
    }

    /// Prints the text that `text` creates; its arguments are whether this is a terminal, and the colours.
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
        "verdict": row.verdict.text(),
    })
}

const NAME_WIDTH: usize = 16;
const PACKETS_WIDTH: usize = 9;
const BYTES_WIDTH: usize = 13;

/// The comparison as a table with a heading.
fn table(comparison: &Comparison<'_>, paint: Paint) -> String {
    let mut text = String::new();
    let heading = format!(
        "  {:<NAME_WIDTH$}{:>PACKETS_WIDTH$}{:>BYTES_WIDTH$}  {:>PACKETS_WIDTH$}{:>BYTES_WIDTH$}",
        format!("counted by {LEFT}"),
        "sent",
        "bytes",
        "in file",
        "bytes",
    );
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}", paint.dim(&heading));
    for row in comparison.kinds() {
        table_row(&mut text, &row, paint);
    }
    let _ = writeln!(text, "{}", paint.dim(&format!("  counted by {RIGHT}")));
    for row in comparison.directions() {
        table_row(&mut text, &row, paint);
    }
    text
}

fn table_row(text: &mut String, row: &Row, paint: Paint) {
    let verdict = row.verdict.text();
    let verdict = if row.verdict.is_good() {
        paint.good(verdict)
    } else {
        paint.bad(verdict)
    };
    let _ = writeln!(
        text,
        "  {:<NAME_WIDTH$}{:>PACKETS_WIDTH$}{:>BYTES_WIDTH$}  {:>PACKETS_WIDTH$}{:>BYTES_WIDTH$}  {verdict}",
        row.name,
        grouped(row.sent.packets),
        grouped(row.sent.bytes),
        grouped(row.stored.packets),
        grouped(row.stored.bytes),
    );
}
