//! Resolves the names in a filter.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

/// A transport protocol that has ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Transport {
    /// TCP
    Tcp,
    /// UDP
    Udp,
    /// SCTP
    Sctp,
}

/// Resolves the names in a filter.
///
/// Names are passed as written. A resolver may read files or query a server, and block. The
/// compiler calls it; matching packets never does.
pub trait NameResolver {
    /// The addresses of a host; empty if the name is unknown.
    fn host(&self, name: &str) -> Vec<IpAddr>;
    /// The number of a network as in networks(5): `10` or `10.20`, in its low bytes.
    fn network(&self, name: &str) -> Option<Ipv4Addr>;
    /// The Ethernet address of a host, as in ethers(5).
    fn ethernet(&self, name: &str) -> Option<[u8; 6]>;
    /// The port of a service, as in services(5).
    fn port(&self, name: &str, transport: Transport) -> Option<u16>;
    /// The number of a protocol over IP, as in protocols(5).
    fn protocol(&self, name: &str) -> Option<u8>;
}

/// Resolves no names.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNames;

impl NameResolver for NoNames {
    fn host(&self, _: &str) -> Vec<IpAddr> {
        Vec::new()
    }

    fn network(&self, _: &str) -> Option<Ipv4Addr> {
        None
    }

    fn ethernet(&self, _: &str) -> Option<[u8; 6]> {
        None
    }

    fn port(&self, _: &str, _: Transport) -> Option<u16> {
        None
    }

    fn protocol(&self, _: &str) -> Option<u8> {
        None
    }
}

/// The queries to a resolver with its answers; resolves no other names.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordedNames {
    hosts: HashMap<String, Vec<IpAddr>>,
    networks: HashMap<String, Option<Ipv4Addr>>,
    ethernets: HashMap<String, Option<[u8; 6]>>,
    ports: HashMap<(String, Transport), Option<u16>>,
    protocols: HashMap<String, Option<u8>>,
}

impl NameResolver for RecordedNames {
    fn host(&self, name: &str) -> Vec<IpAddr> {
        self.hosts.get(name).cloned().unwrap_or_default()
    }

    fn network(&self, name: &str) -> Option<Ipv4Addr> {
        *self.networks.get(name)?
    }

    fn ethernet(&self, name: &str) -> Option<[u8; 6]> {
        *self.ethernets.get(name)?
    }

    fn port(&self, name: &str, transport: Transport) -> Option<u16> {
        *self.ports.get(&(name.to_owned(), transport))?
    }

    fn protocol(&self, name: &str) -> Option<u8> {
        *self.protocols.get(name)?
    }
}

/// Queries a resolver once for each name and records the answers.
pub(crate) struct RecordingResolver<'a> {
    names: &'a dyn NameResolver,
    recorded: RefCell<RecordedNames>,
}

impl<'a> RecordingResolver<'a> {
    pub(crate) fn new(names: &'a dyn NameResolver) -> Self {
        Self {
            names,
            recorded: RefCell::default(),
        }
    }

    pub(crate) fn into_recorded(self) -> RecordedNames {
        self.recorded.into_inner()
    }
}

impl NameResolver for RecordingResolver<'_> {
    fn host(&self, name: &str) -> Vec<IpAddr> {
        let mut recorded = self.recorded.borrow_mut();
        let known = recorded.hosts.entry(name.to_owned());
        known.or_insert_with(|| self.names.host(name)).clone()
    }

    fn network(&self, name: &str) -> Option<Ipv4Addr> {
        let mut recorded = self.recorded.borrow_mut();
        let known = recorded.networks.entry(name.to_owned());
        *known.or_insert_with(|| self.names.network(name))
    }

    fn ethernet(&self, name: &str) -> Option<[u8; 6]> {
        let mut recorded = self.recorded.borrow_mut();
        let known = recorded.ethernets.entry(name.to_owned());
        *known.or_insert_with(|| self.names.ethernet(name))
    }

    fn port(&self, name: &str, transport: Transport) -> Option<u16> {
        let mut recorded = self.recorded.borrow_mut();
        let known = recorded.ports.entry((name.to_owned(), transport));
        *known.or_insert_with(|| self.names.port(name, transport))
    }

    fn protocol(&self, name: &str) -> Option<u8> {
        let mut recorded = self.recorded.borrow_mut();
        let known = recorded.protocols.entry(name.to_owned());
        *known.or_insert_with(|| self.names.protocol(name))
    }
}
