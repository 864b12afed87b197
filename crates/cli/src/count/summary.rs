//! What a count says at its end.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

use serde_json::{Value, json};
use tapline::count::{ClassTotals, CountedLink, LinkState, Place, Snapshot, Tally};

use super::figures::{ClassFigures, Groups};
use super::rates::rates;
use super::{json as figures_json, setup, start};
use crate::args::CountArgs;
use crate::json;
use crate::screen::{fitted, width};
use crate::units::{grouped, span};

/// Shortest time for which it is told that an interface was down: it would be 0.0 s.
const LEAST_DOWN_NS: u64 = 50_000_000;

/// Widest column for names.
const MOST_NAME: usize = 40;

pub struct Summary<'a> {
    pub totals: &'a Snapshot,
    pub places: &'a [Place],
    /// As they were at the end.
    pub links: &'a [CountedLink],
}

impl Summary<'_> {
    /// Prints it: JSON always, text unless told to be quiet, and on standard error where standard
    /// output carries values.
    pub fn show(&self, args: &CountArgs) -> io::Result<()> {
        if args.json {
            return json::print(&self.json(args));
        }
        if args.quiet {
            return Ok(());
        }
        let text = self.text(args);
        if args.csv {
            // A closed standard error ends nothing.
            let _ = io::stderr().write_all(text.as_bytes());
            return Ok(());
        }
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    fn json(&self, args: &CountArgs) -> Value {
        let class = |totals: &ClassTotals| {
            let figures = ClassFigures::of_totals(totals, setup::top(args));
            let mut object = figures_json::object(&figures);
            let places = self.places.iter().zip(&totals.places);
            let places = places.map(|(place, &tally)| {
                let Tally { packets, bytes } = tally;
                json!({
                    "name": place.link,
                    "direction": start::way(place.way),
                    "packets": packets,
                    "bytes": bytes,
                })
            });
            object.insert("interfaces".into(), places.collect());
            Value::Object(object)
        };
        json!({
            "event": "summary",
            "classes": self.totals.classes.iter().map(class).collect::<Value>(),
            "at_ns": self.totals.at_ns,
            "duration_ns": self.totals.since_start_ns,
            "layer": args.layer.name,
            "by": args.by.map(tapline::count::Key::name),
            "interfaces": self.places.iter().map(|place| self.place_json(place)).collect::<Value>(),
        })
    }

    fn place_json(&self, place: &Place) -> Value {
        let mut object = start::place_json(place);
        if let Some(link) = self.links.iter().find(|link| link.index == place.index) {
            object["state"] = link.state.name().into();
            object["down_ns"] = link.down_ns.into();
        }
        object
    }

    fn text(&self, args: &CountArgs) -> String {
        let rows = self.rows(setup::top(args));
        let longest = rows.iter().map(|(name, _)| width(name)).max();
        let columns = longest.unwrap_or(0).clamp(8, MOST_NAME);
        let span_ns = self.totals.since_start_ns;
        let mut out = String::new();
        // A String takes whatever is written to it.
        let _ = writeln!(
            out,
            "{}{:>15}{:>20}{:>12}{:>12}",
            fitted(&span(Duration::from_nanos(span_ns)), columns),
            "packets",
            format!("bytes ({})", args.layer.name),
            "packets/s",
            "bits/s",
        );
        for (name, tally) in rows {
            let [pps, bps] = rates(tally, span_ns);
            let (packets, bytes) = (grouped(tally.packets), grouped(tally.bytes));
            let name = fitted(&name, columns);
            let _ = writeln!(out, "{name}{packets:>15}{bytes:>20}{pps:>12}{bps:>12}");
        }
        for (name, hooks) in start::hooks(self.places) {
            let _ = write!(out, "counted on {name}: {hooks}");
            let mut links = self.links.iter();
            let was_down =
                |link: &CountedLink| link.state != LinkState::Up || link.down_ns >= LEAST_DOWN_NS;
            if let Some(link) = links.find(|link| link.link == name && was_down(link)) {
                let down = span(Duration::from_nanos(link.down_ns));
                let _ = write!(out, "; down or without carrier for {down}");
            }
            out.push('\n');
        }
        out
    }

    /// Each class; where there are several places, what each saw of it; and its groups.
    fn rows(&self, top: Option<usize>) -> Vec<(String, Tally)> {
        let mut rows = Vec::new();
        for totals in &self.totals.classes {
            rows.push((totals.name.clone(), totals.tally));
            if self.places.len() > 1 {
                let places = self.places.iter().zip(&totals.places);
                rows.extend(places.map(|(place, &tally)| {
                    let way = start::way(place.way);
                    (format!("  {} {way}", place.link), tally)
                }));
            }
            let figures = ClassFigures::of_totals(totals, top);
            let groups = figures.groups.iter().flat_map(Groups::lines);
            rows.extend(groups.map(|(key, tally)| (format!("  {key}"), tally)));
        }
        rows
    }
}
