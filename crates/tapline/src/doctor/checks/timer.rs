//! The timer that hands blocks of a TPACKET_V3 ring over before they are full.

use std::time::Duration;

use ring::{Backend, Delivery};

use super::super::measure::{Loop, LoopError};
use super::super::place::Roots;
use super::super::report::{Finding, Report, Severity};

const ID: &str = "block-timer";
/// The shortest time that can be asked for.
const FLOOR: Duration = Duration::from_millis(1);
const SAMPLES: usize = 25;
/// After so much waiting there are samples enough.
const BUDGET_NS: u64 = 400_000_000;
/// A timer of whole milliseconds may be two late; those of 250 or 100 ticks a second are later.
const COARSE_NS: u64 = 3_000_000;
/// Later than that no tick is to blame: the reader is not woken when a block is handed over.
const BROKEN_NS: u64 = 50_000_000;

pub(super) fn check(_: &Roots, report: &mut Report) {
    match measure(FLOOR) {
        Ok(wait_ns) => {
            report.can(
                ID,
                format!("{} for a packet when 1 ms is asked for", shown(wait_ns)),
            );
            if let Some(finding) = judge(wait_ns) {
                report.found(finding);
            }
        }
        Err(LoopError::Silence) => report.found(Finding::new(
            ID,
            Severity::Severe,
            "a block of a packet-v3 ring was not handed over in time",
            "captures in batches see packets late or never; use --delivery immediate",
        )),
        Err(error) => report.failed(ID, &error),
    }
}

/// The time a lone packet waits in a ring whose timer is set to `timeout`, nanoseconds.
///
/// Each packet is sent when the one before has come, so it waits for a whole turn of the timer. Of all
/// waits it is the first quartile: a reader that gets its processor late makes them longer, and that
/// is not the timer's fault.
pub(super) fn measure(timeout: Duration) -> Result<u64, LoopError> {
    let delivery = Delivery::Batch {
        min_bytes: 1 << 16,
        timeout,
    };
    let mut looped = Loop::open(Backend::PacketV3, delivery)?;
    let mut waits_ns = Vec::with_capacity(SAMPLES);
    let mut total_ns = 0;
    while waits_ns.len() < SAMPLES && total_ns < BUDGET_NS {
        let wait_ns = looped.deliver()?;
        total_ns += wait_ns;
        waits_ns.push(wait_ns);
    }
    waits_ns.sort_unstable();
    Ok(waits_ns[waits_ns.len() / 4])
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
        of a reader that is held up; --delivery immediate is not concerned";
    Some(Finding::new(ID, severity, seen, spoils))
}

fn shown(ns: u64) -> String {
    format!("{:.1} ms", ns as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use lab::Host;

    use super::*;

    #[test]
    fn a_timer_that_is_too_coarse_is_found() {
        let host = Host::new("host");
        let wait_ns = host.run(|| measure(Duration::from_millis(20))).unwrap();
        let finding = judge(wait_ns).expect("a timer of 20 ms is coarse");
        assert_eq!(finding.id, "block-timer");
        assert!(finding.severity >= Severity::Warning);
    }

    #[test]
    fn a_timer_is_judged_by_its_delay() {
        assert_eq!(judge(1_100_000), None);
        let severity = |ns| judge(ns).map(|finding| finding.severity);
        assert_eq!(severity(4_000_000), Some(Severity::Warning));
        assert_eq!(severity(100_000_000), Some(Severity::Severe));
    }
}
