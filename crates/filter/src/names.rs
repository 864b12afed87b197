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

/// Who knows what names in a filter stand for.
///
/// Names are passed as written. A resolver that reads files or asks a server may block; it is asked
/// while the filter is compiled, never for a packet.
pub trait Names {
    /// The addresses of a host; none if nobody knows it.
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

/// Knows no names at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNames;

impl Names for NoNames {
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

/// What a resolver was asked and answered; it knows no other names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    hosts: HashMap<String, Vec<IpAddr>>,
    networks: HashMap<String, Option<Ipv4Addr>>,
    ethernets: HashMap<String, Option<[u8; 6]>>,
    ports: HashMap<(String, Transport), Option<u16>>,
    protocols: HashMap<String, Option<u8>>,
}

impl Names for Answers {
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

/// Asks a resolver for each name once and keeps what it answers.
pub(crate) struct Asked<'a> {
    names: &'a dyn Names,
    answers: RefCell<Answers>,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(names: &'a dyn Names) -> Self {
        Self {
            names,
            answers: RefCell::default(),
        }
    }

    pub(crate) fn into_answers(self) -> Answers {
        self.answers.into_inner()
    }
}

impl Names for Asked<'_> {
    fn host(&self, name: &str) -> Vec<IpAddr> {
        let mut answers = self.answers.borrow_mut();
        let known = answers.hosts.entry(name.to_owned());
        known.or_insert_with(|| self.names.host(name)).clone()
    }

    fn network(&self, name: &str) -> Option<Ipv4Addr> {
        let mut answers = self.answers.borrow_mut();
        let known = answers.networks.entry(name.to_owned());
        *known.or_insert_with(|| self.names.network(name))
    }

    fn ethernet(&self, name: &str) -> Option<[u8; 6]> {
        let mut answers = self.answers.borrow_mut();
        let known = answers.ethernets.entry(name.to_owned());
        *known.or_insert_with(|| self.names.ethernet(name))
    }

    fn port(&self, name: &str, transport: Transport) -> Option<u16> {
        let mut answers = self.answers.borrow_mut();
        let known = answers.ports.entry((name.to_owned(), transport));
        *known.or_insert_with(|| self.names.port(name, transport))
    }

    fn protocol(&self, name: &str) -> Option<u8> {
        let mut answers = self.answers.borrow_mut();
        let known = answers.protocols.entry(name.to_owned());
        *known.or_insert_with(|| self.names.protocol(name))
    }
}
