//! What a capture says when it is ready: every packet from then on is accounted for.

use std::io::{self, IsTerminal, Write};

use ring::PacketRing;
use tapline::capture::{Capture, FilterPlace};

use crate::args::CaptureArgs;
use crate::json;
use crate::output::Written;
use crate::units::binary;

/// Prints it: JSON always and on standard output, text on standard error unless told to be quiet.
///
/// `metrics` is where the counters are served.
pub fn show(
    args: &CaptureArgs,
    capture: &Capture,
    written: &Written,
    metrics: Option<&str>,
) -> io::Result<()> {
    if args.json {
        let interfaces: Vec<_> = capture
            .rings()
            .zip(capture.filter_places())
            .map(|(ring, place)| {
                serde_json::json!({
                    "name": ring.link().name,
                    "index": ring.link().index,
                    "backend": ring.backend().name(),
                    "buffer_bytes": ring.buffer_bytes(),
                    "filter": place.map(FilterPlace::name),
                })
            })
            .collect();
        let event = serde_json::json!({
            "event": "start",
            "at_ns": abi::clock::realtime_ns(),
            "interfaces": interfaces,
            "files": written.names(),
            "metrics": metrics,
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
        for ring in capture.rings() {
            // A closed standard error ends nothing.
            let _ = writeln!(out, "{}{hint}", line(ring));
        }
        if let Some(url) = metrics {
            let _ = writeln!(out, "metrics at {url}");
        }
    }
    Ok(())
}

fn line(ring: &PacketRing) -> String {
    let (name, backend) = (&ring.link().name, ring.backend().name());
    format!(
        "capturing on {name} ({backend}, {} ring)",
        binary(ring.buffer_bytes())
    )
}
