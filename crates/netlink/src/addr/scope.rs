use crate::table::names;
use crate::uapi::{
    RT_SCOPE_HOST, RT_SCOPE_LINK, RT_SCOPE_NOWHERE, RT_SCOPE_SITE, RT_SCOPE_UNIVERSE,
};

names! {
    /// How far an address is valid, or how far away what a route leads to (`RT_SCOPE_*`).
    pub enum Scope: u8 {
        /// Everywhere.
        Global = RT_SCOPE_UNIVERSE, "global";
        /// Within the site.
        Site = RT_SCOPE_SITE, "site";
        /// On the link.
        Link = RT_SCOPE_LINK, "link";
        /// On this host.
        Host = RT_SCOPE_HOST, "host";
        /// Nowhere.
        Nowhere = RT_SCOPE_NOWHERE, "nowhere";
    }
}
