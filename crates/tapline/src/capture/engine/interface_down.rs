//! Interfaces that go down or are removed: whether the capture ends.

use abi::clock::monotonic_ns;
use netlink::IfIndex;

use super::super::account::link_poller::{InterfaceState, InterfaceStatus};
use super::super::account::summary::Ended;
use super::super::interface::Interface;
use super::super::read::poller::Wakeup;
use super::Engine;

/// Interval at which interfaces that end silently are checked.
pub const CHECK_NS: u64 = 250_000_000;

/// The same for interfaces that are down. The kernel reports that one goes down, not that it is removed afterwards.
const DOWN_CHECK_NS: u64 = 10_000_000;

impl Engine {
    /// Why the capture ends after this wake-up.
    pub(super) fn ended(&mut self, wakeup: Wakeup) -> Option<Ended> {
        let queue = match wakeup {
            Wakeup::Stopped => return Some(Ended::Stopped),
            Wakeup::Broken(queue) if self.give_up(queue) => return None,
            Wakeup::Broken(queue) => queue,
        };
        let link = self.queues[queue].ring().link();
        let (link, index) = (link.name.clone(), IfIndex(link.index));
        match self.netlink.link(index) {
            Ok(_) if self.options.outlast_link_down => {
                if !self.down.contains(&index) {
                    self.down.push(index);
                }
                None
            }
            Ok(_) => Some(Ended::LinkDown { link }),
            Err(_) => Some(Ended::LinkRemoved { link }),
        }
    }

    /// Whether an interface is down and may come back.
    pub fn has_down_link(&self) -> bool {
        !self.down.is_empty()
    }

    /// When interfaces have to be checked next.
    pub(super) fn next_check_ns(&self) -> u64 {
        let interval = if self.has_down_link() {
            DOWN_CHECK_NS
        } else if self.interfaces.iter().any(Interface::ends_silently) {
            CHECK_NS
        } else {
            return u64::MAX;
        };
        monotonic_ns().saturating_add(interval)
    }

    /// Whether an interface that ends silently went down or was removed, or one that is down was removed.
    pub(super) fn check_interfaces(&mut self, states: &[InterfaceState]) -> Option<Ended> {
        let known = self.interfaces.iter().zip(states);
        for (interface, state) in known.filter(|(interface, _)| interface.ends_silently()) {
            let link = || interface.link.name.clone();
            match state.status {
                InterfaceStatus::Down => return Some(Ended::LinkDown { link: link() }),
                InterfaceStatus::Gone => return Some(Ended::LinkRemoved { link: link() }),
                InterfaceStatus::Up | InterfaceStatus::Unknown => {}
            }
        }
        for index in std::mem::take(&mut self.down) {
            match InterfaceState::query(&mut self.netlink, index).status {
                InterfaceStatus::Up => {}
                InterfaceStatus::Down | InterfaceStatus::Unknown => self.down.push(index),
                InterfaceStatus::Gone => {
                    let mut interfaces = self.interfaces.iter();
                    let gone = interfaces.find(|interface| interface.link.index == index.0);
                    let link = gone.map(|interface| interface.link.name.clone());
                    return Some(Ended::LinkRemoved {
                        link: link.unwrap_or_default(),
                    });
                }
            }
        }
        None
    }
}
