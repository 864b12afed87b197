//! The page of `--report`.

use tapline::latency::LatencySummary;

use super::report::cells;
use crate::output::page_durations::duration;
use crate::page::{Column, Page, Table};
use crate::values::units::grouped;

/// The page about a measurement with one `setting`, which began at `start`.
pub fn of_one(interface: &str, setting: &str, start: &str, summary: &LatencySummary) -> Page {
    let mut page = Page::new(&format!("Latency report: {interface}"));
    page.section("Overview");
    page.facts(facts(interface, setting, start, summary));
    page.section("Delays");
    delays(&mut page, summary);
    page
}

/// The page about compared settings.
pub fn of_settings(interface: &str, start: &str, rows: &[(String, LatencySummary)]) -> Page {
    let mut page = Page::new(&format!("Latency report: {interface}"));
    page.section("Settings");
    page.facts([("Interface", interface), ("Start", start)]);
    page.table(&Table {
        caption: "All settings saw the same packets",
        columns: [
            Column::Text("Setting"),
            Column::Text("Ring"),
            Column::Number("Packets"),
            Column::Number("Median"),
            Column::Number("90 %"),
            Column::Number("99 %"),
            Column::Number("99.9 %"),
            Column::Number("Most"),
            Column::Number("CPU"),
            Column::Number("Sleeps/s"),
            Column::Number("Lost"),
        ]
        .into(),
        rows: rows.iter().map(|row| cells(row).into()).collect(),
    });
    for (setting, summary) in rows {
        page.section(setting);
        delays(&mut page, summary);
    }
    page
}

fn facts(
    interface: &str,
    setting: &str,
    start: &str,
    summary: &LatencySummary,
) -> Vec<(&'static str, String)> {
    let delays = &summary.delays;
    let mut facts = vec![
        ("Interface", interface.to_owned()),
        ("Delivery", setting.to_owned()),
        ("Ring", summary.backend.name().to_owned()),
        ("Ring bytes", grouped(summary.buffer_bytes as u64)),
        ("Start", start.to_owned()),
        ("Duration", duration(nanoseconds(summary))),
        ("Measured packets", grouped(delays.histogram.count())),
        ("Lost packets", grouped(summary.lost)),
        (
            "CPU of the reader",
            format!("{:.1} %", summary.cpu_share() * 100.0),
        ),
        ("Sleeps/s", format!("{:.0}", summary.sleeps_per_s())),
    ];
    let unmeasured = [
        ("Before the start or after the end", summary.outside),
        ("Stamped ahead of this clock", delays.ahead),
        ("Without a time stamp", delays.unstamped),
    ];
    let unmeasured = unmeasured.into_iter().filter(|(_, packets)| *packets > 0);
    facts.extend(unmeasured.map(|(why, packets)| (why, grouped(packets))));
    facts
}

fn delays(page: &mut Page, summary: &LatencySummary) {
    if summary.delays.histogram.count() == 0 {
        page.paragraph("No packet was measured.");
    }
    page.durations(
        "From the time stamp to the reader",
        "packets",
        &summary.delays.histogram,
    );
}

fn nanoseconds(summary: &LatencySummary) -> u64 {
    u64::try_from(summary.duration.as_nanos()).unwrap_or(u64::MAX)
}
