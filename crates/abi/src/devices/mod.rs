//! Network interfaces and their devices.

pub mod ethtool;
pub mod interface;
pub mod tun;
