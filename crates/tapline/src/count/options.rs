//! What a count is asked to do.

use std::time::Duration;

use bpf::XdpPlace;

use super::class::Class;
use super::error::CountError;
use super::key::Key;

/// Where and what to count.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names of the interfaces, in the network namespace of the thread that opens the count.
    pub links: Vec<String>,
    /// What is counted; a packet counts in each class that it belongs to. At most
    /// [`Options::MOST_CLASSES`].
    pub classes: Vec<Class>,
    /// Which way the packets go that are counted.
    pub direction: Direction,
    /// Splits each class by what packets have in common.
    pub by: Option<Key>,
    /// Groups that there is room for, of all classes together; what does not fit counts as
    /// [`ClassInterval::other`](super::ClassInterval::other). At most [`Options::MOST_GROUPS`], and what
    /// a quarter of the memory holds: the kernel takes about 100 bytes and 16 for each CPU for each.
    pub groups: u32,
    /// Which bytes count.
    pub layer: Layer,
    /// Time from one interval to the next, at least [`Options::LEAST_INTERVAL`].
    pub interval: Duration,
    /// When the count ends by itself.
    pub duration: Option<Duration>,
    /// Where packets that come in are counted.
    pub ingress: Ingress,
}

impl Options {
    /// Most classes of one count.
    pub const MOST_CLASSES: usize = bpf::count::MOST_CLASSES;
    /// Most groups of one count, on any machine.
    pub const MOST_GROUPS: u32 = 1 << 24;
    /// Shortest interval.
    pub const LEAST_INTERVAL: Duration = Duration::from_millis(1);

    /// Whether they make sense, classes aside.
    pub(super) fn check(&self) -> Result<(), CountError> {
        if self.links.is_empty() {
            return Err(CountError::NoLink);
        }
        for (number, link) in self.links.iter().enumerate() {
            if self.links[..number].contains(link) {
                return Err(CountError::LinkTwice { link: link.clone() });
            }
        }
        let wrong = |what| Err(CountError::Options { what });
        if self.interval < Self::LEAST_INTERVAL {
            return wrong("interval is shorter than 1 ms");
        }
        if self.by.is_some() && self.groups == 0 {
            return wrong("there is no room for any group");
        }
        Ok(())
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            links: Vec::new(),
            classes: Vec::new(),
            direction: Direction::Both,
            by: None,
            groups: 4096,
            layer: Layer::Ethernet,
            interval: Duration::from_secs(1),
            duration: None,
            ingress: Ingress::Auto,
        }
    }
}

/// Which way the packets go that are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// They come in.
    In,
    /// They go out.
    Out,
    /// Either way.
    #[default]
    Both,
}

/// Which bytes of a packet count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layer {
    /// The frame as the kernel has it: from the first address to the end of the payload, with VLAN
    /// tags. Without Ethernet, the packet.
    #[default]
    Ethernet,
    /// The frame as the wire has it: filled up to 60 bytes, and the check sequence (4).
    EthernetFcs,
    /// The time it takes on the wire, in bytes: the same with preamble (8) and gap (12).
    Wire,
}

/// Where packets that come in are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ingress {
    /// In the driver by XDP; where that cannot be had, or would not see what is to be counted, at tc
    /// ([`Place::reason`](super::Place::reason) says why).
    ///
    /// Where the interface takes VLAN tags out of packets, XDP sees them without: they count, 4 bytes
    /// shorter. If a class or the key asks about tags, tc is taken there.
    #[default]
    Auto,
    /// By XDP. In the stack ("generic") a super-packet counts as one
    /// ([`Hook::counts_super_packets_once`](super::Hook::counts_super_packets_once)).
    Xdp(XdpPlace),
    /// At tc, behind XDP: packets that the kernel joined count as those they were.
    Tc,
}
