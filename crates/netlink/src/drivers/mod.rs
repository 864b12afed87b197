//! What drivers report about links, and their settings.

mod ethtool;
mod family;
mod ioctl;
mod netdev;
mod sockets;

pub use ethtool::{
    Channels, Coalescing, Ethtool, Features, HashFunction, RingSizes, StampedPackets, TimeStamping,
};
pub use ioctl::{Driver, Gro};
pub use netdev::{NapiInstance, NetDevices, XdpAbilities};
pub use sockets::{FoundSocket, SocketProtocol, SocketTable};
