//! The kinds of routes to a target.

use std::net::IpAddr;

/// How a target is reached, and from which address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteKind {
    Gateway {
        gateway: IpAddr,
        source: IpAddr,
    },
    OnLink {
        source: IpAddr,
    },
    /// An address of this host, which frames on the interface cannot reach.
    Local,
    /// Through another interface, unreachable, or without a source address.
    None,
}

impl RouteKind {
    /// Whether the interface reaches it.
    pub fn is_by_link(self) -> bool {
        matches!(self, Self::Gateway { .. } | Self::OnLink { .. })
    }
}
