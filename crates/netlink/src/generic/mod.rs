//! Generic netlink: families of messages that the kernel numbers when they are registered.

mod bitset;
mod devices;
mod ethtool;
mod family;
mod features;

pub use devices::{NapiInstance, NetDevices, XdpAbilities};
pub use ethtool::{Channels, Coalescing, Ethtool, RingSizes, TimeStamping};
pub use features::Features;
