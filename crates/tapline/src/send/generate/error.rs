//! Why packets cannot be generated.

use std::net::IpAddr;

use netlink::{NamespaceError, NetlinkError};

/// Why packets cannot be generated as described.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GeneratorError {
    /// IP packets need a destination.
    #[error("no destination address")]
    NoDestination,
    /// No source is given, and no interface to take it from has an address of that family.
    #[error("no source address")]
    NoSource,
    /// Source and destination, or both ends of the tunnel, are of different families.
    #[error("source and destination are of different address families")]
    MixedFamilies,
    /// ARP resolves IPv4 addresses.
    #[error("ARP has IPv4 addresses only")]
    ArpFamily,
    /// The kind of packet lacks what an option changes.
    #[error("{kind} packets have no {what}")]
    NotInKind {
        /// The kind of packet.
        kind: &'static str,
        /// What it lacks.
        what: &'static str,
    },
    /// A frame is shorter than its headers and the stamp.
    #[error("a frame of {bytes} bytes is too short: its headers and stamp take {need}")]
    TooShort {
        /// The length.
        bytes: usize,
        /// The least length.
        need: usize,
    },
    /// A frame is longer than an IP packet can be.
    #[error("a frame of {bytes} bytes is too long: it takes at most {most}")]
    TooLong {
        /// The length.
        bytes: usize,
        /// The greatest length.
        most: usize,
    },
    /// The fields have fewer combinations than flows.
    #[error(
        "{flows} flows need more values: addresses and ports have {combinations} combination{}",
        if *combinations == 1 { "" } else { "s" }
    )]
    TooFewValues {
        /// The number of flows.
        flows: u64,
        /// What the values give.
        combinations: u64,
    },
    /// The raw frame is shorter than an Ethernet header.
    #[error("a raw frame needs an Ethernet header of 14 bytes")]
    RawTooShort,
    /// The next hop's link-layer address is not known.
    #[error("{next_hop} is not in the neighbour table of {link}")]
    NoNeighbour {
        /// The interface.
        link: String,
        /// The destination, or the gateway to it.
        next_hop: IpAddr,
    },
    /// The network namespace cannot be entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// Addresses and neighbours of the interface cannot be queried.
    #[error(transparent)]
    Link(#[from] NetlinkError),
}
