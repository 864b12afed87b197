//! What a capture says when it is ready: every packet from then on is accounted for.

use std::io::{self, IsTerminal, Write};

use tapline::capture::{Capture, FilterPlace, OpenLink};

use crate::args::CaptureArgs;
use crate::json;
use crate::output::Written;
use crate::units::binary;

/// Prints it: JSON always and on standard output, text on standard error unless told to be quiet.
pub fn show(args: &CaptureArgs, capture: &Capture, written: &Written) -> io::Result<()> {
    if args.json {
        let interfaces: Vec<_> = capture
            .links()
            .map(|opened| {
                serde_json::json!({
                    "name": opened.link.name,
                    "index": opened.link.index,
                    "backend": opened.backend.name(),
                    "buffer_bytes": opened.buffer_bytes,
                    "filter": opened.filter.map(FilterPlace::name),
                })
            })
            .collect();
        let event = serde_json::json!({
            "event": "start",
            "at_ns": abi::clock::realtime_ns(),
            "interfaces": interfaces,
            "files": written.names(),
        });
        return json::print(&event);
    }
    if !args.quiet {
        let mut out = io::stderr();
        let hint = if out.is_terminal() {
            ", Ctrl-C ends"
        } else {
            ""
        };
        for opened in capture.links() {
            // A closed standard error ends nothing.
            let _ = writeln!(out, "{}{hint}", line(&opened));
        }
    }
    Ok(())
}

fn line(opened: &OpenLink<'_>) -> String {
    format!(
        "capturing on {} ({}, {} ring)",
        opened.link.name,
        opened.backend.name(),
        binary(opened.buffer_bytes)
    )
}
