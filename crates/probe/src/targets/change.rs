//! Changes of a list while the run lasts.

use std::net::IpAddr;

use super::list::{Block, Targets};
use crate::settings::TargetSettings;

/// A host to add to a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostEntry {
    /// Its name, if it was given by name.
    pub name: Option<Box<str>>,
    /// Its address; `None` if its name has none.
    pub address: Option<IpAddr>,
    /// The interface index, if the address has a zone.
    pub zone: Option<u32>,
    /// How it is probed.
    pub settings: TargetSettings,
}

impl Targets {
    /// What identifies `host`, and its address.
    pub fn entry(&self, host: u32) -> HostEntry {
        let index = self.of_host(host).start;
        HostEntry {
            name: self.name(index).map(Into::into),
            address: self.address(index),
            zone: self.zone(index),
            settings: self.settings(host),
        }
    }

    /// Whether names keep their targets when their addresses change.
    pub fn follows_names(&self) -> bool {
        self.rules.follows_names
    }

    /// Lets names keep their targets when their addresses change.
    #[must_use]
    pub fn following_names(mut self) -> Self {
        self.rules.follows_names = true;
        self
    }

    /// Of the `addresses` of a name, the first that has an accepted family and is not excluded.
    pub fn first_accepted(&self, addresses: &[IpAddr]) -> Option<IpAddr> {
        let mut addresses = addresses.iter().map(IpAddr::to_canonical);
        addresses.find(|address| self.rules.accepts(*address))
    }

    /// Whether target `index` was removed. Its place may be taken by the next target that is added.
    #[inline]
    pub fn is_removed(&self, index: u32) -> bool {
        self.changed.is_removed(self.host(index))
    }

    /// Whether no probe is sent to target `index` for now: its name has no address, it was removed, or a change waits
    /// for its probes in flight.
    #[inline]
    pub fn is_idle(&self, index: u32) -> bool {
        self.changed.is_idle(self.host(index))
    }

    /// Whether the removal of `host` was requested.
    pub fn is_leaving(&self, host: u32) -> bool {
        self.changed.is_leaving(host)
    }

    pub(crate) fn set_leaving(&mut self, host: u32) {
        self.changed.set_leaving(host);
    }

    pub(crate) fn set_idle(&mut self, host: u32, is_idle: bool) {
        self.changed.set_idle(host, is_idle);
    }

    pub(crate) fn set_address(&mut self, host: u32, address: Option<IpAddr>) {
        self.changed.set_address(host, address);
        self.changed.set_idle(host, address.is_none());
    }

    /// Removes a host. Its name and address can still be read until another one takes its place.
    pub(crate) fn remove(&mut self, host: u32) {
        self.changed.set_idle(host, true);
        self.changed.remove(host);
    }

    /// Whether the next host takes the place of a removed one.
    pub(crate) fn has_vacant(&self) -> bool {
        self.changed.has_vacant()
    }

    /// Adds a host. Returns it, and whether it took the place of a removed one.
    pub(crate) fn add(&mut self, entry: HostEntry) -> (u32, bool) {
        let reused = self.changed.reuse();
        let host = reused.unwrap_or(self.hosts);
        put(&mut self.names, host, entry.name);
        put(&mut self.zones, host, entry.zone);
        if reused.is_none() {
            self.push_single(entry.address);
        }
        self.set_settings(host, entry.settings);
        // The index of listed addresses is not extended.
        self.set_address(host, entry.address);
        (host, reused.is_some())
    }

    /// Appends a host with a single address to the last block.
    pub(super) fn push_single(&mut self, address: Option<IpAddr>) {
        // The changed hosts say that there is none.
        let address = address.unwrap_or(IpAddr::from([0; 4]));
        if !self
            .blocks
            .last_mut()
            .is_some_and(|last| last.push(address))
        {
            self.blocks.push(match address {
                IpAddr::V4(address) => Block::V4(vec![address.to_bits()]),
                IpAddr::V6(address) => Block::V6(vec![address.to_bits()]),
            });
            self.firsts.push(self.hosts);
        }
        self.hosts += 1;
    }
}

/// Sets or removes the value of `host` in a sorted list.
fn put<T>(list: &mut Vec<(u32, T)>, host: u32, value: Option<T>) {
    match (list.binary_search_by_key(&host, |(known, _)| *known), value) {
        (Ok(at), Some(value)) => list[at].1 = value,
        (Ok(at), None) => {
            list.remove(at);
        }
        (Err(at), Some(value)) => list.insert(at, (host, value)),
        (Err(_), None) => {}
    }
}
