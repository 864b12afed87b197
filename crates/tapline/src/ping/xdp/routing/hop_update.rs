//! The hops of the targets, written for the programs.

use std::ops::Range;

use bpf::EchoProber;
use probe::targets::Targets;

use super::hops::NextHops;

/// Time between two looks for hops that the kernel has to resolve or to confirm.
pub(in crate::ping::xdp) const REFRESH_NS: u64 = 1_000_000_000;

/// A pass over the targets that writes their hops, after routes have changed.
#[derive(Clone, Copy, Debug)]
pub(in crate::ping::xdp) struct HopUpdate {
    /// The next target of the pass; past the last one if there is none.
    pub next: u32,
    /// Whether another pass is to follow, and when that may begin.
    pub is_due: bool,
    pub not_before_ns: u64,
}

impl HopUpdate {
    /// When to go on with it, for `count` targets.
    pub fn next_ns(self, count: u32) -> u64 {
        match (self.next < count, self.is_due) {
            (true, _) => 0,
            (false, true) => self.not_before_ns,
            (false, false) => u64::MAX,
        }
    }
}

/// Writes the addresses and hops of the targets in `numbers`. Hops that no target has any more are free then.
pub(in crate::ping::xdp) fn set_targets(
    echo: &mut EchoProber,
    hops: &mut NextHops,
    targets: &Targets,
    numbers: Range<u32>,
) {
    hops.assign(targets, numbers, |target, hop| {
        let before = echo.hop_of(target);
        match targets.address(target) {
            Some(address) => {
                echo.set_target(target, address, hop);
                let settings = targets.settings(targets.host(target));
                echo.set_timeout(target, settings.timeout_ns);
            }
            None => echo.forget_hop(target),
        }
        before
    });
    hops.take_added(|hop, mac, source| echo.set_hop(hop, mac.0, source));
}
