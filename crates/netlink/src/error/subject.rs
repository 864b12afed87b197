use std::fmt;
use std::net::IpAddr;

use crate::interface::{IfIndex, IfName, MacAddress};
use crate::prefix::Prefix;

/// What it was being done to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// The socket itself.
    Socket,
    /// All links.
    Links,
    /// The link of this name or alternative name.
    LinkNamed(String),
    /// The link with this index.
    Link(IfIndex),
    /// All addresses.
    Addresses,
    /// This address of an interface.
    Address(IpAddr, IfIndex),
    /// All routes.
    Routes,
    /// The route to this destination.
    Route(Prefix),
    /// All nexthop objects.
    Nexthops,
    /// The nexthop object of this number.
    Nexthop(u32),
    /// All rules.
    Rules,
    /// The rule of this priority.
    Rule(u32),
    /// A rule without a priority, in the words of `ip rule`.
    RuleLike(String),
    /// All neighbours.
    Neighbours,
    /// This neighbour on an interface.
    Neighbour(IpAddr, IfIndex),
    /// All forwarding entries of bridges and VXLANs.
    ForwardingEntries,
    /// The forwarding entries of a link.
    ForwardingEntriesOf(IfIndex),
    /// The forwarding entry for this hardware address on an interface.
    ForwardingEntry(MacAddress, IfIndex),
    /// The VLANs of all ports of bridges.
    PortVlans,
    /// These VLANs, first and last, of a port.
    PortVlan(u16, u16, IfIndex),
    /// All multicast groups of bridges.
    MulticastGroups,
    /// This group at a port.
    MulticastGroup(String, IfIndex),
    /// The numbers of other namespaces.
    NamespaceNumbers,
    /// The number of a namespace.
    NamespaceNumber(i32),
    /// Extended counters of links.
    Statistics,
    /// Extended counters of a link.
    StatisticsOf(IfIndex),
    /// The driver behind a link.
    Driver(IfName),
    /// The speed of a link.
    Speed(IfName),
    /// Generic receive offload of a link.
    Gro(IfName),
    /// Offloads and other features of a link.
    Features(IfName),
    /// Ring sizes of a link.
    RingSizes(IfName),
    /// Queues of a link.
    Channels(IfName),
    /// Interrupt moderation of a link.
    Coalescing(IfName),
    /// Time stamps of a link.
    TimeStamping(IfName),
    /// What XDP can do in the driver of a link.
    Xdp(IfIndex),
    /// Polling instances of a link.
    Napi(IfIndex),
    /// The tables of neighbours.
    NeighbourTables,
    /// A family of generic netlink.
    Family(&'static str),
}

impl Subject {
    /// The link that it is, or is on, where it says that by an index.
    pub fn link(&self) -> Option<IfIndex> {
        match self {
            Self::Link(index)
            | Self::Address(_, index)
            | Self::Neighbour(_, index)
            | Self::ForwardingEntriesOf(index)
            | Self::ForwardingEntry(_, index)
            | Self::PortVlan(_, _, index)
            | Self::MulticastGroup(_, index)
            | Self::StatisticsOf(index)
            | Self::Xdp(index)
            | Self::Napi(index) => Some(*index).filter(|index| index.0 != 0),
            _ => None,
        }
    }

    /// It with its link called `name`, or by its index.
    pub(super) fn of_link<'a>(&'a self, name: Option<&'a str>) -> OfLink<'a> {
        OfLink {
            subject: self,
            name,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.of_link(None).fmt(f)
    }
}

/// A subject as errors call it.
pub(super) struct OfLink<'a> {
    subject: &'a Subject,
    name: Option<&'a str>,
}

impl OfLink<'_> {
    /// What the link is called.
    fn link(&self, index: IfIndex) -> String {
        self.name.map_or_else(|| index.to_string(), str::to_owned)
    }

    /// Where an object is: nothing, if no link is given.
    fn place(&self, word: &str, index: IfIndex) -> String {
        match index {
            IfIndex(0) => String::new(),
            _ => format!(" {word} link {}", self.link(index)),
        }
    }
}

impl fmt::Display for OfLink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.subject {
            Subject::Socket => f.write_str("a netlink socket"),
            Subject::Links => f.write_str("links"),
            Subject::LinkNamed(name) => write!(f, "link {name}"),
            Subject::Link(index) => write!(f, "link {}", self.link(*index)),
            Subject::Addresses => f.write_str("addresses"),
            Subject::Routes => f.write_str("routes"),
            Subject::Route(dst) => write!(f, "route {dst}"),
            Subject::Nexthops => f.write_str("nexthops"),
            Subject::Nexthop(id) => write!(f, "nexthop {id}"),
            Subject::Rules => f.write_str("rules"),
            Subject::Rule(priority) => write!(f, "rule {priority}"),
            Subject::RuleLike(words) => write!(f, "rule {words}"),
            Subject::Address(ip, index) => write!(f, "address {ip}{}", self.place("of", *index)),
            Subject::Neighbours => f.write_str("neighbours"),
            Subject::ForwardingEntries => f.write_str("forwarding entries"),
            Subject::ForwardingEntriesOf(index) => {
                write!(f, "forwarding entries{}", self.place("of", *index))
            }
            Subject::ForwardingEntry(mac, index) => {
                write!(f, "forwarding entry {mac}{}", self.place("on", *index))
            }
            Subject::PortVlans => f.write_str("VLANs of ports"),
            Subject::PortVlan(first, last, index) if first == last => {
                write!(f, "VLAN {first}{}", self.place("of", *index))
            }
            Subject::PortVlan(first, last, index) => {
                write!(f, "VLANs {first} to {last}{}", self.place("of", *index))
            }
            Subject::MulticastGroups => f.write_str("multicast groups"),
            Subject::MulticastGroup(group, index) => {
                write!(f, "group {group}{}", self.place("at", *index))
            }
            Subject::NamespaceNumbers => f.write_str("numbers of namespaces"),
            Subject::NamespaceNumber(number) => write!(f, "number {number} of a namespace"),
            Subject::Statistics => f.write_str("statistics"),
            Subject::StatisticsOf(index) => write!(f, "statistics of link {}", self.link(*index)),
            Subject::Neighbour(ip, index) => {
                write!(f, "neighbour {ip}{}", self.place("on", *index))
            }
            Subject::Driver(name) => write!(f, "driver of link {name}"),
            Subject::Speed(name) => write!(f, "speed of link {name}"),
            Subject::Gro(name) => write!(f, "receive offload of link {name}"),
            Subject::Features(name) => write!(f, "features of link {name}"),
            Subject::RingSizes(name) => write!(f, "ring sizes of link {name}"),
            Subject::Channels(name) => write!(f, "queues of link {name}"),
            Subject::Coalescing(name) => write!(f, "interrupt moderation of link {name}"),
            Subject::TimeStamping(name) => write!(f, "time stamps of link {name}"),
            Subject::Xdp(index) => write!(f, "XDP abilities of link {}", self.link(*index)),
            Subject::Napi(index) => write!(f, "polling of link {}", self.link(*index)),
            Subject::NeighbourTables => f.write_str("neighbour tables"),
            Subject::Family(name) => write!(f, "netlink family {name}"),
        }
    }
}
