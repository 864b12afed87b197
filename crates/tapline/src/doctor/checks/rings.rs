//! Packet rings on loopback: which versions work, and how exact the block timer is.

use std::time::Duration;

use abi::clock::monotonic_ns;
use ring::{DeliveryMode, RingOptions, TpacketVersion};

use crate::capture::ReaderTime;
use crate::doctor::loopback::{LoopbackError, LoopbackRing};
use crate::doctor::paths::SystemPaths;
use crate::doctor::report::{Finding, Report, Severity};

const RING: &str = "ring";
/// More bytes than a test sends, so that only the timer closes a block.
const BATCH_BYTES: usize = 1 << 16;

pub(super) fn check_versions(_: &SystemPaths, report: &mut Report) {
    let batch = DeliveryMode::Batch {
        min_bytes: BATCH_BYTES,
        timeout: Duration::from_millis(1),
    };
    let mut working = Vec::new();
    for (version, delivery) in [
        (TpacketVersion::V2, DeliveryMode::Immediate),
        (TpacketVersion::V3, batch),
    ] {
        match LoopbackRing::open(version, delivery).and_then(|mut ring| ring.deliver()) {
            Ok(_) => working.push(version.name()),
            Err(LoopbackError::NoPacket) => report.add(no_packet(version)),
            Err(error) => {
                report.add_error(RING, &error);
                // The other version fails for the same reason.
                break;
            }
        }
    }
    if !working.is_empty() {
        let value = format!("{} (each received a test packet)", working.join(", "));
        report.add_ability(RING, value);
    }
}

fn no_packet(version: TpacketVersion) -> Finding {
    let other = match version {
        TpacketVersion::V2 => TpacketVersion::V3,
        TpacketVersion::V3 => TpacketVersion::V2,
    };
    let observed = format!("a {} ring on lo received no packet", version.name());
    Finding::severe(RING, observed, "captures with this ring see nothing")
        .advice(&format!("capture with the back end {}", other.name()))
}

const BLOCK_TIMER: &str = "block-timer";
const STALL: &str = "stall";
/// A TPACKET_V2 ring has no block timer.
const ADVICE: &str =
    "capture with immediate delivery, or adaptive delivery and at most 1920 bytes per packet";
/// The shortest timer that TPACKET_V3 accepts.
const MIN_TIMER: Duration = Duration::from_millis(1);
/// Samples to take, and the fewest that allow a judgement.
const SAMPLES: usize = 25;
const MIN_SAMPLES: usize = 7;
/// Limits of the measurement.
const MAX_TRIES: usize = 100;
const MAX_TIME_NS: u64 = 1_000_000_000;
/// A reader that waited longer for its CPU measures the scheduler, not the timer.
const MAX_CPU_WAIT: Duration = Duration::from_micros(500);
/// A timer of whole milliseconds may be 2 ms late. Kernels with 250 or 100 ticks a second are later.
const COARSE_NS: u64 = 3_000_000;
/// No tick is that slow: the kernel does not wake the reader when it closes a block.
const BROKEN_NS: u64 = 50_000_000;
/// Target of adaptive delivery in a capture with default options.
const DEFAULT_TARGET: Duration = Duration::from_micros(200);

/// Measures the timer that closes a TPACKET_V3 block before it is full.
pub(super) fn check_block_timer(_: &SystemPaths, report: &mut Report) {
    match block_wait_ns(MIN_TIMER) {
        Ok(Some(wait_ns)) => {
            let value = format!("a packet waits {} with a 1 ms timer", milliseconds(wait_ns));
            report.add_ability(BLOCK_TIMER, value);
            if let Some(finding) = judge_block_wait(wait_ns) {
                report.add(finding);
            }
            // A packet that arrives late in a period waits less; a block is never closed sooner.
            report_stall(wait_ns.max(MIN_TIMER.as_nanos() as u64), report);
        }
        Ok(None) => report.add_unknown(
            BLOCK_TIMER,
            "the host is too busy for this measurement: the reader waited for its CPU",
        ),
        Err(LoopbackError::NoPacket) => {
            let observed = "the kernel did not close a block of a packet-v3 ring in time";
            let effect = "captures in batches see packets late or never";
            report.add(Finding::severe(BLOCK_TIMER, observed, effect).advice(ADVICE));
        }
        Err(error) => report.add_error(BLOCK_TIMER, &error),
    }
}

