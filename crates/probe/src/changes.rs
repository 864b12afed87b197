//! Changes of the targets while the run lasts.

use std::net::IpAddr;

use crate::host_change::{HostChange, HostChangeKind, PendingChange, RemovedHosts, WaitingChange};
use crate::plan::PlanError;
use crate::prober::Prober;
use crate::settings::TargetSettings;
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
    /// [`PlanError`] if there are too many targets, or its settings are out of range.
    pub fn add_host(&mut self, entry: HostEntry) -> Result<u32, PlanError> {
        let paths = u64::from(self.targets.paths().max(1));
        let targets = (u64::from(self.targets.hosts()) + 1) * paths;
        let kernel_counted = self.kernel_counted.as_ref();
        let most =
            kernel_counted.map_or(MAX_TARGETS, |kernel_counted| kernel_counted.room().into());
        if targets > most && !self.targets.has_vacant() {
            return Err(PlanError {
                what: "targets",
                value: targets,
                low: 1,
                high: most,
            });
        }
        let settings = entry.settings;
        self.own.check(settings)?;
        let (host, is_reused) = self.targets.add(entry);
        if is_reused {
            for target in self.targets.of_host(host) {
                let round = self.schedule.rounds_issued(target);
                self.accounts.reset(target, round);
                match &mut self.kernel_counted {
                    None => self.statistics.reset(self.schedule.position_of(target)),
                    Some(kernel_counted) => kernel_counted.reset(target),
                }
            }
        } else {
            match &mut self.kernel_counted {
                None => self.statistics.grow(self.targets.len()),
                Some(kernel_counted) => kernel_counted.grow(self.targets.len()),
            }
            self.schedule.grow(self.targets.len(), self.expired_slots);
        }
        self.set_plan(host, settings);
        Ok(host)
    }

    /// Probes `host` with these settings from the next round on; its number of probes begins again.
    ///
    /// # Errors
    /// [`PlanError`] if they are out of range.
    pub fn change_settings(
        &mut self,
        host: u32,
        settings: TargetSettings,
    ) -> Result<(), PlanError> {
        self.own.check(settings)?;
        self.targets.set_settings(host, settings);
        self.set_plan(host, settings);
        Ok(())
    }

    fn set_plan(&mut self, host: u32, settings: TargetSettings) {
        for target in self.targets.of_host(host) {
            let round = self.schedule.rounds_issued(target);
            self.own.set(target, self.targets.len(), settings, round);
        }
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
        self.pending_changes.push_back(WaitingChange {
            host,
            change,
            final_ns: self.now_ns + 2 * self.timeout_ns + 1,
        });
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
        match changes.find(|waiting| waiting.host == host) {
            Some(WaitingChange {
                change: PendingChange::Address(address),
                ..
            }) => *address,
            _ => self.targets.address(self.targets.of_host(host).start),
        }
    }

    /// The next change that takes effect now. Changes take effect in the order of their requests.
    pub fn next_change(&mut self) -> Option<HostChange> {
        if self.unreported > 0 {
            return None;
        }
        let WaitingChange {
            host,
            change,
            final_ns,
        } = *self.pending_changes.front()?;
        // An earlier change may have allowed probes.
        self.targets.set_idle(host, true);
        let targets = self.targets.of_host(host);
        if self.kernel_counted.is_some() {
            if self.now_ns < final_ns {
                return None;
            }
            for target in targets.clone() {
                self.close(target);
            }
        }
        let mut in_flight = targets.clone();
        if in_flight.any(|target| self.counts(target).pending() > 0) {
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
