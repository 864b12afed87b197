//! The page of `--report`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use tapline::ping::{PingSummary, Prober};

use super::output::account;
use super::output::figures::{self, PingFigures};
use super::timeline::{Step, Timeline};
use crate::output::page_durations::duration;
use crate::page::{Column, Page, Panel, Panels, ROWS_MAX, Table};
use crate::values::units::grouped;

/// ICMP errors that are listed.
const ERRORS_MAX: usize = 100;

/// The page about a run that began at `start`; `skipped` targets could not be resolved.
pub fn page(summary: &PingSummary, skipped: usize, start: &str, timeline: Timeline) -> Page {
    let statistics = &summary.statistics;
    let title = match statistics.targets().len() {
        1 => format!("Ping report: {}", figures::name(statistics.targets(), 0)),
        _ => format!("Ping report: {}", account::who(statistics)),
    };
    let mut page = Page::new(&title);
    overview(&mut page, summary, skipped, start);
    over_time(&mut page, timeline.finish(statistics));
    page.section("Round trips");
    if statistics.histogram().count() == 0 {
        page.paragraph("No probe was answered in time with a time stamp.");
    }
    page.durations("All targets", "answers in time", statistics.histogram());
    targets(&mut page, statistics);
    page
}

fn overview(page: &mut Page, summary: &PingSummary, skipped: usize, start: &str) {
    page.section("Overview");
    let statistics = &summary.statistics;
    let all = PingFigures::of_all(statistics);
    let counts = &all.counts;
    let loss = all
        .loss_percent()
        .map_or("unknown".to_owned(), |percent| format!("{percent:.2} %"));
    let ns = u64::try_from(summary.duration.as_nanos()).unwrap_or(u64::MAX);
    page.facts([
        ("Start", start.to_owned()),
        ("Duration", duration(ns)),
        ("Not answered in time", loss),
        ("Sent", grouped(counts.sent)),
        ("Received", grouped(counts.received)),
        ("Lost", grouped(counts.lost)),
        ("Late", grouped(counts.late)),
        ("ICMP errors", grouped(counts.errors)),
        ("In flight at the end", grouped(counts.pending())),
        ("Duplicates", grouped(counts.duplicate)),
        ("Corrupted", grouped(counts.corrupt)),
        ("Not sent by this host", grouped(counts.local_drops)),
    ]);
    page.paragraph(&account::targets(statistics, skipped));
    let mut lines = Vec::new();
    // A Vec takes whatever is written to it.
    let _ = account::other_counters(&mut lines, summary)
        .and_then(|()| account::sources(&mut lines, summary));
    for line in String::from_utf8_lossy(&lines).lines() {
        page.paragraph(line);
    }
    for line in account::error_lines(statistics.errors(), ERRORS_MAX) {
        page.warning(&line);
    }
}

fn over_time(page: &mut Page, (step, steps): (Duration, Vec<Step>)) {
    page.section("Over time");
    let seconds = step.as_secs_f64();
    let each = |value: fn(&Step) -> f64| steps.iter().map(value).collect();
    let mean_ms = |step: &Step| match step.timed {
        0 => 0.0,
        timed => step.rtt_sum_ns / timed as f64 / 1e6,
    };
    let chart = Panels {
        across: "seconds since the start",
        start: 0.0,
        step: seconds,
        curves: vec![
            Panel {
                title: "probes sent",
                values: each(|step| step.sent as f64),
            },
            Panel {
                title: "probes lost",
                values: each(|step| step.lost.max(0) as f64),
            },
            Panel {
                title: "round trip on average, ms",
                values: each(mean_ms),
            },
        ],
    };
    page.chart(&format!("Each step is {seconds} s"), &chart);
    page.paragraph("A probe counts as lost when its time is over, which is later than it was sent. Without answers a round trip is 0.");
}

fn targets(page: &mut Page, statistics: &Prober) {
    page.section("Targets");
    let columns = [
        Column::Text("Target"),
        Column::Text("Address"),
        Column::Number("Sent"),
        Column::Number("Received"),
        Column::Share("Not answered"),
        Column::Number("Least"),
        Column::Number("Median"),
        Column::Number("Mean"),
        Column::Number("99 %"),
        Column::Number("Most"),
        Column::Number("Jitter"),
    ];
    let all = statistics.targets().len() as usize;
    let shown = shown(statistics);
    let rows = shown.iter().map(|&target| row(statistics, target));
    page.table(&Table {
        caption: "Each target",
        columns: columns.into(),
        rows: rows.collect(),
    });
    if shown.len() < all {
        page.paragraph(&format!(
            "These are the {} targets with the most losses; {} others are not shown.",
            grouped(shown.len() as u64),
            grouped((all - shown.len()) as u64)
        ));
    }
}

/// The targets that are shown: all if there is room, otherwise those with the most losses, which come first.
fn shown(statistics: &Prober) -> Vec<u32> {
    let targets = statistics.targets();
    if targets.len() as usize <= ROWS_MAX {
        return targets.indices().collect();
    }
    // The one with the least losses is on top.
    let mut most = BinaryHeap::with_capacity(ROWS_MAX + 1);
    for target in targets.indices() {
        let loss = figures::loss_percent(&statistics.counts(target)).unwrap_or(0.0);
        // The bits of numbers that are not negative have their order.
        most.push((Reverse(loss.to_bits()), target));
        if most.len() > ROWS_MAX {
            most.pop();
        }
    }
    let most = most.into_sorted_vec().into_iter();
    most.map(|(_, target)| target).collect()
}

fn row(statistics: &Prober, target: u32) -> Vec<String> {
    let targets = statistics.targets();
    let figures = PingFigures::of_target(statistics, target);
    let name = figures::name(targets, target) + &figures::path(targets, target);
    let loss = figures.loss_percent().unwrap_or(0.0) / 100.0;
    let mut row = vec![
        name,
        figures::shown_address(targets, target),
        grouped(figures.counts.sent),
        grouped(figures.counts.received),
        loss.to_string(),
    ];
    let times = figures.rtt.map_or([None; 6], |rtt| {
        [
            Some(rtt.min_ns),
            rtt.p50_ns,
            Some(rtt.mean_ns),
            rtt.p99_ns,
            Some(rtt.max_ns),
            rtt.jitter_ns,
        ]
    });
    row.extend(times.map(|ns| ns.map_or("–".to_owned(), duration)));
    row
}
