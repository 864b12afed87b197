//! Commands of the network configuration, beside ip(8) and bridge(8).

mod absent;
mod addr;
mod batch;
mod bridge;
mod coming_from_ip;
mod flags;
mod forms;
mod json;
mod kinds;
mod like_ip;
mod link;
mod maddr;
mod netns;
mod random;
mod refusals;
mod tables;
mod tuntap;
mod vlan;
mod words;
