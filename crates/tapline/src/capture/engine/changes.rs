//! Following the changes that the control thread has prepared: other rings, interfaces that join and leave.

use std::io;

use abi::clock::monotonic_ns;

use super::super::account::link_poller::{InterfaceState, LinkPoller};
use super::super::control::new_interface::NewInterface;
use super::super::control::pending::Step;
use super::super::read::consumer::Consumer;
use super::super::read::dispatcher::Dispatcher;
use super::{Engine, Leaving};

/// Interval at which an interface that leaves is checked for packets.
pub const LEAVE_NS: u64 = 1_000_000;

impl Engine {
    /// Applies the changes that another thread has prepared; returns whether there were any.
    pub(super) fn apply_pending<C: Consumer>(
        &mut self,
        dispatcher: &mut Dispatcher<'_, C>,
        link_poller: Option<&LinkPoller>,
    ) -> io::Result<bool> {
        let Some(changes) = self.pending.take() else {
            return Ok(false);
        };
        (self.options.delivery, self.options.spin) = (changes.delivery, changes.spin);
        for step in changes.steps {
            match step {
                Step::Rings(place, new) => self.interfaces[place].follow(new, &mut self.queues),
                Step::Add(new) => {
                    dispatcher.try_to(|consumer| consumer.interface(&new.description));
                    self.descriptions.push(new.description.clone());
                    self.live.extend(&new.counters());
                    self.join(*new, link_poller)?;
                }
                Step::Remove(place) => self.leave(place),
                Step::Exchange(place, new) => {
                    self.leave(place);
                    let (number, counters) = (new.interface.number, &new.interface.counters);
                    self.live.succeed(number, vec![counters.clone()]);
                    self.join(*new, link_poller)?;
                }
            }
        }
        Ok(true)
    }

    /// Reads the rings of `new`, too.
    fn join(&mut self, new: NewInterface, link_poller: Option<&LinkPoller>) -> io::Result<()> {
        let mut interface = new.interface;
        interface.place(self.queues.len());
        if let Some(link_poller) = link_poller {
            link_poller.add(interface.index());
        }
        self.interfaces.push(interface);
        for queue in new.queues {
            let number = self.queues.len();
            self.queues.push(queue);
            self.poller.add(number, &self.queues[number])?;
        }
        Ok(())
    }

    /// Ends the flow of packets of an interface.
    fn leave(&mut self, place: usize) {
        self.interfaces[place].leave(&mut self.queues);
        let deadline_ns = self.settle_deadline_ns();
        self.leaving.push(Leaving { place, deadline_ns });
    }

    /// Whether rings are being replaced, or an interface leaves.
    pub fn is_settling(&self) -> bool {
        !self.leaving.is_empty() || self.queues.iter().any(|queue| queue.next.is_some())
    }

    /// When the interfaces that leave have to be checked.
    pub(super) fn next_leave_ns(&self, now_ns: u64) -> u64 {
        if self.leaving.is_empty() {
            u64::MAX
        } else {
            now_ns.saturating_add(LEAVE_NS)
        }
    }

    /// The ring of `queue` is broken: does not wait for its packets if its interface leaves. Returns whether it does.
    pub(super) fn give_up(&mut self, queue: usize) -> bool {
        let interfaces = &self.interfaces;
        let is_of = |one: &&mut Leaving| interfaces[one.place].queues().contains(&queue);
        let found = self.leaving.iter_mut().find(is_of);
        found.map(|leaving| leaving.deadline_ns = 0).is_some()
    }

    /// Closes the interfaces that have left and whose rings are read; returns whether there were any.
    pub(super) fn close_left(&mut self, states: &[InterfaceState]) -> io::Result<bool> {
        let mut is_changed = false;
        for leaving in std::mem::take(&mut self.leaving) {
            let (place, queues) = (leaving.place, &mut self.queues);
            let interface = &mut self.interfaces[place];
            interface.measure(queues, states[place].statistics);
            // A reader that was held up reads them in its next rounds.
            let is_read = !queues[interface.queues()]
                .iter()
                .any(|queue| queue.ring().holds(1));
            let is_over = is_read && monotonic_ns() >= leaving.deadline_ns;
            if interface.is_settled(queues) || is_over {
                self.close_interface(place)?;
                is_changed = true;
            } else {
                self.leaving.push(leaving);
            }
        }
        Ok(is_changed)
    }

    /// Closes the rings of an interface. Its account stays.
    fn close_interface(&mut self, place: usize) -> io::Result<()> {
        let interface = &mut self.interfaces[place];
        interface.abandon(&self.queues);
        let range = interface.queues();
        for queue in &self.queues[range.start..] {
            self.poller.remove(queue);
        }
        let closed: Vec<_> = self.queues.drain(range.clone()).collect();
        interface.close(&closed);
        drop(closed);
        for other in &mut self.interfaces {
            let first = other.queues().start;
            if first >= range.end {
                other.place(first - range.len());
            }
        }
        for (number, queue) in self.queues.iter().enumerate().skip(range.start) {
            self.poller.add(number, queue)?;
        }
        self.pending.settle_one();
        Ok(())
    }
}
