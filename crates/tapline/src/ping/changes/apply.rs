//! Changes of the targets, made on the sending thread.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use probe::targets::{HostEntry, Targets};
use probe::{HostChangeKind, Prober};

use super::control::TargetControl;
use super::name_watch::NameWatch;
use super::requests::{Request, RunRequests, TargetRequests};
use crate::ping::event::{PingEvent, TargetChange};
use crate::ping::resolver::LookupFailure;
use crate::ping::route::OnLink;

/// The changes that other threads request, and what is known of names that are looked up again.
#[derive(Debug)]
pub(in crate::ping) struct TargetChanges {
    requests: RunRequests,
    name_watch: Option<NameWatch>,
    /// Why the latest lookup of a host failed.
    failures: HashMap<u32, LookupFailure>,
    /// Hosts whose settings the latest requests have changed.
    resettled: Vec<u32>,
    /// Lists of at most this many hosts need no pace for neighbours.
    max_unpaced: u32,
}

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

impl TargetChanges {
    /// Looks names up again after each `resolve_every`.
    pub fn new(resolve_every: Option<Duration>, max_unpaced: u32) -> io::Result<Self> {
        Ok(Self {
            requests: RunRequests(Arc::new(TargetRequests::new()?)),
            name_watch: resolve_every.map(NameWatch::new),
            failures: HashMap::new(),
            resettled: Vec::new(),
            max_unpaced,
        })
    }

    /// Refuses all requests.
    pub fn refuse(&self) {
        self.requests.0.end();
    }

    /// Starts looking up names again, if that was requested and is not done yet.
    pub fn start_name_watch(&mut self) -> io::Result<()> {
        match &mut self.name_watch {
            Some(watch) => watch.start(&self.requests.0),
            None => Ok(()),
        }
    }

    pub fn control(&self) -> TargetControl {
        TargetControl::new(Arc::clone(&self.requests.0), self.max_unpaced)
    }

    /// Makes the requested changes, and reports those that take effect.
    #[inline]
    pub fn apply(&mut self, prober: &mut Prober, observe: &mut impl FnMut(PingEvent, &Prober)) {
        let mut has_new_names = false;
        self.resettled.clear();
        while let Some(request) = self.requests.0.take() {
            has_new_names = true;
            match request {
                Request::Add(targets, on_link) => {
                    let mut hosts = hosts(prober);
                    let on_link = on_link.as_ref();
                    self.add_hosts(&mut hosts, &targets, on_link, prober, observe);
                }
                Request::Remove(targets) => {
                    let hosts = hosts(prober);
                    for host in 0..targets.hosts() {
                        if let Some(known) = hosts.get(&targets.entry(host).into()) {
                            prober.remove_host(*known);
                        }
                    }
                }
                Request::Replace(targets, on_link) => {
                    self.replace_hosts(&targets, on_link.as_ref(), prober, observe);
                }
                Request::Lookups(lookups) => {
                    for ((host, name), lookup) in lookups {
                        self.looked_up(host, &name, lookup, prober, observe);
                    }
                    has_new_names = false;
                }
            }
        }
        if has_new_names {
            self.share_names(prober.targets());
        }
        if prober.has_pending_changes() {
            self.report_changes(prober, observe);
        }
    }

    /// Hosts that were in the run, and whose settings the latest [`apply`](Self::apply) has changed.
    pub fn resettled(&self) -> &[u32] {
        &self.resettled
    }

    /// Shares the names with the thread that looks them up.
    pub fn share_names(&self, targets: &Targets) {
        if self.name_watch.is_none() {
            return;
        }
        let named = (0..targets.hosts()).filter_map(|host| {
            let target = targets.of_host(host).start;
            let name = targets.name(target).filter(|_| !targets.is_leaving(host))?;
            Some((host, Arc::from(name)))
        });
        self.requests.0.set_names(named.collect());
    }

