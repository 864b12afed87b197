use std::net::IpAddr;

use super::NeighState;
use super::state::as_list;
use crate::interface::IfIndex;
use crate::link::HardwareAddress;
use crate::prefix::Family;
use crate::route::RouteProtocol;
use crate::table::{Shape, attributes};

attributes! {
    /// A host on the link of an interface: what is wanted of one, or what the kernel told of one.
    ///
    /// Equals `ip neighbour add DST lladdr LLADDR dev DEV [nud STATE] …`. `dst` and `dev` say which one is
    /// meant. As with `ip(8)` one without a state is made permanent, also in a change.
    ///
    /// # Source
    /// `neigh_add` and `neigh_fill_info`, net/core/neighbour.c.
    pub struct Neigh {
        @header {
            /// Its interface.
            "dev" dev: IfIndex;
            /// Its family: follows from `dst` in a change, chooses in a question.
            family: Family;
            /// What is known of it.
            #[serde(with = "as_list")]
            "nud" state: NeighState;
            /// Not a neighbour, but an address for which this host answers on the link. A question with it
            /// is for those alone, one without it for neighbours alone.
            proxy: bool;
            /// It forwards packets; IPv6.
            router: bool;
            /// A program has learned of it and looks after it.
            extern_learn: bool;
            /// The kernel is to ask for its hardware address now, as if it were sent to. Said only.
            resolve: bool;
            /// The kernel is to keep its hardware address known; Linux 5.16.
            managed: bool;
            /// A device forwards to it by itself. Told only.
            offload: bool;
            /// Seconds since it was last sent to. Told only.
            used: u32;
            /// Seconds since it was last heard of. Told only.
            confirmed: u32;
            /// Seconds since something about it changed. Told only.
            updated: u32;
            /// How many refer to it. Told only.
            refcnt: u32;
        }
        @parts {
            NDA_CACHEINFO: Shape::Bytes;
            NDA_FLAGS_EXT: Shape::Number;
        }
        @own read_word show_words;
        /// Its IP address.
        dst: IpAddr = NDA_DST;
        /// Its hardware address.
        "lladdr" lladdr: HardwareAddress = NDA_LLADDR;
        /// How often it has been asked without an answer. Told only.
        probes: u32 = NDA_PROBES;
        /// Those on the links of this bridge, bond or VRF; in questions only.
        "master" master: IfIndex = NDA_MASTER;
        /// Who made it.
        "protocol" protocol: RouteProtocol = NDA_PROTOCOL;
    }
}

impl Neigh {
    /// The neighbour of this address on an interface.
    pub fn on(dev: IfIndex, dst: impl Into<IpAddr>) -> Self {
        Self::new().dev(dev).dst(dst.into())
    }

    /// Its interface; 0 when there is none given.
    pub fn ifindex(&self) -> IfIndex {
        self.dev.unwrap_or_default()
    }
}
