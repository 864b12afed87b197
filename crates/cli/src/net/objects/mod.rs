//! The syntax and the output of each object.

mod addr;
mod fdb;
mod link;
mod maddr;
mod mdb;
mod neigh;
mod nexthop;
mod nsid;
mod route;
mod rule;
mod tuntap;
mod vlan;
mod vrf;

pub use maddr::run as maddr;
pub use tuntap::Tuntap;
pub use vrf::Vrfs;
