//! Why a request failed: the operation, its target and the cause.

use std::net::IpAddr;
use std::{fmt, io};

use rustix::io::Errno;

use crate::codec::{KernelError, Malformed};
use crate::quoted::{Quoted, is_short};
use crate::schema::NameLookup;
use crate::values::interface::{IfIndex, IfName, MacAddress};
use crate::values::prefix::Prefix;
use crate::verb::Verb;

/// The operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Open a socket.
    Open,
    /// List objects.
    List,
    /// Read one object.
    Get,
    /// Create an object.
    Add,
    /// Create or replace an object.
    Replace,
    /// Change an object.
    Set,
    /// Create an object behind others with the same key.
    Append,
    /// Create an object before others with the same key.
    Prepend,
    /// Delete an object.
    Remove,
    /// Delete all objects that match a filter.
    Flush,
    /// Watch for changes.
    Watch,
}

/// A failed request.
#[derive(Debug)]
#[non_exhaustive]
pub struct NetlinkError {
    /// The operation.
    pub action: Action,
    /// What the operation was about.
    pub target: RequestTarget,
    /// Why it failed.
    pub cause: Cause,
    /// Name of the target's link, if [`name_link`](Self::name_link) found it.
    pub link: Option<Box<str>>,
}

/// The system call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Syscall {
    /// socket(2).
    Socket,
    /// bind(2).
    Bind,
    /// connect(2).
    Connect,
    /// setsockopt(2).
    SetOption,
    /// send(2).
    Send,
    /// recv(2); `TimedOut` if the kernel did not reply in time.
    Receive,
    /// ioctl(2): `SIOCETHTOOL` or a request of the tun driver.
    Ioctl,
    /// open(2) of `/dev/net/tun`.
    OpenTun,
}

/// Why a request failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The kernel rejected the request.
    Refused(KernelError),
    /// A system call failed.
    System {
        /// The system call.
        call: Syscall,
        /// Its error.
        source: io::Error,
    },
    /// The kernel's reply could not be decoded.
    Malformed(Malformed),
    /// The kernel's reply was lost, or it acknowledged the request without returning an object.
    NoReply,
    /// No such object exists.
    Absent,
    /// The request is invalid. It was not sent.
    Invalid(InvalidRequest),
    /// The network namespace could not be opened or entered.
    Namespace(abi::namespace::NamespaceError),
}

/// A request that cannot be encoded. Detected before it is sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
#[non_exhaustive]
pub struct InvalidRequest {
    /// What is wrong with the request.
    pub reason: String,
}

impl InvalidRequest {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

/// Returns an [`InvalidRequest`] if a condition holds.
macro_rules! reject_if {
    ($condition:expr, $($reason:tt)+) => {
        if $condition {
            return Err(crate::error::InvalidRequest::new(format!($($reason)+)));
        }
    };
}
pub(crate) use reject_if;

impl Cause {
    /// Whether the socket's receive buffer overflowed and datagrams were lost.
    pub(crate) fn is_overrun(&self) -> bool {
        matches!(self, Self::System { source, .. } if source.raw_os_error() == Some(Errno::NOBUFS.raw_os_error()))
    }

    /// A copy for another item of the same batch. Only a failed system call applies to all items; any
    /// other cause becomes [`NoReply`](Self::NoReply).
    pub(crate) fn for_other_item(&self) -> Self {
        match self {
            Self::System { call, source } => Self::System {
                call: *call,
                source: match source.raw_os_error() {
                    Some(number) => io::Error::from_raw_os_error(number),
                    None => source.kind().into(),
                },
            },
            _ => Self::NoReply,
        }
    }

    /// There is no memory for what the kernel replied.
    pub(crate) fn no_memory() -> Self {
        Self::system(Syscall::Receive)(Errno::NOMEM)
    }

