//! How long probes wait for an interface that was down, and for the routes that come back after it.
//!
//! A sweep waits as a whole, also if only its routes are gone: probes that were due meanwhile would count as not sent, and no run
//! would send them again. In other runs each probe waits for a few seconds, as for an unresolved neighbour, so that a short outage
//! of the interface costs none. A sweep also waits while none of its gateways answers.

/// Maximum time that a sweep waits.
const MAX_HOLD_NS: u64 = 60_000_000_000;
/// How long probes wait for the interface after it has gone down, and for their routes after it has come up.
const MAX_RECOVERY_NS: u64 = 3_000_000_000;

/// Whether the interface is down, and until when it is waited for. Times are nanoseconds of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkOutage {
    /// Whether there is one probe to each target.
    is_single: bool,
    is_up: bool,
    /// Since when a sweep waits.
    since_ns: Option<u64>,
    /// Whether it waits for a gateway.
    lacks_gateway: bool,
    recovers_until_ns: u64,
}

impl LinkOutage {
    /// For a run whose interface is up.
    pub fn new(is_single: bool) -> Self {
        Self {
            is_single,
            is_up: true,
            since_ns: None,
            lacks_gateway: false,
            recovers_until_ns: 0,
        }
    }

    /// Notes that the interface is down, or was; of a sweep also that its routes are gone.
    pub fn note_down(&mut self, now_ns: u64) {
        if self.is_single {
            self.since_ns.get_or_insert(now_ns);
        }
        if self.is_up {
            self.recovers_until_ns = now_ns + MAX_RECOVERY_NS;
        }
    }

    /// Notes that no gateway of a sweep answers, which reaches its targets by gateways only.
    pub fn note_lost_gateway(&mut self, now_ns: u64) {
        self.since_ns.get_or_insert(now_ns);
        self.lacks_gateway = true;
    }

    /// Notes that a gateway has answered.
    pub fn note_gateway(&mut self) {
        if std::mem::take(&mut self.lacks_gateway) && self.is_up {
            self.since_ns = None;
        }
    }

    /// Whether a sweep waits for a gateway.
    pub fn lacks_gateway(&self) -> bool {
        self.lacks_gateway
    }

    /// Notes whether the interface is up. Returns whether it has come up.
    pub fn set_up(&mut self, is_up: bool, now_ns: u64) -> bool {
        if !is_up {
            self.note_down(now_ns);
        }
        let was_up = std::mem::replace(&mut self.is_up, is_up);
        let has_come_up = is_up && !was_up;
        if has_come_up {
            self.recovers_until_ns = now_ns + MAX_RECOVERY_NS;
        }
        has_come_up
    }

    /// Whether the interface is down.
    pub fn is_down(&self) -> bool {
        !self.is_up
    }

    /// Whether no probe is sent: a sweep waits.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.since_ns.is_some()
    }

    /// Whether a probe without a route waits for one.
    #[inline]
    pub fn is_recovering(&self, now_ns: u64) -> bool {
        now_ns < self.recovers_until_ns
    }

    /// Whether the kernel is not asked for neighbours: the interface is down, and probes wait for it.
    pub fn pauses_neighbours(&self, now_ns: u64) -> bool {
        let waits_for_link = self.is_held() && (self.is_down() || !self.lacks_gateway);
        waits_for_link || (self.is_down() && self.is_recovering(now_ns))
    }

    /// When probes without a route stop waiting.
    pub fn recovery_end_ns(&self) -> u64 {
        self.recovers_until_ns
    }

    /// Notes that all routes were looked up after the last change. Ends the wait of a sweep if the interface is up and leads to
    /// targets (`reaches_some`), perhaps by another gateway that is known. Other routes may follow.
    pub fn routes_known(&mut self, reaches_some: bool, now_ns: u64) {
        if self.is_up && reaches_some && self.since_ns.take().is_some() {
            self.lacks_gateway = false;
            self.recovers_until_ns = now_ns + MAX_RECOVERY_NS;
        }
    }

    /// When a sweep gives up.
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
        let mut outage = LinkOutage::new(true);
        assert!(!outage.set_up(true, 5), "it was up");
        assert_eq!((outage.is_held(), outage.end_ns()), (false, u64::MAX));
        outage.set_up(false, 7);
        outage.routes_known(true, 7);
        assert!(outage.is_held() && outage.is_down());
        assert!(outage.set_up(true, 8));
        assert!(!outage.set_up(true, 9), "it has come up before");
        outage.routes_known(false, 9);
        assert!(outage.is_held());
        // The time counts from the first failure.
        outage.set_up(false, 10);
        assert_eq!(outage.end_ns(), 60_000_000_007);
        outage.set_up(true, 11);
        outage.routes_known(true, 12);
        assert_eq!((outage.is_held(), outage.end_ns()), (false, u64::MAX));
        // Targets whose routes come back later.
        assert!(outage.is_recovering(3_000_000_011));
        assert!(!outage.is_recovering(3_000_000_012));
        // It was down between two looks.
        outage.note_down(12);
        assert!(outage.is_held() && !outage.is_down());
        outage.routes_known(true, 13);
        assert!(!outage.is_held());
    }

    /// The gateway is resolved during the wait, unless the interface is down.
    #[test]
    fn a_sweep_waits_for_a_gateway() {
        let mut outage = LinkOutage::new(true);
        outage.note_gateway();
        assert!(!outage.is_held());
        outage.note_lost_gateway(5);
        outage.note_lost_gateway(6);
        assert!(outage.is_held() && outage.lacks_gateway());
        assert!(!outage.pauses_neighbours(7));
        assert_eq!(outage.end_ns(), 60_000_000_005);
        outage.note_gateway();
        assert_eq!((outage.is_held(), outage.end_ns()), (false, u64::MAX));
        // The interface goes down meanwhile.
        outage.note_lost_gateway(8);
        outage.set_up(false, 9);
        assert!(outage.pauses_neighbours(9_000_000_000));
        outage.note_gateway();
        assert!(outage.is_held() && !outage.lacks_gateway());
        outage.set_up(true, 10_000_000_000);
        outage.routes_known(true, 10_000_000_000);
        assert!(!outage.is_held());
        // Another route leads to another gateway.
        outage.note_lost_gateway(11_000_000_000);
        outage.routes_known(true, 12_000_000_000);
        assert!(!outage.is_held() && !outage.lacks_gateway());
    }

    #[test]
    fn probes_of_other_runs_wait_for_some_time_after_each_change() {
        let mut outage = LinkOutage::new(false);
        assert!(!outage.is_recovering(0));
        assert!(!outage.set_up(false, 1));
        assert_eq!((outage.is_held(), outage.end_ns()), (false, u64::MAX));
        assert!(outage.is_recovering(3_000_000_000));
        // It stays down: its notifications do not prolong the wait.
        outage.note_down(2_000_000_000);
        assert!(!outage.set_up(false, 2_000_000_000));
        assert!(!outage.is_recovering(3_000_000_001));
        assert!(outage.set_up(true, 9_000_000_000));
        assert!(outage.is_recovering(11_999_999_999));
        assert_eq!(outage.recovery_end_ns(), 12_000_000_000);
        // Down and up again between two looks.
        outage.note_down(10_000_000_000);
        assert_eq!(outage.recovery_end_ns(), 13_000_000_000);
    }
}
