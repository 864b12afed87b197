//! What is particular to each kind of link: a file for each.

mod bareudp;
mod bond;
mod bridge;
mod gre;
mod ip_tunnel;
mod kinds;
mod macvlan;
mod netkit;
mod tun;
mod tunnel;
mod vlan;
mod vrf;
mod vxlan;
mod xfrm;

pub use bareudp::*;
pub use bond::*;
pub use bridge::*;
pub use gre::*;
pub use ip_tunnel::*;
pub(super) use kinds::{KindSettings, deserialize_settings, kinds};
pub use macvlan::*;
pub use netkit::*;
pub use tun::*;
pub use tunnel::*;
pub use vlan::*;
pub use vrf::*;
pub use vxlan::*;
pub use xfrm::*;
