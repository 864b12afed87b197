//! The interface behind a ring.

use std::io;
use std::os::fd::BorrowedFd;

use abi::ethtool;
use abi::interface::name_bytes;
use abi::packet::{PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC, PacketMreq, SOL_PACKET};
use abi::socket::set_option;

const ARPHRD_RAWIP: u16 = 519;

/// The interface behind a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceInfo {
    /// Name when the ring was opened.
    pub name: String,
    /// Interface index.
    pub index: u32,
    /// Link-layer header type of its packets in capture files (`LINKTYPE_*`).
    pub link_type: u16,
    /// Whether it is a loopback interface.
    pub loopback: bool,
}

impl InterfaceInfo {
    /// `None` if no link type is known for the hardware type.
    pub(crate) fn new(name: &str, index: u32, hatype: u16) -> Option<Self> {
        Some(Self {
            name: name.to_owned(),
            index,
            link_type: link_type(hatype)?,
            loopback: hatype == libc::ARPHRD_LOOPBACK,
        })
    }
}

/// Link-layer header type in capture files (`LINKTYPE_*`) of an interface with this hardware type (`ARPHRD_*`). `None`
/// if no type is known.
pub fn link_type(hatype: u16) -> Option<u16> {
    match hatype {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Some(1),
        libc::ARPHRD_NONE | ARPHRD_RAWIP => Some(101),
        libc::ARPHRD_IEEE80211 => Some(105),
        libc::ARPHRD_IEEE80211_RADIOTAP => Some(127),
        _ => None,
    }
}

/// Number of receive queues. A driver that does not report them has one.
pub(crate) fn receive_queues(socket: BorrowedFd<'_>, name: &str) -> io::Result<u32> {
    match ethtool::receive_queues(socket, name_bytes(name)?) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(1),
        answer => answer,
    }
}

/// Enables promiscuous mode until the packet socket is closed.
pub(crate) fn set_promiscuous(socket: BorrowedFd<'_>, index: u32) -> io::Result<()> {
    let membership = PacketMreq {
        ifindex: index.cast_signed(),
        kind: PACKET_MR_PROMISC,
        ..PacketMreq::default()
    };
    set_option(socket, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &membership)
}
