//! The timer that hands blocks of a TPACKET_V3 ring over before they are full.

use std::time::Duration;

use abi::clock::monotonic_ns;
use ring::{Backend, Delivery};

use super::super::measure::{Loop, LoopError};
use super::super::place::Roots;
use super::super::report::{Finding, Report, Severity};
use super::stall;
use crate::capture::ReaderTime;

const ID: &str = "block-timer";
/// A ring of the other version has no timer.
const ADVICE: &str = "capture with --delivery immediate, or adaptive and --snaplen 1920 or less";
/// The shortest time that can be asked for.
const FLOOR: Duration = Duration::from_millis(1);
/// Measurements that are wanted, and the fewest that say anything.
const SAMPLES: usize = 25;
const FEWEST: usize = 7;
/// After so many, or so much time, no more are made.
const MOST_TRIES: usize = 100;
const BUDGET_NS: u64 = 1_000_000_000;
/// A reader that has waited longer for its processor says nothing of the timer.
const LATE: Duration = Duration::from_micros(500);
/// A timer of whole milliseconds may be two late; those of 250 or 100 ticks a second are later.
const COARSE_NS: u64 = 3_000_000;
/// Later than that no tick is to blame: the reader is not woken when a block is handed over.
const BROKEN_NS: u64 = 50_000_000;

pub(super) fn check(_: &Roots, report: &mut Report) {
    match measure(FLOOR) {
        Ok(Some(wait_ns)) => {
            report.can(
                ID,
                format!("{} for a packet when 1 ms is asked for", shown(wait_ns)),
            );
            if let Some(finding) = judge(wait_ns) {
                report.found(finding);
            }
            // A packet may come in the middle of a turn; blocks are no faster for that.
            stall::check(wait_ns.max(FLOOR.as_nanos() as u64), report);
        }
        Ok(None) => report.unknown(
            ID,
            "the machine is busy: the reader got its processor too late to tell",
        ),
        Err(LoopError::Silence) => {
            let seen = "a block of a packet-v3 ring was not handed over in time";
            let spoils = "captures in batches see packets late or never";
            let finding = Finding::new(ID, Severity::Severe, seen, spoils);
            report.found(finding.advice(ADVICE));
        }
        Err(error) => report.failed(ID, &error),
    }
}

/// The time a lone packet waits in a ring whose timer is set to `timeout`, nanoseconds; `None` where it cannot
/// be told from the time that the reader waited for its processor.
///
/// Each packet is sent when the one before has come, so it waits for a whole turn of the timer. Of all
/// waits it is the first quartile: the processor may be away as a whole.
pub(super) fn measure(timeout: Duration) -> Result<Option<u64>, LoopError> {
    let delivery = Delivery::Batch {
        min_bytes: 1 << 16,
        timeout,
    };
    let mut looped = Loop::open(Backend::PacketV3, delivery)?;
    let mut waits_ns = Vec::with_capacity(SAMPLES);
    let end_ns = monotonic_ns().saturating_add(BUDGET_NS);
    for _ in 0..MOST_TRIES {
        let before = ReaderTime::now();
        let wait_ns = looped.deliver();
        let own = before.and_then(|before| ReaderTime::now()?.since(before));
        if own.is_none_or(|own| own.waited < LATE) {
            waits_ns.push(wait_ns?);
        }
        if waits_ns.len() == SAMPLES || monotonic_ns() >= end_ns {
            break;
        }
    }
    Ok(quartile(waits_ns))
}

fn quartile(mut waits_ns: Vec<u64>) -> Option<u64> {
    waits_ns.sort_unstable();
    (waits_ns.len() >= FEWEST).then(|| waits_ns[waits_ns.len() / 4])
}

pub(super) fn judge(wait_ns: u64) -> Option<Finding> {
    let severity = if wait_ns > BROKEN_NS {
        Severity::Severe
    } else if wait_ns > COARSE_NS {
        Severity::Warning
    } else {
        return None;
    };
    let seen = format!(
        "a packet-v3 ring with a timer of 1 ms hands a lone packet over after {}",
        shown(wait_ns)
    );
    let spoils = "packets reach their reader that late in batches, and so fast do blocks run out \
        of a reader that is held up";
    Some(Finding::new(ID, severity, seen, spoils).advice(ADVICE))
}

pub(super) fn shown(ns: u64) -> String {
    format!("{:.1} ms", ns as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use lab::Host;

    use super::*;

    #[test]
    fn a_timer_that_is_too_coarse_is_found() {
        let host = Host::new("host");
        let measured = host.run(|| measure(Duration::from_millis(20))).unwrap();
        // On a machine that is too busy nothing is told, and nobody is accused.
        let severity = |wait_ns| judge(wait_ns).map(|finding| finding.severity);
        assert!(measured.is_none_or(|wait_ns| severity(wait_ns) >= Some(Severity::Warning)));
    }

    #[test]
    fn a_few_measurements_are_not_judged() {
        assert_eq!(quartile(vec![450_000_000]), None);
        assert_eq!(quartile(vec![20_000_000; FEWEST - 1]), None);
        assert_eq!(quartile(vec![9, 1, 2, 3, 8, 7, 6]), Some(2));
    }

    #[test]
    fn a_timer_is_judged_by_its_delay() {
        assert_eq!(judge(1_100_000), None);
        let severity = |ns| judge(ns).map(|finding| finding.severity);
        assert_eq!(severity(4_000_000), Some(Severity::Warning));
        assert_eq!(severity(100_000_000), Some(Severity::Severe));
    }
}
