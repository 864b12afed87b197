//! Tun and tap links.

use super::kinds::KindSettings;
use crate::error::InvalidRequest;
use crate::schema::{attribute_set, number_enum};

attribute_set! {
    /// A tun or tap device: a program reads and writes its packets.
    ///
    /// Equals `ip tuntap add NAME mode tap user 5 vnet_hdr`. `Netlink::add` creates it
    /// through `/dev/net/tun` and sets the other fields of the link by netlink. It is persistent.
    ///
    /// # Errors
    /// `Cause::System` with EBUSY if the name is in use, ENOENT without the driver.
    /// # Privileges
    /// `CAP_NET_ADMIN`; also `CAP_SYS_ADMIN` if the handle's namespace is not the thread's.
    /// # Source
    /// `tun_fill_info` and `tun_set_iff`, drivers/net/tun.c; Documentation/networking/tuntap.rst.
    pub struct Tun {
        /// Tun (IP packets) or tap (Ethernet frames).
        #[serde(rename = "type")]
        "mode" mode: TunMode = IFLA_TUN_TYPE;
        /// Whether packets have a packet information header of 4 bytes. Default: no.
        "pi" pi: bool = IFLA_TUN_PI;
        /// Whether packets have a virtio-net header with offloads.
        "vnet_hdr" vnet_hdr: bool = IFLA_TUN_VNET_HDR;
        /// Whether it supports several queues.
        "multi_queue" multi_queue: bool = IFLA_TUN_MULTI_QUEUE;
        /// Number of open queues. Read-only.
        numqueues @reported: u32 = IFLA_TUN_NUM_QUEUES;
        /// Number of disabled queues. Read-only.
        numdisabled @reported: u32 = IFLA_TUN_NUM_DISABLED_QUEUES;
        /// Whether it persists when the last program closes it.
        persist: bool = IFLA_TUN_PERSIST;
        /// The user id that may open it.
        "user" user: u32 = IFLA_TUN_OWNER;
        /// The group id that may open it.
        "group" group: u32 = IFLA_TUN_GROUP;
    }
}

impl KindSettings for Tun {
    fn check_new(&self) -> Result<(), InvalidRequest> {
        match (self.mode, self.persist) {
            (None | Some(TunMode::Other(_)), _) => {
                Err(InvalidRequest::new("a mode, tun or tap, is required"))
            }
            (_, Some(false)) => Err(InvalidRequest::new(
                "it must be persistent; a non-persistent one is created by the program that opens /dev/net/tun",
            )),
            _ => Ok(()),
        }
    }
}

number_enum! {
    /// The packets of a tun device.
    pub enum TunMode: u8 {
        /// IP packets.
        Tun = 1, "tun";
        /// Ethernet frames.
        Tap = 2, "tap";
    }
}
