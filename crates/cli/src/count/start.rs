//! What a count says when it has begun: every packet from then on counts.

use std::error::Error;
use std::io::{self, IsTerminal, Write};

use bpf::XdpAttachError;
use serde_json::json;
use tapline::count::{Count, Place, Reason, Way};

use crate::args::CountArgs;
use crate::failure::chain;
use crate::json;

/// Prints it: JSON on standard output, text on standard error unless told to be quiet. `metrics` is
/// where the counters are served.
pub fn show(args: &CountArgs, count: &Count, metrics: Option<&str>) -> io::Result<()> {
    if args.json {
        let classes: Vec<&str> = count.classes().map(|class| class.name.as_str()).collect();
        let interfaces: Vec<_> = count.places().map(place_json).collect();
        let event = json!({
            "event": "start",
            "at_ns": abi::clock::realtime_ns(),
            "interfaces": interfaces,
            "classes": classes,
            "layer": args.layer.name,
            "by": args.by.map(tapline::count::Key::name),
            "interval_ns": args.interval.as_nanos() as u64,
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
        let places: Vec<&Place> = count.places().collect();
        for places in places.chunk_by(|a, b| a.link == b.link) {
            let told: Vec<_> = places.iter().map(|place| place_text(place)).collect();
            let link = &places[0].link;
            // A closed standard error ends nothing.
            let _ = writeln!(out, "counting on {link}: {}{hint}", told.join(", "));
        }
        if let Some(url) = metrics {
            let _ = writeln!(out, "metrics at {url}");
        }
    }
    Ok(())
}

/// A place, as JSON has it.
pub fn place_json(place: &Place) -> serde_json::Value {
    json!({
        "name": place.link,
        "index": place.index,
        "direction": way(place.way),
        "hook": place.hook.name(),
        "reason": place.reason.as_ref().map(|why| reason(why, chain)),
    })
}

fn place_text(place: &Place) -> String {
    let text = format!("{} by {}", way(place.way), place.hook.name());
    match &place.reason {
        Some(why) => format!("{text} ({})", reason(why, innermost)),
        None => text,
    }
}

pub fn way(way: Way) -> &'static str {
    match way {
        Way::In => "in",
        Way::Out => "out",
    }
}

/// Why a place is not the one that is tried first; an error in the words of `told`.
fn reason(reason: &Reason, told: fn(&dyn Error) -> String) -> String {
    match reason {
        Reason::XdpRefused(error) => {
            let refusal = error.downcast_ref::<XdpAttachError>();
            match refusal.and_then(|refusal| refusal.holder.as_ref()) {
                Some(holder) => {
                    format!("XDP refused: {holder}; packets that it takes or drops are not counted")
                }
                None => format!("XDP refused: {}", told(&**error)),
            }
        }
        Reason::NotEthernet => "its packets have no Ethernet header".into(),
        Reason::VlanStripped => "it takes VLAN tags out before XDP".into(),
        _ => "not where it is tried first".into(),
    }
}

/// The last of the reasons alone.
fn innermost(error: &dyn Error) -> String {
    error.source().map_or_else(|| chain(error), innermost)
}
