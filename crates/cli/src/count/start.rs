//! The start message of a count. Every packet after it is counted.

use std::io::{self, IsTerminal, Write};

use serde_json::json;
use tapline::count::{Count, CountPoint, FallbackReason, PacketDirection, XdpAttachError};

use crate::args::CountArgs;
use crate::failure::{chain, xdp_refusal};
use crate::output::json;
use crate::screen::printable;

/// Prints JSON on standard output, or text on standard error unless quiet. `metrics` is the URL of the
/// counters.
pub fn show(args: &CountArgs, count: &Count, metrics: Option<&str>) -> io::Result<()> {
    if args.json {
        let classes: Vec<&str> = count.classes().map(|class| class.name.as_str()).collect();
        let interfaces: Vec<_> = count.points().map(point_json).collect();
        let event = json!({
            "event": "start",
            "at_ns": super::json::realtime_ns(),
            "interfaces": interfaces,
            "classes": classes,
            "layer": args.layer.name,
            "by": args.key().map(tapline::count::GroupBy::name),
            "interval_ns": args.interval.as_nanos() as u64,
            "metrics": metrics,
        });
        return json::print(&event);
    }
    if !args.quiet {
        let mut out = io::stderr();
        let hint = if out.is_terminal() {
            ", Ctrl-C to stop"
        } else {
            ""
        };
        let places: Vec<CountPoint> = count.points().cloned().collect();
        for (link, hooks) in hooks(&places) {
            // A closed standard error is not a failure.
            let line = printable(&format!("counting on {link}: {hooks}"));
            let _ = writeln!(out, "{line}{hint}");
        }
        if let Some(url) = metrics {
            let _ = writeln!(out, "metrics at {url}");
        }
    }
    Ok(())
}

/// Each interface, with its hooks and the reasons for them as text.
pub fn hooks(points: &[CountPoint]) -> impl Iterator<Item = (&str, String)> {
    points.chunk_by(|a, b| a.link == b.link).map(|points| {
        let told: Vec<_> = points.iter().map(point_text).collect();
        (points[0].link.as_str(), told.join(", "))
    })
}

/// A point as JSON.
pub fn point_json(point: &CountPoint) -> serde_json::Value {
    json!({
        "name": point.link,
        "index": point.index,
        "direction": direction(point.direction),
        "hook": point.hook.name(),
        "super_packets_count_once": point.hook.counts_super_packets_once(),
        "reason": point.reason.as_ref().map(|why| reason(why, |refusal| chain(refusal))),
    })
}

fn point_text(point: &CountPoint) -> String {
    let mut text = format!("{} by {}", direction(point.direction), point.hook.name());
    if point.hook.counts_super_packets_once() {
        text += ", where a super-packet counts as one packet";
    }
    match &point.reason {
        Some(why) => format!("{text} ({})", reason(why, xdp_refusal)),
        None => text,
    }
}

pub fn direction(direction: PacketDirection) -> &'static str {
    match direction {
        PacketDirection::In => "in",
        PacketDirection::Out => "out",
    }
}

/// Why the preferred hook is not used.
fn reason(reason: &FallbackReason, told: fn(&XdpAttachError) -> String) -> String {
    match reason {
        FallbackReason::XdpRefused(refusal) => match &refusal.holder {
            Some(holder) => {
                format!("XDP refused: {holder}; packets that it takes or drops are not counted")
            }
            None => format!("XDP refused: {}", told(refusal)),
        },
        FallbackReason::ProgramRefused(error) => format!("no program for XDP: {error}"),
        FallbackReason::NotEthernet => "its packets have no Ethernet header".into(),
        FallbackReason::VlanStripped => "it strips VLAN tags before XDP".into(),
        _ => "not where it is tried first".into(),
    }
}
