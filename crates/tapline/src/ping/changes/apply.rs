//! Changes of the targets, made on the sending thread.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use probe::targets::{HostEntry, Targets};
use probe::{HostChangeKind, Prober};

use super::state::Engine;
use crate::ping::changes::Request;
use crate::ping::event::{PingEvent, TargetChange};
use crate::ping::resolver::LookupFailure;
use crate::ping::route::OnLink;

/// What identifies a host.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Identity {
    Name(Box<str>),
    Address(Option<IpAddr>, Option<u32>),
}

impl From<HostEntry> for Identity {
    fn from(entry: HostEntry) -> Self {
        match entry.name {
            Some(name) => Self::Name(name),
            None => Self::Address(entry.address, entry.zone),
        }
    }
}

impl Engine {
    /// Makes the requested changes, and reports those that take effect.
    #[inline]
    pub(super) fn change_targets(&mut self, observe: &mut impl FnMut(PingEvent, &Prober)) {
        let mut has_new_names = false;
        while let Some(request) = self.requests.0.take() {
            has_new_names = true;
            match request {
                Request::Add(targets, on_link) => {
                    let mut hosts = self.hosts();
                    self.add_hosts(&mut hosts, &targets, on_link.as_ref(), observe);
                }
                Request::Remove(targets) => {
                    let hosts = self.hosts();
                    for host in 0..targets.hosts() {
                        if let Some(known) = hosts.get(&targets.entry(host).into()) {
                            self.prober.remove_host(*known);
                        }
                    }
                }
                Request::Replace(targets, on_link) => {
                    self.replace_hosts(&targets, on_link.as_ref(), observe);
                }
                Request::Lookups(lookups) => {
                    for ((host, name), lookup) in lookups {
                        self.looked_up(host, &name, lookup, observe);
                    }
                    has_new_names = false;
                }
            }
        }
        if has_new_names {
            self.share_names();
        }
        if self.prober.has_pending_changes() {
            self.report_changes(observe);
        }
    }

    /// Shares the names with the thread that looks them up.
    pub(super) fn share_names(&self) {
        if self.name_watch.is_none() {
            return;
        }
        let targets = self.prober.targets();
        let named = (0..targets.hosts()).filter_map(|host| {
            let target = targets.of_host(host).start;
            let name = targets.name(target).filter(|_| !targets.is_leaving(host))?;
            Some((host, Arc::from(name)))
        });
        self.requests.0.set_names(named.collect());
    }

    /// The hosts that are not about to be removed.
    fn hosts(&self) -> HashMap<Identity, u32> {
        let targets = self.prober.targets();
        let all = (0..targets.hosts()).filter(|host| !targets.is_leaving(*host));
        all.map(|host| (targets.entry(host).into(), host)).collect()
    }

    /// Adds the hosts that are not in `hosts`. Returns their number. The others stay in `hosts` no longer.
    fn add_hosts(
        &mut self,
        hosts: &mut HashMap<Identity, u32>,
        list: &Targets,
        on_link: Option<&OnLink>,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) -> u32 {
        let mut added = 0;
        for new in 0..list.hosts() {
            let entry = list.entry(new);
            let address = entry.address;
            if let Some(host) = hosts.remove(&entry.clone().into()) {
                // Names that are looked up again keep their addresses.
                let is_other = address.is_some() && self.prober.coming_address(host) != address;
                if is_other && self.name_watch.is_none() {
                    self.prober.change_address(host, address);
                }
                continue;
            }
            let Ok(host) = self.prober.add_host(entry) else {
                break;
            };
            added += 1;
            let targets = self.prober.targets().of_host(host);
            if address.is_some_and(|address| on_link.is_some_and(|on_link| on_link.has(address))) {
                for target in targets.clone() {
                    self.prober.mark_on_link(target);
                }
            }
            let event = PingEvent::TargetChange {
                target: targets.start,
                change: TargetChange::Added,
            };
            observe(event, &self.prober);
        }
        added
    }

    fn replace_hosts(
        &mut self,
        list: &Targets,
        on_link: Option<&OnLink>,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        let mut hosts = self.hosts();
        let before = hosts.len();
        let added = self.add_hosts(&mut hosts, list, on_link, observe);
        let removed = hosts.len();
        let mut removed_hosts: Vec<u32> = hosts.into_values().collect();
        removed_hosts.sort_unstable();
        for host in removed_hosts {
            self.prober.remove_host(host);
        }
        let event = PingEvent::TargetsReplaced {
            added,
            removed: removed as u32,
            unchanged: (before - removed) as u32,
        };
        observe(event, &self.prober);
    }

    /// Applies the lookup of the name of `host`.
    fn looked_up(
        &mut self,
        host: u32,
        name: &str,
        lookup: Result<Vec<IpAddr>, LookupFailure>,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        let targets = self.prober.targets();
        let target = targets.of_host(host).start;
        // Meanwhile, another host may have taken its place.
        if targets.is_leaving(host) || targets.name(target) != Some(name) {
            return;
        }
        let current = self.prober.coming_address(host);
        let found = lookup.and_then(|addresses| {
            let is_kept = current.is_some_and(|current| addresses.contains(&current));
            let first = targets.first_accepted(&addresses);
            let address = current.filter(|_| is_kept).or(first);
            address.ok_or(LookupFailure::NotAccepted)
        });
        match found {
            Ok(address) => {
                self.failures.remove(&host);
                if current != Some(address) {
                    self.prober.change_address(host, Some(address));
                }
            }
            Err(failure @ LookupFailure::Failed(_)) if current.is_some() => {
                if self.failures.insert(host, failure.clone()).is_none() {
                    let change = TargetChange::LookupFailed { failure };
                    observe(PingEvent::TargetChange { target, change }, &self.prober);
                }
            }
            Err(failure) => {
                self.failures.insert(host, failure);
                if current.is_some() {
                    self.prober.change_address(host, None);
                }
            }
        }
    }

    fn report_changes(&mut self, observe: &mut impl FnMut(PingEvent, &Prober)) {
        while let Some(changed) = self.prober.next_change() {
            let account = changed.account;
            let change = if let HostChangeKind::Address { from, to } = changed.kind {
                let failure = self.failures.get(&changed.host);
                TargetChange::Address {
                    from,
                    to,
                    account,
                    failure: failure.filter(|_| to.is_none()).cloned(),
                }
            } else {
                self.failures.remove(&changed.host);
                TargetChange::Removed { account }
            };
            let target = self.prober.targets().of_host(changed.host).start;
            observe(PingEvent::TargetChange { target, change }, &self.prober);
        }
    }
}
