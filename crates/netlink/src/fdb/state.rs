use crate::table::{flag_set, names};
use crate::uapi::{
    NTF_EXT_LEARNED, NTF_MASTER, NTF_OFFLOADED, NTF_ROUTER, NTF_SELF, NTF_STICKY, NTF_USE,
    NUD_NOARP, NUD_PERMANENT, NUD_REACHABLE, NUD_STALE,
};

/// In a request the kernel wants to hear that an entry is usable, beside what it is.
const STATIC: u16 = NUD_NOARP | NUD_REACHABLE;
const PERMANENT: u16 = NUD_NOARP | NUD_PERMANENT;

names! {
    /// How long a forwarding entry stays, in the words of `bridge fdb add`.
    pub enum FdbState: u16 {
        /// For good; in a bridge it is the bridge's own address.
        Permanent = PERMANENT, "permanent";
        /// Until it is removed.
        Static = STATIC, "static";
        /// Until it has not been used for a while.
        Dynamic = NUD_REACHABLE, "dynamic";
        /// It has not been used for a while.
        Stale = NUD_STALE, "stale";
    }
}

impl FdbState {
    /// The state that the kernel tells.
    pub(super) fn told(state: u16) -> Self {
        let bits = [
            (NUD_PERMANENT, Self::Permanent),
            (NUD_NOARP, Self::Static),
            (NUD_STALE, Self::Stale),
            (NUD_REACHABLE, Self::Dynamic),
        ];
        let found = bits.into_iter().find(|(bit, _)| state & bit != 0);
        found.map_or(Self::Other(state), |(_, state)| state)
    }
}

flag_set! {
    /// Where a forwarding entry stands, and what may become of it.
    pub struct FdbFlags: u8 {
        /// In the device itself.
        SELF = NTF_SELF, "self";
        /// In the bridge that the device is a port of.
        MASTER = NTF_MASTER, "master";
        /// Its destination is a router.
        ROUTER = NTF_ROUTER, "router";
        /// A program has learned of it and looks after it.
        EXTERN_LEARN = NTF_EXT_LEARNED, "extern_learn";
        /// A device forwards by it.
        OFFLOAD = NTF_OFFLOADED, "offload";
        /// It stays where it is, wherever its packets come from.
        STICKY = NTF_STICKY, "sticky";
        /// It is to be taken as just used; said only.
        USE = NTF_USE, "use";
    }
}
