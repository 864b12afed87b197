//! What a count says when it has begun: every packet from then on counts.

use std::io::{self, IsTerminal, Write};

use bpf::XdpAttachError;
use serde_json::json;
use tapline::count::{Count, Place, Reason, Way};

use crate::args::CountArgs;
use crate::failure::{chain, xdp_refusal};
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
        let places: Vec<Place> = count.places().cloned().collect();
        for (link, hooks) in hooks(&places) {
            // A closed standard error ends nothing.
            let _ = writeln!(out, "counting on {link}: {hooks}{hint}");
        }
        if let Some(url) = metrics {
            let _ = writeln!(out, "metrics at {url}");
        }
    }
    Ok(())
}

/// Each interface, and in words what runs the program at its places and why.
pub fn hooks(places: &[Place]) -> impl Iterator<Item = (&str, String)> {
    places.chunk_by(|a, b| a.link == b.link).map(|places| {
        let told: Vec<_> = places.iter().map(place_text).collect();
        (places[0].link.as_str(), told.join(", "))
    })
}

/// A place, as JSON has it.
pub fn place_json(place: &Place) -> serde_json::Value {
    json!({
        "name": place.link,
        "index": place.index,
        "direction": way(place.way),
        "hook": place.hook.name(),
        "super_packets_count_once": place.hook.counts_super_packets_once(),
        "reason": place.reason.as_ref().map(|why| reason(why, |refusal| chain(refusal))),
    })
}

fn place_text(place: &Place) -> String {
    let mut text = format!("{} by {}", way(place.way), place.hook.name());
    if place.hook.counts_super_packets_once() {
        text += ", where a super-packet counts as one packet";
    }
    match &place.reason {
        Some(why) => format!("{text} ({})", reason(why, xdp_refusal)),
        None => text,
    }
}

pub fn way(way: Way) -> &'static str {
    match way {
        Way::In => "in",
        Way::Out => "out",
    }
}

/// Why a place is not the one that is tried first; a refusal in the words of `told`.
fn reason(reason: &Reason, told: fn(&XdpAttachError) -> String) -> String {
    match reason {
        Reason::XdpRefused(refusal) => match &refusal.holder {
            Some(holder) => {
                format!("XDP refused: {holder}; packets that it takes or drops are not counted")
            }
            None => format!("XDP refused: {}", told(refusal)),
        },
        Reason::ProgramRefused(error) => format!("no program for XDP: {error}"),
        Reason::NotEthernet => "its packets have no Ethernet header".into(),
        Reason::VlanStripped => "it takes VLAN tags out before XDP".into(),
        _ => "not where it is tried first".into(),
    }
}