    pub(crate) fn system(call: Syscall) -> impl FnOnce(Errno) -> Self {
        move |errno| Self::System {
            call,
            source: errno.into(),
        }
    }
}

impl From<Malformed> for Cause {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl NetlinkError {
    /// For `map_err`: turns a cause into an error about `action` on `target`.
    pub(crate) fn about(action: Action, target: RequestTarget) -> impl FnOnce(Cause) -> Self {
        move |cause| Self::new(action, target, cause)
    }

    pub(crate) fn new(action: Action, target: RequestTarget, cause: Cause) -> Self {
        Self {
            action,
            target,
            cause,
            link: None,
        }
    }

    /// Looks up the name of the target's link, so that the message shows it instead of the index.
    pub fn name_link(&mut self, lookup: &mut dyn NameLookup) {
        let name = self.target.link().and_then(|index| lookup.name(index));
        self.link = name.map(Into::into);
    }

    /// Whether the error means that the object does not exist.
    pub fn is_absence(&self) -> bool {
        // A reply can have any number, also one that is no error number.
        let errno = self.errno().map(io::Error::from_raw_os_error);
        let errno = errno.as_ref().and_then(Errno::from_io_error);
        matches!(self.cause, Cause::Absent)
            || matches!(
                errno,
                Some(Errno::NODEV | Errno::NOENT | Errno::SRCH | Errno::ADDRNOTAVAIL)
            )
    }

    /// The error number of the operating system, if the cause has one.
    pub fn errno(&self) -> Option<i32> {
        match &self.cause {
            Cause::Refused(KernelError { source, .. }) | Cause::System { source, .. } => {
                source.raw_os_error()
            }
            Cause::Namespace(error) => error.source.raw_os_error(),
            Cause::Malformed(_) | Cause::NoReply | Cause::Absent | Cause::Invalid(_) => None,
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
            Verb::Prepend => Self::Prepend,
            Verb::Del => Self::Remove,
            Verb::Get => Self::Get,
            Verb::List => Self::List,
        }
    }
}

impl fmt::Display for NetlinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            action,
            target,
            cause,
            link,
        } = self;
        write!(f, "cannot {action} {}", target.with_link(link.as_deref()))?;
        if let Cause::Refused(KernelError { message, path, .. }) = cause {
            match (path, message) {
                (Some(path), Some(message)) => write!(f, " ({path}: {message})")?,
                (Some(only), None) | (None, Some(only)) => write!(f, " ({only})")?,
                (None, None) => {}
            }
        }
        match cause {
            Cause::Absent => f.write_str(" (there is none)")?,
            Cause::NoReply => f.write_str(" (the kernel's reply is missing)")?,
            _ => {}
        }
        let changes = !matches!(
            action,
            Action::Get | Action::List | Action::Open | Action::Watch
        );
        if changes && self.errno() == Some(Errno::PERM.raw_os_error()) {
            f.write_str(" (needs CAP_NET_ADMIN)")?;
        }
        Ok(())
    }
}

impl std::error::Error for NetlinkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Cause::Refused(KernelError { source, .. }) | Cause::System { source, .. } => {
                Some(source)
            }
            Cause::Malformed(malformed) => Some(malformed),
            Cause::Namespace(error) => Some(error),
            Cause::Invalid(invalid) => Some(invalid),
            Cause::NoReply | Cause::Absent => None,
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
            Self::Prepend => "prepend",
            Self::Remove => "remove",
            Self::Flush => "flush",
            Self::Watch => "watch",
        })
    }
}

