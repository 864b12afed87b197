//! Bridges: their options, forwarding entries, multicast groups and VLANs.

mod fdb;
mod fdb_watch;
mod mdb;
mod options;
mod vlan;
