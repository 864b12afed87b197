//! The list of a server's interfaces.
//!
//! # Source
//! `struct rpcap_findalldevs_if`, `struct rpcap_findalldevs_ifaddr` and `struct rpcap_sockaddr`, `rpcap-protocol.h` of
//! libpcap.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::error::{MessageError, printable};
use super::fields::Fields;

/// Length of an address.
const ADDRESS_BYTES: usize = 128;

/// The addresses that are described together: address, netmask, broadcast address, and that of the other end.
const ADDRESSES: usize = 4;

/// The family of IPv4, on all systems.
const IPV4: u16 = 2;

/// The family of IPv6 in the protocol is that of Windows. Old servers send that of their own system.
const IPV6: u16 = 23;
const IPV6_OF_SYSTEMS: [u16; 6] = [10, 22, 24, 26, 28, 30];

/// `PCAP_IF_LOOPBACK`, `PCAP_IF_UP`, `PCAP_IF_RUNNING`.
const LOOPBACK: u32 = 1;
const UP: u32 = 2;
const RUNNING: u32 = 4;

/// An interface of a server. Its texts are printable ASCII.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteInterface {
    /// Its name.
    pub name: String,
    /// What it is; may be empty.
    pub description: String,
    /// Whether it is a loopback.
    pub is_loopback: bool,
    /// Whether it is up.
    pub is_up: bool,
    /// Whether it has a carrier.
    pub is_running: bool,
    /// Its addresses.
    pub addresses: Vec<RemoteAddress>,
}

/// An address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteAddress {
    /// The address.
    pub address: IpAddr,
    /// Netmask, if known.
    pub netmask: Option<IpAddr>,
    /// Broadcast address, if it has one.
    pub broadcast: Option<IpAddr>,
    /// Address of the other end, if there is only one.
    pub peer: Option<IpAddr>,
}

/// Reads `count` interfaces.
pub fn parse(fields: &mut Fields<'_>, count: u16) -> Result<Vec<RemoteInterface>, MessageError> {
    (0..count).map(|_| interface(fields)).collect()
}

fn interface(fields: &mut Fields<'_>) -> Result<RemoteInterface, MessageError> {
    let (name, description) = (fields.u16()?, fields.u16()?);
    let flags = fields.u32()?;
    let (addresses, _) = (fields.u16()?, fields.u16()?);
    let name = printable(fields.bytes(name.into())?);
    let description = printable(fields.bytes(description.into())?);
    let mut interface = RemoteInterface {
        name,
        description,
        is_loopback: flags & LOOPBACK != 0,
        is_up: flags & UP != 0,
        is_running: flags & RUNNING != 0,
        addresses: Vec::new(),
    };
    for _ in 0..addresses {
        let bytes = fields.bytes(ADDRESSES * ADDRESS_BYTES)?;
        let (parts, _) = bytes.as_chunks::<ADDRESS_BYTES>();
        let [address, netmask, broadcast, peer] = [0, 1, 2, 3].map(|place| ip(&parts[place]));
        // Others, for example those of the link layer, are zeros.
        interface
            .addresses
            .extend(address.map(|address| RemoteAddress {
                address,
                netmask,
                broadcast,
                peer,
            }));
    }
    Ok(interface)
}

/// The address of a socket; `None` if it has another family.
fn ip(bytes: &[u8; ADDRESS_BYTES]) -> Option<IpAddr> {
    let family = u16::from_be_bytes([bytes[0], bytes[1]]);
    if family == IPV4 {
        let address: [u8; 4] = bytes[4..8].try_into().ok()?;
        return Some(Ipv4Addr::from(address).into());
    }
    let is_ipv6 = family == IPV6 || IPV6_OF_SYSTEMS.contains(&family);
    let address: [u8; 16] = bytes[8..24].try_into().ok().filter(|_| is_ipv6)?;
    Some(Ipv6Addr::from(address).into())
}

/// The interfaces as bytes.
pub fn payload(interfaces: &[RemoteInterface]) -> Vec<u8> {
    let mut out = Vec::new();
    let length = |length: usize| u16::try_from(length).unwrap_or(u16::MAX);
    for interface in interfaces {
        let [name, description] = [&interface.name, &interface.description].map(|text| {
            let end = length(text.len()).into();
            &text.as_bytes()[..end]
        });
        let addresses = length(interface.addresses.len());
        let flags = [
            (interface.is_loopback, LOOPBACK),
            (interface.is_up, UP),
            (interface.is_running, RUNNING),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set);
        let flags: u32 = flags.map(|(_, flag)| flag).sum();
        out.extend(length(name.len()).to_be_bytes());
        out.extend(length(description.len()).to_be_bytes());
        out.extend(flags.to_be_bytes());
        out.extend(addresses.to_be_bytes());
        out.extend([0, 0]);
        out.extend_from_slice(name);
        out.extend_from_slice(description);
        for one in &interface.addresses[..addresses.into()] {
            put(&mut out, Some(one.address));
            put(&mut out, one.netmask);
            put(&mut out, one.broadcast);
            put(&mut out, one.peer);
        }
    }
    out
}

fn put(out: &mut Vec<u8>, address: Option<IpAddr>) {
    let mut bytes = [0; ADDRESS_BYTES];
    match address {
        None => {}
        Some(IpAddr::V4(address)) => {
            bytes[..2].copy_from_slice(&IPV4.to_be_bytes());
            bytes[4..8].copy_from_slice(&address.octets());
        }
        Some(IpAddr::V6(address)) => {
            bytes[..2].copy_from_slice(&IPV6.to_be_bytes());
            bytes[8..24].copy_from_slice(&address.octets());
        }
    }
    out.extend(bytes);
}
