//! Why a request had no success: what was asked, on what, and what was answered.

use std::net::IpAddr;
use std::{fmt, io};

use crate::codec::{Malformed, Refusal};
use crate::interface::{IfIndex, IfName, MacAddress};
use crate::object::{Unfit, Verb};
use crate::prefix::Prefix;

/// What was being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Opening a socket.
    Open,
    /// Listing.
    List,
    /// Asking about one object.
    Get,
    /// Adding an object.
    Add,
    /// Making an object, or putting it in the place of another.
    Replace,
    /// Changing an object.
    Set,
    /// Adding an object beside others of the same key.
    Append,
    /// Removing an object.
    Remove,
    /// Following changes.
    Watch,
}

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
    /// All neighbours.
    Neighbours,
    /// This neighbour on an interface.
    Neighbour(IpAddr, IfIndex),
    /// All forwarding entries of bridges and VXLANs.
    ForwardingEntries,
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

/// The system call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// socket(2).
    Socket,
    /// bind(2).
    Bind,
    /// setsockopt(2).
    Option,
    /// sendto(2).
    Send,
    /// recvfrom(2); `TimedOut` when the kernel owed an answer for too long.
    Receive,
    /// ioctl(2), `SIOCETHTOOL` or those of the tun driver.
    Ioctl,
    /// open(2) of `/dev/net/tun`.
    Device,
}

/// What stood in the way.
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The kernel read the request and refused it.
    Refused(Refusal),
    /// A system call failed.
    System {
        /// Which.
        step: Step,
        /// What it said.
        source: io::Error,
    },
    /// The answer could not be read.
    Malformed(Malformed),
    /// The kernel said yes and gave no object.
    Unanswered,
    /// There is no such object.
    Absent,
    /// The request cannot be said.
    Unfit(Unfit),
    /// The namespace was not reached.
    Namespace(abi::namespace::NamespaceError),
}

/// A request without success.
#[derive(Debug)]
#[non_exhaustive]
pub struct NetlinkError {
    /// What was being done.
    pub action: Action,
    /// To what.
    pub subject: Subject,
    /// What stood in the way.
    pub cause: Cause,
}

impl NetlinkError {
    /// For `map_err`: what was being done to `subject`, around a cause.
    pub(crate) fn about(action: Action, subject: Subject) -> impl FnOnce(Cause) -> Self {
        move |cause| Self {
            action,
            subject,
            cause,
        }
    }

    /// Whether it says that there is no such object.
    pub fn is_absence(&self) -> bool {
        use rustix::io::Errno;
        let errno = self.errno().map(Errno::from_raw_os_error);
        matches!(self.cause, Cause::Absent)
            || matches!(
                errno,
                Some(Errno::NODEV | Errno::NOENT | Errno::SRCH | Errno::ADDRNOTAVAIL)
            )
    }

    /// The error number, where the operating system gave one.
    pub fn errno(&self) -> Option<i32> {
        match &self.cause {
            Cause::Refused(Refusal { source, .. }) | Cause::System { source, .. } => {
                source.raw_os_error()
            }
            Cause::Namespace(error) => error.source.raw_os_error(),
            Cause::Malformed(_) | Cause::Unanswered | Cause::Absent | Cause::Unfit(_) => None,
        }
    }
}

impl From<Verb> for Action {
    fn from(verb: Verb) -> Self {
        match verb {
            Verb::Add => Self::Add,
            Verb::Replace => Self::Replace,
            Verb::Set => Self::Set,
            Verb::Append => Self::Append,
            Verb::Del => Self::Remove,
            Verb::Get => Self::Get,
            Verb::List => Self::List,
        }
    }
}

impl Cause {
    /// Whether it says that datagrams were lost for want of room in the socket.
    pub(crate) fn is_overrun(&self) -> bool {
        let overrun = rustix::io::Errno::NOBUFS.raw_os_error();
        matches!(self, Self::System { source, .. } if source.raw_os_error() == Some(overrun))
    }

    /// The same for another item of a batch: the failure of a system call, and else that there is no answer.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::System { step, source } => Self::System {
                step: *step,
                source: match source.raw_os_error() {
                    Some(number) => io::Error::from_raw_os_error(number),
                    None => source.kind().into(),
                },
            },
            _ => Self::Unanswered,
        }
    }

    pub(crate) fn system(step: Step) -> impl FnOnce(rustix::io::Errno) -> Self {
        move |errno| Self::System {
            step,
            source: errno.into(),
        }
    }
}

