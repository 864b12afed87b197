//! Hosts that changed while the run lasted.

use std::collections::HashMap;
use std::net::IpAddr;

/// State of hosts that differ from the list that the run started with. Empty for most runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangedHosts {
    /// The current address of each host that got another one or has none.
    addresses: HashMap<u32, Option<IpAddr>>,
    by_address: HashMap<IpAddr, u32>,
    /// One bit per host: no probe is sent to it. As long as needed.
    idle: Vec<u64>,
    /// One bit per host: its removal was requested.
    leaving: Vec<u64>,
    /// One bit per host: it was removed.
    removed: Vec<u64>,
    /// Removed hosts, whose places the next hosts take.
    vacant: Vec<u32>,
}

impl ChangedHosts {
    /// The address of `host`; `None` if it is the listed one.
    #[inline]
    #[expect(
        clippy::option_option,
        reason = "changed, and then perhaps without address"
    )]
    pub fn address(&self, host: u32) -> Option<Option<IpAddr>> {
        if self.addresses.is_empty() {
            return None;
        }
        self.addresses.get(&host).copied()
    }

    pub fn find(&self, address: IpAddr) -> Option<u32> {
        self.by_address.get(&address).copied()
    }

    pub fn set_address(&mut self, host: u32, address: Option<IpAddr>) {
        self.hide(host);
        self.addresses.insert(host, address);
        if let Some(address) = address {
            self.by_address.insert(address, host);
        }
    }

    /// Makes `host` unknown by its address.
    fn hide(&mut self, host: u32) {
        if let Some(Some(address)) = self.address(host)
            && self.by_address.get(&address) == Some(&host)
        {
            self.by_address.remove(&address);
        }
    }

    #[inline]
    pub fn is_idle(&self, host: u32) -> bool {
        has(&self.idle, host)
    }

    pub fn set_idle(&mut self, host: u32, is_idle: bool) {
        set(&mut self.idle, host, is_idle);
    }

    #[inline]
    pub fn is_leaving(&self, host: u32) -> bool {
        has(&self.leaving, host)
    }

    pub fn set_leaving(&mut self, host: u32) {
        set(&mut self.leaving, host, true);
    }

    #[inline]
    pub fn is_removed(&self, host: u32) -> bool {
        has(&self.removed, host)
    }

    pub fn remove(&mut self, host: u32) {
        self.hide(host);
        set(&mut self.removed, host, true);
        self.vacant.push(host);
    }

    /// Whether there is a removed host whose place is free.
    pub fn has_vacant(&self) -> bool {
        !self.vacant.is_empty()
    }

    /// A removed host, which is one no longer.
    pub fn reuse(&mut self) -> Option<u32> {
        let host = self.vacant.pop()?;
        set(&mut self.removed, host, false);
        set(&mut self.leaving, host, false);
        Some(host)
    }
}

#[inline]
fn has(bits: &[u64], host: u32) -> bool {
    let word = bits.get(host as usize / 64);
    word.is_some_and(|word| word >> (host % 64) & 1 != 0)
}

fn set(bits: &mut Vec<u64>, host: u32, is_set: bool) {
    let at = host as usize / 64;
    if is_set && at >= bits.len() {
        bits.resize(at + 1, 0);
    }
    if let Some(word) = bits.get_mut(at) {
        let bit = 1 << (host % 64);
        *word = if is_set { *word | bit } else { *word & !bit };
    }
}