/// How long a single packet waits in a ring whose block timer is `timeout`, nanoseconds; `None` if the
/// reader waited too long for its CPU to tell.
///
/// Each packet is sent when the previous one has arrived, so it waits for a whole timer period. The first
/// quartile is used because a hypervisor may stop the whole CPU.
fn block_wait_ns(timeout: Duration) -> Result<Option<u64>, LoopbackError> {
    let delivery = DeliveryMode::Batch {
        min_bytes: BATCH_BYTES,
        timeout,
    };
    let mut ring = LoopbackRing::open(TpacketVersion::V3, delivery)?;
    let mut waits_ns = Vec::with_capacity(SAMPLES);
    let end_ns = monotonic_ns().saturating_add(MAX_TIME_NS);
    for _ in 0..MAX_TRIES {
        let before = ReaderTime::now();
        let wait_ns = ring.deliver();
        let reader = before.and_then(|before| ReaderTime::now()?.since(before));
        if reader.is_none_or(|reader| reader.waited < MAX_CPU_WAIT) {
            waits_ns.push(wait_ns?);
        }
        if waits_ns.len() == SAMPLES || monotonic_ns() >= end_ns {
            break;
        }
    }
    Ok(first_quartile(waits_ns))
}

fn first_quartile(mut waits_ns: Vec<u64>) -> Option<u64> {
    waits_ns.sort_unstable();
    (waits_ns.len() >= MIN_SAMPLES).then(|| waits_ns[waits_ns.len() / 4])
}

fn judge_block_wait(wait_ns: u64) -> Option<Finding> {
    let severity = if wait_ns <= COARSE_NS {
        return None;
    } else if wait_ns <= BROKEN_NS {
        Severity::Warning
    } else {
        Severity::Severe
    };
    let observed = format!(
        "a packet-v3 ring with a 1 ms timer delivers a single packet after {}",
        milliseconds(wait_ns)
    );
    let effect = "in batches packets reach their reader that late, and a delayed reader runs out of blocks \
        that fast";
    Some(Finding::new(BLOCK_TIMER, severity, observed, effect).advice(ADVICE))
}

/// Reports how long a reader may pause while packets are few: number of blocks × time per block.
fn report_stall(block_ns: u64, report: &mut Report) {
    let options = RingOptions {
        version: Some(TpacketVersion::V3),
        delivery: DeliveryMode::Adaptive {
            target: DEFAULT_TARGET,
        },
        ..RingOptions::default()
    };
    match options.block_count() {
        Ok(blocks) => {
            let blocks = blocks.unwrap_or(0) as u64;
            let pause = milliseconds(blocks.saturating_mul(block_ns));
            let block = milliseconds(block_ns);
            let value = format!(
                "a reader may pause for {pause}: {blocks} blocks of {block} in a packet-v3 ring"
            );
            report.add_ability(STALL, value);
        }
        Err(error) => report.add_error(STALL, &error),
    }
}

fn milliseconds(ns: u64) -> String {
    format!("{:.1} ms", ns as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use lab::Host;

    use super::*;

    #[test]
    fn a_coarse_timer_is_a_finding() {
        let host = Host::new("host");
        let measured = host
            .run(|| block_wait_ns(Duration::from_millis(20)))
            .unwrap();
        let severity = |wait_ns| judge_block_wait(wait_ns).map(|finding| finding.severity);
        // A host that is too busy yields no measurement and so no finding.
        assert!(measured.is_none_or(|wait_ns| severity(wait_ns) >= Some(Severity::Warning)));
    }

    #[test]
    fn too_few_samples_give_no_judgement() {
        assert_eq!(first_quartile(vec![450_000_000]), None);
        assert_eq!(first_quartile(vec![20_000_000; MIN_SAMPLES - 1]), None);
        assert_eq!(first_quartile(vec![9, 1, 2, 3, 8, 7, 6]), Some(2));
    }

    #[test]
    fn a_timer_is_judged_by_its_delay() {
        let severity = |ns| judge_block_wait(ns).map(|finding| finding.severity);
        assert_eq!(severity(1_100_000), None);
        assert_eq!(severity(4_000_000), Some(Severity::Warning));
        assert_eq!(severity(100_000_000), Some(Severity::Severe));
    }

    /// The ring is laid out for twice the 200 ms that its documentation promises.
    #[test]
    fn the_default_ring_survives_twice_its_stall() {
        let pause_ms = |block_ns| {
            let mut report = Report::default();
            report_stall(block_ns, &mut report);
            let words: Vec<&str> = report.abilities[0].value.split(' ').collect();
            words[5].trim_end_matches(".0").parse::<u64>().unwrap()
        };
        assert!(pause_ms(1_000_000) >= 400);
        assert_eq!(pause_ms(10_000_000), pause_ms(1_000_000) * 10);
    }
}