impl From<Malformed> for Cause {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl fmt::Display for NetlinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            action,
            subject,
            cause,
        } = self;
        write!(f, "cannot {action} {subject}")?;
        if let Cause::Refused(Refusal { text, path, .. }) = cause {
            match (path, text) {
                (Some(path), Some(text)) => write!(f, " ({path}: {text})")?,
                (Some(only), None) | (None, Some(only)) => write!(f, " ({only})")?,
                (None, None) => {}
            }
        }
        if matches!(cause, Cause::Absent) {
            f.write_str(" (there is none)")?;
        }
        let changes = !matches!(
            action,
            Action::Get | Action::List | Action::Open | Action::Watch
        );
        if changes && self.errno() == Some(rustix::io::Errno::PERM.raw_os_error()) {
            f.write_str(" (needs CAP_NET_ADMIN)")?;
        }
        Ok(())
    }
}

impl std::error::Error for NetlinkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Cause::Refused(Refusal { source, .. }) | Cause::System { source, .. } => Some(source),
            Cause::Malformed(malformed) => Some(malformed),
            Cause::Namespace(error) => Some(error),
            Cause::Unfit(unfit) => Some(unfit),
            Cause::Unanswered | Cause::Absent => None,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::List => "list",
            Self::Get => "get",
            Self::Add => "add",
            Self::Replace => "replace",
            Self::Set => "set",
            Self::Append => "append",
            Self::Remove => "remove",
            Self::Watch => "watch",
        })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket => f.write_str("a netlink socket"),
            Self::Links => f.write_str("links"),
            Self::LinkNamed(name) => write!(f, "link {name}"),
            Self::Link(index) => write!(f, "link {index}"),
            Self::Addresses => f.write_str("addresses"),
            Self::Routes => f.write_str("routes"),
            Self::Route(dst) => write!(f, "route {dst}"),
            Self::Nexthops => f.write_str("nexthops"),
            Self::Nexthop(id) => write!(f, "nexthop {id}"),
            Self::Rules => f.write_str("rules"),
            Self::Rule(priority) => write!(f, "rule {priority}"),
            Self::Address(ip, index) => write!(f, "address {ip} of link {index}"),
            Self::Neighbours => f.write_str("neighbours"),
            Self::ForwardingEntries => f.write_str("forwarding entries"),
            Self::ForwardingEntry(mac, index) => {
                write!(f, "forwarding entry {mac} on link {index}")
            }
            Self::PortVlans => f.write_str("VLANs of ports"),
            Self::PortVlan(first, last, index) if first == last => {
                write!(f, "VLAN {first} of link {index}")
            }
            Self::PortVlan(first, last, index) => {
                write!(f, "VLANs {first} to {last} of link {index}")
            }
            Self::MulticastGroups => f.write_str("multicast groups"),
            Self::MulticastGroup(group, index) => write!(f, "group {group} at link {index}"),
            Self::NamespaceNumbers => f.write_str("numbers of namespaces"),
            Self::NamespaceNumber(number) => write!(f, "number {number} of a namespace"),
            Self::Statistics => f.write_str("statistics"),
            Self::StatisticsOf(index) => write!(f, "statistics of link {index}"),
            Self::Neighbour(ip, index) => write!(f, "neighbour {ip} on link {index}"),
            Self::Driver(name) => write!(f, "driver of link {name}"),
            Self::Speed(name) => write!(f, "speed of link {name}"),
            Self::Gro(name) => write!(f, "receive offload of link {name}"),
            Self::Features(name) => write!(f, "features of link {name}"),
            Self::RingSizes(name) => write!(f, "ring sizes of link {name}"),
            Self::Channels(name) => write!(f, "queues of link {name}"),
            Self::Coalescing(name) => write!(f, "interrupt moderation of link {name}"),
            Self::TimeStamping(name) => write!(f, "time stamps of link {name}"),
            Self::Xdp(index) => write!(f, "XDP abilities of link {index}"),
            Self::Napi(index) => write!(f, "polling of link {index}"),
            Self::NeighbourTables => f.write_str("neighbour tables"),
            Self::Family(name) => write!(f, "netlink family {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn a_refusal_for_want_of_privilege_says_what_is_needed() {
        let refused = |action| {
            let source = io::Error::from(rustix::io::Errno::PERM);
            let refusal = Refusal {
                source,
                text: None,
                offset: None,
                missing: None,
                missing_in: None,
                path: None,
            };
            NetlinkError::about(action, Subject::Link(IfIndex(3)))(Cause::Refused(refusal))
        };
        assert_eq!(
            refused(Action::Set).to_string(),
            "cannot set link 3 (needs CAP_NET_ADMIN)"
        );
        assert_eq!(refused(Action::Get).to_string(), "cannot get link 3");
        let source = refused(Action::Set).source().map(ToString::to_string);
        assert_eq!(
            source.as_deref(),
            Some("Operation not permitted (os error 1)")
        );
    }
}
