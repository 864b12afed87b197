//! Lost packets, as packets and statistics in the file say, and notes.

use std::collections::HashMap;

use store::model::{Interface, Statistics};

/// Interfaces that are described.
const INTERFACES_MAX: usize = 1024;

/// Notes that are kept.
const NOTES_MAX: usize = 1000;

/// Maximum captures whose counters are kept separately, over all interfaces.
const RUNS_MAX: usize = 1 << 14;

/// An interface of the capture.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AnalyzedInterface {
    /// Its description.
    pub interface: Interface,
    /// Its packets.
    pub packets: u64,
    /// Its losses.
    pub loss: InterfaceLoss,
}

/// Packets that an interface lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceLoss {
    /// All: what statistics say, and what packets say beyond that.
    pub lost: u64,
    /// As its packets say (`epb_dropcount`).
    pub by_packets: u64,
    /// In the operating system, as its statistics say (`isb_osdrop`); `None` if none does.
    pub by_system: Option<u64>,
    /// In the interface, as its statistics say (`isb_ifdrop`).
    pub by_interface: Option<u64>,
    /// Losses by packets since the last statistics, which have them, too.
    recent: u64,
}

impl InterfaceLoss {
    /// Whether the file says anything about losses.
    pub fn is_known(&self) -> bool {
        self.by_packets > 0 || self.by_system.is_some() || self.by_interface.is_some()
    }
}

/// A note that the capturing program wrote, such as a change during the capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// When, in nanoseconds since 1970 UTC.
    pub time_ns: Option<u64>,
    /// The name of the interface.
    pub interface: Option<String>,
    /// The text, as in the file.
    pub text: String,
}

/// Interfaces, their losses, and notes.
#[derive(Clone, Debug, Default)]
pub struct LossAnalysis {
    /// The first 1024 interfaces. Those of the same name and link type are one, also of several files.
    pub interfaces: Vec<AnalyzedInterface>,
    /// The first 1000 notes.
    pub notes: Vec<Note>,
    /// Interfaces and notes beyond these.
    pub omitted: u64,
    /// What each interface of the inputs counts in: the place in `interfaces`.
    places: Vec<Option<u16>>,
    link_types: Vec<u16>,
    /// Counters that were added already, by interface and start of the capture.
    known: HashMap<(u16, Option<u64>), [u64; 2]>,
}

impl LossAnalysis {
    pub(super) fn add_interface(&mut self, interface: &Interface) {
        self.link_types.push(interface.link_type.0);
        let same = |known: &AnalyzedInterface| {
            let known = &known.interface;
            let is_named = known.name.is_some() && known.name == interface.name;
            is_named && known.link_type == interface.link_type
        };
        let place = match self.interfaces.iter().position(same) {
            Some(place) => Some(place),
            None if self.interfaces.len() < INTERFACES_MAX => {
                self.interfaces.push(AnalyzedInterface {
                    interface: interface.clone(),
                    packets: 0,
                    loss: InterfaceLoss::default(),
                });
                Some(self.interfaces.len() - 1)
            }
            None => {
                self.omitted += 1;
                None
            }
        };
        self.places.push(place.map(|place| place as u16));
    }

    /// Counts a packet of an interface, before which `drops` were lost. Returns the link type.
    pub(super) fn add_packet(&mut self, interface: u32, drops: u64) -> u16 {
        let number = interface as usize;
        if let Some(one) = self.at(number) {
            one.packets += 1;
            if drops > 0 {
                let loss = &mut one.loss;
                for sum in [&mut loss.lost, &mut loss.by_packets, &mut loss.recent] {
                    *sum = sum.saturating_add(drops);
                }
            }
        }
        self.link_types.get(number).copied().unwrap_or(u16::MAX)
    }

    /// The place of an interface of the inputs in `interfaces`; `None` beyond the first 1024.
    pub(super) fn place(&self, interface: u32) -> Option<u16> {
        self.places.get(interface as usize).copied().flatten()
    }

    fn at(&mut self, number: usize) -> Option<&mut AnalyzedInterface> {
        let place = self.places.get(number).copied()??;
        self.interfaces.get_mut(usize::from(place))
    }

    /// Takes statistics. Returns the losses that were not known before.
    pub(super) fn add_statistics(&mut self, statistics: &Statistics) -> u64 {
        if statistics.part().is_some() {
            return 0;
        }
        let number = statistics.interface as usize;
        let Some(place) = self.places.get(number).copied().flatten() else {
            return 0;
        };
        let one = &mut self.interfaces[usize::from(place)];
        if let Some(text) = &statistics.comment {
            if self.notes.len() < NOTES_MAX {
                self.notes.push(Note {
                    time_ns: statistics.timestamp_ns,
                    interface: one.interface.name.clone(),
                    text: text.clone(),
                });
            } else {
                self.omitted += 1;
            }
        }
        let key = (place, statistics.start_ns);
        if self.known.len() >= RUNS_MAX && !self.known.contains_key(&key) {
            self.omitted += 1;
            return 0;
        }
        let known = self.known.entry(key).or_default();
        let loss = &mut one.loss;
        let counters = [statistics.os_dropped, statistics.interface_dropped];
        let sums = [&mut loss.by_system, &mut loss.by_interface];
        let mut more = [0; 2];
        for (place, (counter, sum)) in counters.into_iter().zip(sums).enumerate() {
            let Some(counter) = counter else {
                continue;
            };
            more[place] = counter.saturating_sub(known[place]);
            known[place] = known[place].max(counter);
            *sum = Some(sum.unwrap_or(0).saturating_add(more[place]));
        }
        let recent = std::mem::take(&mut loss.recent);
        let found = more[0].saturating_sub(recent).saturating_add(more[1]);
        loss.lost = loss.lost.saturating_add(found);
        found
    }
}

#[cfg(test)]
mod tests {
    use store::model::LinkType;

    use super::*;

    fn interface(name: &str) -> Interface {
        let mut interface = Interface::new(LinkType::ETHERNET, 0);
        interface.name = Some(name.into());
        interface
    }

    fn statistics(interface: u32, system: u64, card: u64) -> Statistics {
        Statistics {
            interface,
            start_ns: Some(5),
            os_dropped: Some(system),
            interface_dropped: Some(card),
            ..Statistics::default()
        }
    }

    #[test]
    fn a_loss_counts_once_whoever_says_it() {
        let mut loss = LossAnalysis::default();
        loss.add_interface(&interface("eth0"));
        assert_eq!(loss.add_packet(0, 7), 1);
        assert_eq!(loss.add_statistics(&statistics(0, 10, 2)), 5);
        // The next file of the same capture goes on counting.
        loss.add_interface(&interface("eth0"));
        loss.add_packet(1, 4);
        assert_eq!(loss.add_statistics(&statistics(1, 14, 2)), 0);
        assert_eq!(loss.add_statistics(&statistics(1, 14, 3)), 1);
        let [one] = &loss.interfaces[..] else {
            panic!("{:?}", loss.interfaces);
        };
        assert_eq!(
            (one.packets, one.loss.lost, one.loss.by_packets),
            (2, 17, 11)
        );
        assert_eq!(
            (one.loss.by_system, one.loss.by_interface),
            (Some(14), Some(3))
        );
    }
}