    /// Adds the hosts that are not in `hosts`. Returns their number. The others stay in `hosts` no longer.
    fn add_hosts(
        &mut self,
        hosts: &mut HashMap<Identity, u32>,
        list: &Targets,
        on_link: Option<&OnLink>,
        prober: &mut Prober,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) -> u32 {
        let (mut added, mut refused) = (0, None);
        for new in 0..list.hosts() {
            let entry = list.entry(new);
            let (address, settings) = (entry.address, entry.settings);
            if let Some(host) = hosts.remove(&entry.clone().into()) {
                // Names that are looked up again keep their addresses.
                let is_other = address.is_some() && prober.coming_address(host) != address;
                if is_other && self.name_watch.is_none() {
                    prober.change_address(host, address);
                }
                let is_same = prober.targets().settings(host) == settings;
                if is_same {
                    continue;
                }
                match prober.change_settings(host, settings) {
                    Ok(()) => self.resettled.push(host),
                    Err(error) => refused.get_or_insert((0, error)).0 += 1,
                }
                continue;
            }
            let host = match prober.add_host(entry) {
                Ok(host) => host,
                Err(error) => {
                    refused.get_or_insert((0, error)).0 += 1;
                    continue;
                }
            };
            added += 1;
            let targets = prober.targets().of_host(host);
            if address.is_some_and(|address| on_link.is_some_and(|on_link| on_link.has(address))) {
                for target in targets.clone() {
                    prober.mark_on_link(target);
                }
            }
            let event = PingEvent::TargetChange {
                target: targets.start,
                change: TargetChange::Added,
            };
            observe(event, prober);
        }
        if let Some((hosts, error)) = refused {
            observe(PingEvent::NotAdded { hosts, error }, prober);
        }
        added
    }

    fn replace_hosts(
        &mut self,
        list: &Targets,
        on_link: Option<&OnLink>,
        prober: &mut Prober,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        let mut hosts = hosts(prober);
        let before = hosts.len();
        let added = self.add_hosts(&mut hosts, list, on_link, prober, observe);
        let removed = hosts.len();
        let mut removed_hosts: Vec<u32> = hosts.into_values().collect();
        removed_hosts.sort_unstable();
        for host in removed_hosts {
            prober.remove_host(host);
        }
        let event = PingEvent::TargetsReplaced {
            added,
            removed: removed as u32,
            unchanged: (before - removed) as u32,
        };
        observe(event, prober);
    }

    /// Applies the lookup of the name of `host`.
    fn looked_up(
        &mut self,
        host: u32,
        name: &str,
        lookup: Result<Vec<IpAddr>, LookupFailure>,
        prober: &mut Prober,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        let targets = prober.targets();
        let target = targets.of_host(host).start;
        // Meanwhile, another host may have taken its place.
        if targets.is_leaving(host) || targets.name(target) != Some(name) {
            return;
        }
        let current = prober.coming_address(host);
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
                    prober.change_address(host, Some(address));
                }
            }
            Err(failure @ LookupFailure::Failed(_)) if current.is_some() => {
                if self.failures.insert(host, failure.clone()).is_none() {
                    let change = TargetChange::LookupFailed { failure };
                    observe(PingEvent::TargetChange { target, change }, prober);
                }
            }
            Err(failure) => {
                self.failures.insert(host, failure);
                if current.is_some() {
                    prober.change_address(host, None);
                }
            }
        }
    }

    fn report_changes(
        &mut self,
        prober: &mut Prober,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        while let Some(changed) = prober.next_change() {
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
            let target = prober.targets().of_host(changed.host).start;
            observe(PingEvent::TargetChange { target, change }, prober);
        }
    }
}

/// The hosts that are not about to be removed.
fn hosts(prober: &Prober) -> HashMap<Identity, u32> {
    let targets = prober.targets();
    let all = (0..targets.hosts()).filter(|host| !targets.is_leaving(*host));
    all.map(|host| (targets.entry(host).into(), host)).collect()
}

/// Readable while a request is pending.
impl AsFd for TargetChanges {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.requests.0.as_fd()
    }
}
