//! The objects of the kernel's network configuration, a file or folder for each.

pub mod addr;
pub mod fdb;
pub mod link;
pub mod mdb;
pub mod neigh;
pub mod nexthop;
pub mod port_vlan;
pub mod qdisc;
pub mod route;
pub mod rule;
pub mod stats;
