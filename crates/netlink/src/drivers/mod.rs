//! What drivers report about links, and their settings.

mod ethtool;
mod family;
mod flow_rule;
mod ioctl;
mod netdev;
mod sockets;
mod steering;

pub use ethtool::{
    Channels, Coalescing, Ethtool, Features, HashFunction, RingSizes, StampedPackets, TimeStamping,
};
pub use flow_rule::{FlowRule, FlowType};
pub use ioctl::{Driver, Gro};
pub use netdev::{NapiInstance, NetDevices, XdpAbilities};
pub use sockets::{FoundSocket, SocketProtocol, SocketTable};
pub use steering::HashSteering;
