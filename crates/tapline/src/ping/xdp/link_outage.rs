//! How long a sweep waits for its interface. Probes that were due meanwhile would count as not sent, and no run would send them
//! again.

/// Maximum time that a sweep waits.
const MAX_HOLD_NS: u64 = 60_000_000_000;

/// Whether a sweep waits. Times are nanoseconds of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkOutage {
    /// Whether there is one probe to each target. Other runs do not wait: their targets are probed again.
    is_single: bool,
    is_up: bool,
    since_ns: Option<u64>,
}

impl LinkOutage {
    /// For a run whose interface is up.
    pub fn new(is_single: bool) -> Self {
        Self {
            is_single,
            is_up: true,
            since_ns: None,
        }
    }

    /// Notes that the interface is down, or was.
    pub fn note_down(&mut self, now_ns: u64) {
        if self.is_single {
            self.since_ns.get_or_insert(now_ns);
        }
    }

    /// Notes whether the interface is up. Returns whether it has come up while the sweep waits.
    pub fn set_up(&mut self, is_up: bool, now_ns: u64) -> bool {
        let was_up = std::mem::replace(&mut self.is_up, is_up);
        if !is_up {
            self.note_down(now_ns);
        }
        self.is_held() && is_up && !was_up
    }

    /// Whether the interface is down.
    pub fn is_down(&self) -> bool {
        !self.is_up
    }

    /// Whether no probe is sent.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.since_ns.is_some()
    }

    /// Notes that all routes were looked up after the last change. Ends the wait if the interface is up and leads to targets
    /// (`reaches_some`).
    pub fn routes_known(&mut self, reaches_some: bool) {
        if self.is_up && reaches_some {
            self.since_ns = None;
        }
    }

    /// When the sweep gives up.
    pub fn end_ns(&self) -> u64 {
        let end_ns = self
            .since_ns
            .map(|since_ns| since_ns.saturating_add(MAX_HOLD_NS));
        end_ns.unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_waits_until_its_interface_is_up_and_reaches_targets() {
        let mut hold = LinkOutage::new(true);
        assert!(!hold.set_up(true, 5), "it was up");
        assert_eq!((hold.is_held(), hold.end_ns()), (false, u64::MAX));
        hold.set_up(false, 7);
        hold.routes_known(true);
        assert!(hold.is_held() && hold.is_down());
        assert!(hold.set_up(true, 8));
        assert!(!hold.set_up(true, 9), "it has come up before");
        hold.routes_known(false);
        assert!(hold.is_held());
        // The time counts from the first failure.
        hold.set_up(false, 10);
        assert_eq!(hold.end_ns(), 60_000_000_007);
        hold.set_up(true, 11);
        hold.routes_known(true);
        assert_eq!((hold.is_held(), hold.end_ns()), (false, u64::MAX));
        // It was down between two looks.
        hold.note_down(12);
        assert!(hold.is_held() && !hold.is_down());
        hold.routes_known(true);
        assert!(!hold.is_held());
    }

    #[test]
    fn other_runs_do_not_wait() {
        let mut hold = LinkOutage::new(false);
        hold.note_down(1);
        assert!(!hold.set_up(false, 1));
        assert_eq!((hold.is_held(), hold.end_ns()), (false, u64::MAX));
        assert!(!hold.set_up(true, 2));
    }
}
