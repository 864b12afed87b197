//! What to count, and where.

use super::error::CountError;
use super::group_key::GroupBy;
use crate::packet_filter::Filter;
use bpf::XdpAttachMode;
use std::time::Duration;

/// What to count, and where. Construct with `Default` and set the fields, or use
/// [`CountBuilder`](super::CountBuilder).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CountOptions {
    /// Names of the interfaces, in the network namespace of the thread that opens the count.
    pub interfaces: Vec<String>,
    /// The classes; a packet counts in each class that it matches. At most
    /// [`CountOptions::MAX_CLASSES`].
    pub classes: Vec<CountClass>,
    /// Which packets to count. Default: both directions.
    pub direction: CountDirection,
    /// Splits each class into groups. Default: no groups.
    pub by: Option<GroupBy>,
    /// Maximum number of groups of all classes; packets of further groups count as
    /// [`ClassInterval::other`](super::ClassInterval::other). At most [`CountOptions::MAX_GROUPS`],
    /// and what fits in a quarter of the memory: a group takes about 100 bytes, and 16 for each
    /// CPU. Default: 4096.
    pub groups: u32,
    /// Also counts [stamped](mod@crate::packet::stamp) packets by stream, for [`Count::streams`](super::Count::streams): those
    /// that `direction` says, of Ethernet and IP interfaces. Takes 18 MiB of kernel memory. Default: no.
    pub streams: bool,
    /// Which bytes count. Default: those of the frame.
    pub layer: CountLayer,
    /// Length of an interval, at least [`CountOptions::MIN_INTERVAL`]. Default: 1 s.
    pub interval: Duration,
    /// Ends the count after this time. Default: never.
    pub duration: Option<Duration>,
    /// The hook for received packets.
    pub ingress: IngressHook,
}

impl CountOptions {
    /// Maximum number of classes.
    pub const MAX_CLASSES: usize = bpf::count::MOST_CLASSES;
    /// Maximum number of groups on any host.
    pub const MAX_GROUPS: u32 = 1 << 24;
    /// Minimum length of an interval.
    pub const MIN_INTERVAL: Duration = Duration::from_millis(1);

    /// Checks all options except the classes.
    pub(super) fn check(&self) -> Result<(), CountError> {
        if self.interfaces.is_empty() {
            return Err(CountError::NoInterface);
        }
        for (number, link) in self.interfaces.iter().enumerate() {
            if self.interfaces[..number].contains(link) {
                return Err(CountError::DuplicateInterface { link: link.clone() });
            }
        }
        let wrong = |what| Err(CountError::InvalidOptions { what });
        if self.interval < Self::MIN_INTERVAL {
            return wrong("interval is shorter than 1 ms");
        }
        if self.by.is_some() && self.groups == 0 {
            return wrong("maximum number of groups is 0");
        }
        Ok(())
    }
}

impl Default for CountOptions {
    fn default() -> Self {
        Self {
            interfaces: Vec::new(),
            classes: Vec::new(),
            direction: CountDirection::Both,
            by: None,
            groups: 4096,
            streams: false,
            layer: CountLayer::Ethernet,
            interval: Duration::from_secs(1),
            duration: None,
            ingress: IngressHook::Auto,
        }
    }
}

/// Which packets to count. Default: both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CountDirection {
    /// Received packets.
    In,
    /// Sent packets.
    Out,
    /// Both.
    #[default]
    Both,
}

/// The layer at which bytes are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CountLayer {
    /// The frame in the kernel: from the Ethernet header to the end of the payload, with VLAN tags.
    /// Without Ethernet, the packet.
    #[default]
    Ethernet,
    /// The frame on the wire: padded to 60 bytes, with the FCS (4).
    EthernetFcs,
    /// All bit times on the wire, in bytes: the same with preamble (8) and inter-frame gap (12).
    Wire,
}

/// The hook for received packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IngressHook {
    /// XDP in the driver, or else tc ([`CountPoint::reason`](super::CountPoint::reason) has the
    /// reason).
    ///
    /// If the interface strips VLAN tags, XDP sees packets without them: they count, 4 bytes
    /// shorter. If a class or the key reads tags, tc is used.
    #[default]
    Auto,
    /// XDP. In generic mode a super-packet counts as one packet
    /// ([`CountHook::counts_super_packets_once`](super::CountHook::counts_super_packets_once)).
    Xdp(XdpAttachMode),
    /// tc, after XDP: super-packets count as the packets that they were.
    Tc,
}

/// A named class of packets.
#[derive(Clone, Debug)]
pub struct CountClass {
    /// The name, unique in a count.
    pub name: String,
    /// Which packets to count; `None` counts all.
    pub filter: Option<Filter>,
}
