//! Time stamps in the summary of a capture: their sources, and the clock behind those of the hardware.

use serde_json::{Value, json};
use tapline::capture::{
    CaptureSummary, DeviceClockState, InterfaceAccount, TimestampCounts, TimestampSource,
};
use tapline::hwtstamp::StampError;

use crate::failure::chain;
use crate::values::units::grouped;

/// Packets have time stamps of several sources.
const MIXED: &str = "mixed";

/// The name of the only source, or `mixed`.
pub fn source(source: Option<TimestampSource>) -> &'static str {
    source.map_or(MIXED, TimestampSource::name)
}

/// Packets by source.
pub fn counts(counts: &TimestampCounts) -> Value {
    let counts = counts.by_source();
    let named = counts.map(|(source, packets)| (source.name().to_owned(), packets.into()));
    Value::Object(named.into_iter().collect())
}

/// Adds the time stamps of one interface to its JSON object.
pub fn add(object: &mut Value, link: &InterfaceAccount) {
    object["timestamps"] = counts(&link.timestamp_counts);
    let refusal = link.timestamp_refusal.as_deref();
    object["timestamp_refusal"] = refusal.map(|refusal| chain(refusal)).into();
    let clock = link.device_clock.as_ref().map(|clock| {
        json!({
            "device": format!("/dev/ptp{}", clock.index),
            "method": clock.method.name(),
            "offset_ns": clock.offset_ns,
            "drift_ppb": clock.drift_ppb,
            "uncertainty_ns": clock.uncertainty_ns,
            "steps": clock.steps,
        })
    });
    object["device_clock"] = clock.into();
}

/// The sources, as text: `kernel`, or `hardware (990) and kernel (10)`.
pub fn words(summary: &CaptureSummary) -> String {
    if let Some(source) = summary.timestamp_source() {
        return source.name().to_owned();
    }
    let counts = summary.timestamp_counts().by_source();
    let parts = counts.iter().filter(|(_, packets)| *packets > 0);
    let parts: Vec<_> = parts
        .map(|&(source, packets)| format!("{} ({})", source.name(), grouped(packets)))
        .collect();
    if parts.is_empty() {
        return MIXED.to_owned();
    }
    parts.join(" and ")
}

/// Why the kernel stamps packets although the hardware was to.
pub fn software_stamps(refusal: &StampError) -> String {
    format!("time stamps by the kernel: {}", chain(refusal))
}

/// The clock of an interface.
pub fn clock_line(link: &str, clock: &DeviceClockState) -> String {
    let steps = match clock.steps {
        0 => String::new(),
        steps => format!(", set {steps} times"),
    };
    format!(
        "clock of {link}: ptp{}, {:+.9} s from UTC within {} ns, {:+.3} ppm{steps}",
        clock.index,
        clock.offset_ns as f64 / 1e9,
        clock.uncertainty_ns,
        clock.drift_ppb / 1000.0,
    )
}
