//! The summary of a count.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

use serde_json::{Value, json};
use tapline::count::{ClassTotals, CountPoint, CountTotals, CountedLink, LinkState, Traffic};

use super::figures::rates;
use super::figures::{ClassFigures, Groups};
use super::{json as figures_json, setup, start};
use crate::args::CountArgs;
use crate::output::json;
use crate::screen::{fitted, printable, width};
use crate::values::units::{grouped, span};

/// Shorter down times are not reported: they would be 0.0 s.
const MIN_DOWN_NS: u64 = 50_000_000;

/// Maximum width of the column for names.
const MAX_NAME: usize = 40;

pub struct Summary<'a> {
    pub totals: &'a CountTotals,
    pub points: &'a [CountPoint],
    /// Their state at the end.
    pub links: &'a [CountedLink],
}

impl Summary<'_> {
    /// Prints JSON always, or text unless quiet. With CSV the text goes to standard error.
    pub fn show(&self, args: &CountArgs) -> io::Result<()> {
        if args.json {
            return json::print(&self.json(args));
        }
        if args.quiet {
            return Ok(());
        }
        let text = self.text(args);
        if args.csv {
            // A closed standard error is not a failure.
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
            let places = self.points.iter().zip(&totals.points);
            let places = places.map(|(place, &traffic)| {
                let Traffic { packets, bytes } = traffic;
                json!({
                    "name": place.link,
                    "direction": start::direction(place.direction),
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
            "by": args.key().map(tapline::count::GroupBy::name),
            "interfaces": self.points.iter().map(|place| self.point_json(place)).collect::<Value>(),
        })
    }

    fn point_json(&self, place: &CountPoint) -> Value {
        let mut object = start::point_json(place);
        if let Some(link) = self.links.iter().find(|link| link.index == place.index) {
            object["state"] = link.state.name().into();
            object["down_ns"] = link.down_ns.into();
        }
        object
    }

    fn text(&self, args: &CountArgs) -> String {
        let rows = self.rows(setup::top(args));
        let longest = rows.iter().map(|(name, _)| width(name)).max();
        let columns = longest.unwrap_or(0).clamp(8, MAX_NAME);
        let span_ns = self.totals.since_start_ns;
        let mut out = String::new();
        // Writing to a String does not fail.
        let _ = writeln!(
            out,
            "{}{:>15}{:>20}{:>12}{:>12}",
            fitted(&span(Duration::from_nanos(span_ns)), columns),
            "packets",
            format!("bytes ({})", args.layer.name),
            "packets/s",
            "bits/s",
        );
        for (name, traffic) in rows {
            let [pps, bps] = rates(traffic, span_ns);
            let (packets, bytes) = (grouped(traffic.packets), grouped(traffic.bytes));
            let name = fitted(&name, columns);
            let _ = writeln!(out, "{name}{packets:>15}{bytes:>20}{pps:>12}{bps:>12}");
        }
        for (name, hooks) in start::hooks(self.points) {
            let line = printable(&format!("counted on {name}: {hooks}"));
            let _ = write!(out, "{line}");
            let mut links = self.links.iter();
            let was_down =
                |link: &CountedLink| link.state != LinkState::Up || link.down_ns >= MIN_DOWN_NS;
            if let Some(link) = links.find(|link| link.link == name && was_down(link)) {
                let down = span(Duration::from_nanos(link.down_ns));
                let _ = write!(out, "; down or without carrier for {down}");
            }
            out.push('\n');
        }
        out
    }

    /// The rows: each class, with several points the share of each, and its groups.
    fn rows(&self, top: Option<usize>) -> Vec<(String, Traffic)> {
        let mut rows = Vec::new();
        for totals in &self.totals.classes {
            rows.push((totals.name.clone(), totals.traffic));
            if self.points.len() > 1 {
                let places = self.points.iter().zip(&totals.points);
                rows.extend(places.map(|(place, &traffic)| {
                    let way = start::direction(place.direction);
                    (format!("  {} {way}", printable(&place.link)), traffic)
                }));
            }
            let figures = ClassFigures::of_totals(totals, top);
            let groups = figures.groups.iter().flat_map(Groups::lines);
            rows.extend(groups.map(|(key, traffic)| (format!("  {key}"), traffic)));
        }
        rows
    }
}
