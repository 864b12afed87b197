//! How many headers `any` and `inner` pass. More of them cost instructions in each program with these words.

/// VLAN tags in one layer.
pub(super) const VLAN_TAGS: usize = 4;
/// MPLS labels in one layer.
pub(super) const LABELS: u32 = 8;
/// IPv6 extension headers in one layer: as many as RFC 8200 recommends at most, without ESP.
pub(super) const EXTENSION_HEADERS: usize = 6;
/// Tunnels inside each other.
pub(super) const TUNNELS: usize = 2;
/// Extension headers of GTP-U.
pub(super) const GTP_EXTENSION_HEADERS: usize = 2;
