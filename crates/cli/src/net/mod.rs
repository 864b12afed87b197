//! `tapline link`, `addr`, `route` … : the stack, in the words of ip(8) and bridge(8).

mod addr;
mod batch;
mod colour;
mod door;
mod explain;
mod fdb;
mod fields;
mod job;
mod link;
mod maddr;
mod mdb;
mod monitor;
mod names;
mod neigh;
mod netns;
mod nexthop;
mod page;
mod route;
mod rule;
mod spelled;
mod tuntap;
mod verb;
mod vlan;
mod vrf;

pub use batch::run as batch;
pub use door::Noun;
pub use explain::run as explain;
pub use job::run;
pub use maddr::run as maddr;
pub use monitor::run as monitor;
pub use netns::run as netns;
pub use vlan::run as vlan;
