use crate::table::{Nested, attributes, names};

attributes! {
    /// What protocol families keep of a link, as far as it is configured here.
    pub struct AfSpec {
        /// IPv6.
        inet6: Inet6Spec as Nested = AF_INET6_SPEC, Spread;
    }
}

attributes! {
    /// What IPv6 keeps of a link.
    ///
    /// # Source
    /// `inet6_af_policy`, net/ipv6/addrconf.c.
    pub struct Inet6Spec {
        /// How it makes its own addresses.
        "addrgenmode" inet6_addr_gen_mode: AddrGenMode = IFLA_INET6_ADDR_GEN_MODE;
    }
}

names! {
    /// How a link makes its own IPv6 addresses.
    pub enum AddrGenMode: u8 {
        /// Of its hardware address.
        Eui64 = 0, "eui64";
        /// Not at all.
        None = 1, "none";
        /// Of a secret, always the same in a network (RFC 7217).
        StableSecret = 2, "stable_secret";
        /// As that, of a secret that chance chose.
        Random = 3, "random";
    }
}
