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