/// What a request was about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestTarget {
    /// The socket itself.
    Socket,
    /// All links.
    Links,
    /// The link with this name or alternative name.
    LinkNamed(String),
    /// The link with this index.
    Link(IfIndex),
    /// All addresses.
    Addresses,
    /// An address of an interface.
    Address(IpAddr, IfIndex),
    /// All routes.
    Routes,
    /// The route to a destination.
    Route(Prefix),
    /// All nexthop objects.
    Nexthops,
    /// The nexthop object with this id.
    Nexthop(u32),
    /// All rules.
    Rules,
    /// The rule with this priority.
    Rule(u32),
    /// A rule without a priority, described by its selectors and action.
    RuleLike(String),
    /// All neighbours.
    Neighbours,
    /// A neighbour on an interface.
    Neighbour(IpAddr, IfIndex),
    /// All forwarding entries of bridges and VXLANs.
    ForwardingEntries,
    /// The forwarding entries of a link.
    ForwardingEntriesOf(IfIndex),
    /// The forwarding entry for a hardware address on an interface.
    ForwardingEntry(MacAddress, IfIndex),
    /// The VLANs of all bridge ports.
    PortVlans,
    /// A range of VLANs (first, last) of a bridge port.
    PortVlan(u16, u16, IfIndex),
    /// All multicast groups of bridges.
    MulticastGroups,
    /// A multicast group at a bridge port.
    MulticastGroup(String, IfIndex),
    /// The ids of other network namespaces.
    NamespaceNumbers,
    /// A network namespace id.
    NamespaceNumber(i32),
    /// Extended statistics of all links.
    Statistics,
    /// Extended statistics of a link.
    StatisticsOf(IfIndex),
    /// The driver of a link.
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
    /// Time stamping of a link.
    TimeStamping(IfName),
    /// XDP support of a link's driver.
    Xdp(IfIndex),
    /// NAPI instances of a link.
    Napi(IfIndex),
    /// The queueing disciplines of a link.
    Qdiscs(IfIndex),
    /// How a link's device computes hashes.
    Hash(IfName),
    /// The rules of a link's device that choose the queues of flows.
    FlowRules(IfName),
    /// A TCP or UDP socket.
    TransportSocket,
    /// The neighbour tables.
    NeighbourTables,
    /// A generic netlink family.
    Family(&'static str),
}

impl RequestTarget {
    /// The link that the target is or belongs to, if it is identified by an index.
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
            | Self::Napi(index)
            | Self::Qdiscs(index) => Some(*index).filter(|index| index.0 != 0),
            _ => None,
        }
    }

    /// For display, with the name of its link; without a name the index is shown.
    fn with_link<'a>(&'a self, name: Option<&'a str>) -> TargetWithLink<'a> {
        TargetWithLink { target: self, name }
    }
}

impl fmt::Display for RequestTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_link(None).fmt(f)
    }
}

/// A target together with the name of its link.
struct TargetWithLink<'a> {
    target: &'a RequestTarget,
    name: Option<&'a str>,
}

impl TargetWithLink<'_> {
    fn link(&self, index: IfIndex) -> String {
        self.name.map_or_else(|| index.to_string(), str::to_owned)
    }

    /// ` of link NAME`; empty without a link.
    fn on_link(&self, preposition: &str, index: IfIndex) -> String {
        match index {
            IfIndex(0) => String::new(),
            _ => format!(" {preposition} link {}", self.link(index)),
        }
    }
}

