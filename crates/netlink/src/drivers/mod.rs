//! What drivers report about links, and their settings.

mod ethtool;
mod family;
mod ioctl;
mod netdev;

pub use ethtool::{
    Channels, Coalescing, Ethtool, Features, RingSizes, StampedPackets, TimeStamping,
};
pub use ioctl::{Driver, Gro};
pub use netdev::{NapiInstance, NetDevices, XdpAbilities};
