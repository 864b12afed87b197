//! Generic netlink: families of messages that the kernel numbers when they are registered.

mod bitset;
mod devices;
mod ethtool;
mod family;
mod features;
mod settings;
mod stamping;

pub use devices::{NapiInstance, NetDevices, XdpAbilities};
pub use ethtool::{Ethtool, TimeStamping};
pub use features::Features;
pub use settings::{Channels, Coalescing, RingSizes};
pub use stamping::StampedPackets;