impl fmt::Display for TargetWithLink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use RequestTarget as Target;
        match self.target {
            Target::Socket => f.write_str("a netlink socket"),
            Target::Links => f.write_str("links"),
            Target::LinkNamed(name) if is_short(name) => write!(f, "link {name}"),
            Target::LinkNamed(name) => write!(f, "link {}", Quoted(name)),
            Target::Link(index) => write!(f, "link {}", self.link(*index)),
            Target::Addresses => f.write_str("addresses"),
            Target::Address(ip, index) => write!(f, "address {ip}{}", self.on_link("of", *index)),
            Target::Routes => f.write_str("routes"),
            Target::Route(dst) => write!(f, "route {dst}"),
            Target::Nexthops => f.write_str("nexthops"),
            Target::Nexthop(id) => write!(f, "nexthop {id}"),
            Target::Rules => f.write_str("rules"),
            Target::Rule(priority) => write!(f, "rule {priority}"),
            Target::RuleLike(text) => write!(f, "rule {text}"),
            Target::Neighbours => f.write_str("neighbours"),
            Target::Neighbour(ip, index) => {
                write!(f, "neighbour {ip}{}", self.on_link("on", *index))
            }
            Target::ForwardingEntries => f.write_str("forwarding entries"),
            Target::ForwardingEntriesOf(index) => {
                write!(f, "forwarding entries{}", self.on_link("of", *index))
            }
            Target::ForwardingEntry(mac, index) => {
                write!(f, "forwarding entry {mac}{}", self.on_link("on", *index))
            }
            Target::PortVlans => f.write_str("VLANs of ports"),
            Target::PortVlan(first, last, index) if first == last => {
                write!(f, "VLAN {first}{}", self.on_link("of", *index))
            }
            Target::PortVlan(first, last, index) => {
                write!(f, "VLANs {first} to {last}{}", self.on_link("of", *index))
            }
            Target::MulticastGroups => f.write_str("multicast groups"),
            Target::MulticastGroup(group, index) => {
                write!(f, "group {group}{}", self.on_link("at", *index))
            }
            Target::NamespaceNumbers => f.write_str("network namespace ids"),
            Target::NamespaceNumber(number) => write!(f, "network namespace id {number}"),
            Target::Statistics => f.write_str("statistics"),
            Target::StatisticsOf(index) => write!(f, "statistics of link {}", self.link(*index)),
            Target::Driver(name) => write!(f, "driver of link {name}"),
            Target::Speed(name) => write!(f, "speed of link {name}"),
            Target::Gro(name) => write!(f, "receive offload of link {name}"),
            Target::Features(name) => write!(f, "features of link {name}"),
            Target::RingSizes(name) => write!(f, "ring sizes of link {name}"),
            Target::Channels(name) => write!(f, "queues of link {name}"),
            Target::Coalescing(name) => write!(f, "interrupt moderation of link {name}"),
            Target::TimeStamping(name) => write!(f, "time stamping of link {name}"),
            Target::Xdp(index) => write!(f, "XDP features of link {}", self.link(*index)),
            Target::Napi(index) => write!(f, "NAPI instances of link {}", self.link(*index)),
            Target::Qdiscs(index) => {
                write!(f, "queueing disciplines of link {}", self.link(*index))
            }
            Target::Hash(name) => write!(f, "receive hash of link {name}"),
            Target::FlowRules(name) => write!(f, "flow rules of link {name}"),
            Target::TransportSocket => f.write_str("a TCP or UDP socket"),
            Target::NeighbourTables => f.write_str("neighbour tables"),
            Target::Family(name) => write!(f, "netlink family {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn a_permission_error_names_the_missing_capability() {
        let refused = |action| {
            let error = KernelError {
                source: io::Error::from(Errno::PERM),
                message: None,
                offset: None,
                missing: None,
                missing_in: None,
                path: None,
            };
            NetlinkError::about(action, RequestTarget::Link(IfIndex(3)))(Cause::Refused(error))
        };
        assert_eq!(
            refused(Action::Set).to_string(),
            "cannot set link 3 (needs CAP_NET_ADMIN)"
        );
        assert_eq!(refused(Action::Get).to_string(), "cannot get link 3");
        let named = |name: &str| RequestTarget::LinkNamed(name.to_owned()).to_string();
        assert_eq!(
            (named("eth0"), named("")),
            ("link eth0".into(), "link \"\"".into())
        );
        let long = format!("link \"{}\" (cut)", "é".repeat(128));
        assert_eq!(named(&"é".repeat(100_000)), long);
        let source = refused(Action::Set).source().map(ToString::to_string);
        assert_eq!(
            source.as_deref(),
            Some("Operation not permitted (os error 1)")
        );
    }
}
