//! Changes of the targets while the run lasts.

use std::net::IpAddr;

use crate::host_change::{HostChange, HostChangeKind, PendingChange, RemovedHosts};
use crate::plan::PlanError;
use crate::prober::Prober;
use crate::statistics::ProbeCounts;
use crate::targets::HostEntry;

/// Maximum number of targets, so that their indices fit.
const MAX_TARGETS: u64 = u32::MAX as u64 - 1;

/// Changes of the targets. Each call may allocate.
impl Prober {
    /// Adds a host. Its first probe is due within an interval. Returns the host.
    ///
    /// A host takes the place of one that was removed, if there is one.
    ///
    /// # Errors
    /// [`PlanError`] if there are too many targets.
    pub fn add_host(&mut self, entry: HostEntry) -> Result<u32, PlanError> {
        let paths = u64::from(self.targets.paths().max(1));
        let targets = (u64::from(self.targets.hosts()) + 1) * paths;
        if targets > MAX_TARGETS {
            return Err(PlanError {
                what: "targets",
                value: targets,
                low: 1,
                high: MAX_TARGETS,
            });
        }
        let (host, is_reused) = self.targets.add(entry);
        if is_reused {
            for target in self.targets.of_host(host) {
                let round = self.schedule.rounds_issued(target);
                self.accounts.reset(target, round);
                self.statistics.reset(self.schedule.position_of(target));
            }
        } else {
            self.statistics.grow(self.targets.len());
            self.schedule.grow(self.targets.len(), self.expired_slots);
        }
        Ok(host)
    }

    /// Changes the address of `host`; `None` sends no more probes to it.
    ///
    /// Until the probes in flight to it have ended, at most for the timeout, no probe is sent to it. Then
    /// [`Prober::next_change`] returns the change. So each probe belongs to the account of one address.
    pub fn change_address(&mut self, host: u32, address: Option<IpAddr>) {
        self.request(host, PendingChange::Address(address));
    }

    /// Removes `host`. Takes effect as [`Prober::change_address`] does, and further changes of the host are ignored.
    pub fn remove_host(&mut self, host: u32) {
        self.request(host, PendingChange::Remove);
    }

    fn request(&mut self, host: u32, change: PendingChange) {
        if self.targets.is_leaving(host) {
            return;
        }
        if change == PendingChange::Remove {
            self.targets.set_leaving(host);
        }
        self.targets.set_idle(host, true);
        self.pending_changes.push_back((host, change));
    }

    /// Whether changes wait for probes in flight.
    #[inline]
    pub fn has_pending_changes(&self) -> bool {
        !self.pending_changes.is_empty()
    }

    /// The address that `host` has, or will have after the changes that wait.
    pub fn coming_address(&self, host: u32) -> Option<IpAddr> {
        if self.targets.is_leaving(host) {
            return None;
        }
        let mut changes = self.pending_changes.iter().rev();
        match changes.find(|(changed, _)| *changed == host) {
            Some((_, PendingChange::Address(address))) => *address,
            _ => self.targets.address(self.targets.of_host(host).start),
        }
    }

    /// The next change that takes effect now. Changes take effect in the order of their requests.
    pub fn next_change(&mut self) -> Option<HostChange> {
        if self.unreported > 0 {
            return None;
        }
        let (host, change) = *self.pending_changes.front()?;
        // An earlier change may have allowed probes.
        self.targets.set_idle(host, true);
        let targets = self.targets.of_host(host);
        if targets
            .clone()
            .any(|target| self.counts(target).pending() > 0)
        {
            return None;
        }
        self.pending_changes.pop_front();
        let from = self.targets.address(targets.start);
        let mut account = ProbeCounts::default();
        for target in targets {
            let (counts, round) = (self.counts(target), self.schedule.rounds_issued(target));
            let closed = self.accounts.close(target, from, counts, round);
            account = account.plus(&closed);
            self.schedule.limits().forget(target);
            if change == PendingChange::Remove {
                self.removed.counts = self.removed.counts.plus(&counts);
            }
        }
        let kind = match change {
            PendingChange::Address(to) => {
                self.targets.set_address(host, to);
                HostChangeKind::Address { from, to }
            }
            PendingChange::Remove => {
                self.targets.remove(host);
                self.removed.hosts += 1;
                HostChangeKind::Removed
            }
        };
        Some(HostChange {
            host,
            kind,
            account,
        })
    }

    /// Hosts that were removed so far.
    pub fn removed(&self) -> RemovedHosts {
        self.removed
    }
}
