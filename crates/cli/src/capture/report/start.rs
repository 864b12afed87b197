//! The start message: every packet from then on is accounted for.

use std::io::{self, IsTerminal, Write};

use serde_json::Value;
use tapline::capture::{Backend, BlockLayout, FilterPlace, Mode, OpenInterface};

use super::stamps::software_stamps;
use super::summary::xdp_mode_json;
use crate::args::CaptureArgs;
use crate::capture::buffer::BufferChoice;
use crate::capture::readers::accounts;
use crate::capture::readers::choice::ReaderChoice;
use crate::capture::sockets;
use crate::capture::source::Source;
use crate::failure::{chain, xdp_refusal};
use crate::output::{Written, json};
use crate::sandbox::Enforced;
use crate::screen::printable;
use crate::values::units::binary;

/// What the start message says besides the interfaces: where the capture can be reached, and how it is restricted.
#[derive(Clone, Copy)]
pub struct StartDetails<'p> {
    /// URL of the counters.
    pub metrics: Option<&'p str>,
    /// Path of the control socket.
    pub control: Option<&'p str>,
    /// What the kernel enforces on this thread.
    pub enforced: Enforced,
}

/// Prints it: JSON on standard output, text on standard error unless `--quiet`.
pub fn show(
    args: &CaptureArgs,
    (buffer, readers): (BufferChoice, &ReaderChoice),
    capture: &Source,
    written: &Written,
    details: StartDetails<'_>,
) -> io::Result<()> {
    if args.json {
        let interfaces: Vec<_> = capture
            .links()
            .iter()
            .map(|opened| {
                let mut object = serde_json::json!({
                    "name": opened.link.name,
                    "index": opened.link.index,
                    "backend": opened.backend.name(),
                    "buffer_bytes": opened.buffer_bytes,
                    "blocks": opened.blocks.map(blocks_json),
                    "mode": args.mode.mode.name(),
                    "queues": opened.rings,
                    "xdp_mode": xdp_mode_json(opened.xdp_mode),
                    "native_refusal": opened.native_refusal.map(xdp_refusal),
                    "filter": opened.filter.map(FilterPlace::name),
                });
                sockets::add(&mut object, opened.sockets, opened.fall_back);
                object["timestamp_source"] = opened.timestamps.name().into();
                object["timestamp_refusal"] =
                    (opened.timestamp_refusal.map(|refusal| chain(refusal))).into();
                object
            })
            .collect();
        let mut event = serde_json::json!({
            "event": "start",
            "at_ns": crate::values::moment::now_ns(),
            "interfaces": interfaces,
            "buffer": buffer.json(),
            "readers": accounts::start_json(capture.readers()),
            "reader_choice": readers.json(),
            "unread_queues": capture.unread_queues(),
            "fanout": accounts::distribution_json(capture.distribution()),
            "pinned_irqs": accounts::irqs_json(capture.pinned_irqs()),
            "files": written.names(),
            "metrics": details.metrics,
            "control": details.control,
        });
        details.enforced.add_to(&mut event);
        return json::print(&event);
    }
    if !args.quiet {
        let mut out = io::stderr();
        let hint = if out.is_terminal() {
            ", Ctrl-C ends"
        } else {
            ""
        };
        for refusal in capture
            .links()
            .iter()
            .filter_map(|one| one.timestamp_refusal)
        {
            let _ = writeln!(out, "{}", printable(&software_stamps(refusal)));
        }
        for opened in capture.links() {
            // A closed standard error is no reason to end.
            let line = printable(&line(&opened, args, buffer));
            let _ = writeln!(out, "{line}{hint}");
        }
        if capture.is_hotplug() {
            let _ = writeln!(out, "capturing on each interface that comes up{hint}");
        }
        if let Some(line) = accounts::start_line(capture.readers(), capture.distribution()) {
            let _ = writeln!(out, "{line}");
        }
        if let Some(line) = readers.line() {
            let _ = writeln!(out, "{line}");
        }
        if let Some(line) = accounts::irqs_line(capture.pinned_irqs()) {
            let _ = writeln!(out, "{line}");
        }
        if let Some(line) = accounts::unread_line(capture.unread_queues()) {
            let _ = writeln!(out, "{line}");
        }
        if args.sandbox.no_sandbox {
            let _ = writeln!(out, "not restricted to what it needs (--no-sandbox)");
        }
        if let Some(url) = details.metrics {
            let _ = writeln!(out, "metrics at {url}");
        }
        if let Some(path) = details.control.filter(|_| args.name.is_some()) {
            let _ = writeln!(out, "control socket {}", printable(path));
        }
    }
    Ok(())
}

/// The blocks of a packet-v3 ring, and the reason for their size and their timer.
fn blocks_json(blocks: BlockLayout) -> Value {
    let timer_ns = u64::try_from(blocks.timer.as_nanos()).unwrap_or(u64::MAX);
    serde_json::json!({
        "bytes": blocks.bytes,
        "count": blocks.count,
        "timer_ns": timer_ns,
        "reason": blocks.reason.name(),
    })
}

/// The line of one interface, with the reasons for a slower back end.
fn line(opened: &OpenInterface<'_>, args: &CaptureArgs, buffer: BufferChoice) -> String {
    let OpenInterface {
        link,
        backend,
        rings,
        buffer_bytes,
        xdp_mode,
        sockets,
        fall_back,
        native_refusal,
        ..
    } = *opened;
    let (name, backend, bytes) = (&link.name, backend.name(), binary(buffer_bytes));
    let Some(xdp_mode) = xdp_mode else {
        let grown = grown(buffer_bytes, args);
        let chosen = buffer.words();
        return format!("capturing on {name} ({backend}, {bytes} ring{grown}{chosen})");
    };
    let what = match args.mode.mode {
        Mode::Drop => "drop mode",
        _ => "incoming packets",
    };
    let places = match opened.backend {
        Backend::XdpRingbuf => "CPU",
        _ => "queue",
    };
    let chosen = buffer.words();
    let s = if rings == 1 { "" } else { "s" };
    let how = sockets.map_or_else(String::new, |sockets| {
        format!(", {}", sockets::words(sockets))
    });
    let instead =
        fall_back.map_or_else(String::new, |reason| format!("; not xdp-ringbuf: {reason}"));
    let why = native_refusal.map_or_else(String::new, |refusal| {
        format!("; its driver refused native XDP: {}", xdp_refusal(refusal))
    });
    format!(
        "capturing on {name}, {what} ({backend}, {xdp_mode}{how}, {rings} {places}{s}, {bytes} \
         ring{s}{chosen}{instead}{why})"
    )
}

/// Why a packet ring is much larger than `--buffer`: rounding up to whole blocks adds less.
fn grown(opened: usize, args: &CaptureArgs) -> String {
    let Some(wanted) = args.buffer else {
        return String::new();
    };
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    if opened <= wanted.saturating_mul(2) {
        return String::new();
    }
    let wanted = binary(wanted);
    match args.delivery.stall {
        Some(stall) if stall.is_zero() => format!("; {wanted} do not hold two packets of -s bytes"),
        _ => format!(" for pauses of the reader; --stall 0ms keeps {wanted}"),
    }
}
