use super::data::Data;
use crate::object::Unfit;
use crate::table::{attributes, names};

attributes! {
    /// A link whose packets a program reads and writes.
    ///
    /// Equals `ip tuntap add NAME mode tap user 5 vnet_hdr`. No message makes one: `Netlink::add` asks the
    /// driver's file, `/dev/net/tun`, and sets the rest of the link by a message. It stays until it is removed.
    ///
    /// # Errors
    /// `Cause::System` with EBUSY when there is a link of this name, ENOENT without the driver.
    /// # Privileges
    /// `CAP_NET_ADMIN`; `CAP_SYS_ADMIN`, too, where the handle's namespace is not the thread's.
    /// # Source
    /// `tun_fill_info` and `tun_set_iff`, drivers/net/tun.c; Documentation/networking/tuntap.rst.
    pub struct Tun {
        /// What its packets begin with.
        #[serde(rename = "type")]
        "mode" mode: TunMode = IFLA_TUN_TYPE;
        /// Whether a header of 4 bytes stands before each packet; not unless it is said.
        "pi" pi: bool = IFLA_TUN_PI;
        /// Whether a header with offloads stands before each packet.
        "vnet_hdr" vnet_hdr: bool = IFLA_TUN_VNET_HDR;
        /// Whether it may have more than one queue.
        "multi_queue" multi_queue: bool = IFLA_TUN_MULTI_QUEUE;
        /// Queues that are open. Told only.
        numqueues: u32 = IFLA_TUN_NUM_QUEUES;
        /// Queues that are open and take nothing. Told only.
        numdisabled: u32 = IFLA_TUN_NUM_DISABLED_QUEUES;
        /// Whether it stays when the last program that has it open ends.
        persist: bool = IFLA_TUN_PERSIST;
        /// The user who may open it.
        "user" user: u32 = IFLA_TUN_OWNER;
        /// The group that may open it.
        "group" group: u32 = IFLA_TUN_GROUP;
    }
}

impl Data for Tun {
    fn check_new(&self) -> Result<(), Unfit> {
        match (self.mode, self.persist) {
            (None | Some(TunMode::Other(_)), _) => {
                Err(Unfit::new("a mode says whether it is a tun or a tap"))
            }
            (_, Some(false)) => Err(Unfit::new(
                "one that does not stay is gone when it is made: a program opens /dev/net/tun",
            )),
            _ => Ok(()),
        }
    }
}

names! {
    /// What the packets of a tun begin with.
    pub enum TunMode: u8 {
        /// An IP header.
        Tun = 1, "tun";
        /// An Ethernet header.
        Tap = 2, "tap";
    }
}
