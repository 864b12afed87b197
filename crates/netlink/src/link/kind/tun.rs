use super::data::Data;
use crate::object::Unfit;
use crate::table::{attributes, names};

attributes! {
    /// A link whose packets a program reads and writes. All is told only: such a link is made by the
    /// program's ioctl(2), and `Netlink::add` says so.
    ///
    /// # Source
    /// `tun_fill_info`, drivers/net/tun.c; Documentation/networking/tuntap.rst.
    pub struct Tun {
        /// What its packets begin with.
        mode: TunMode = IFLA_TUN_TYPE;
        /// Whether a header of 4 bytes stands before each packet.
        pi: bool = IFLA_TUN_PI;
        /// Whether a header with offloads stands before each packet.
        vnet_hdr: bool = IFLA_TUN_VNET_HDR;
        /// Whether it has more than one queue.
        multi_queue: bool = IFLA_TUN_MULTI_QUEUE;
        /// Queues that are open.
        numqueues: u32 = IFLA_TUN_NUM_QUEUES;
        /// Queues that are open and take nothing.
        numdisabled: u32 = IFLA_TUN_NUM_DISABLED_QUEUES;
        /// Whether it stays when the program ends.
        persist: bool = IFLA_TUN_PERSIST;
        /// The user who may open it.
        user: u32 = IFLA_TUN_OWNER;
        /// The group that may open it.
        group: u32 = IFLA_TUN_GROUP;
    }
}

impl Data for Tun {
    fn check_new(&self) -> Result<(), Unfit> {
        Err(Unfit::new(
            "netlink makes no tun or tap: /dev/net/tun does, as with `ip tuntap add`",
        ))
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
