//! What is particular to each kind of link: a file for each.

mod bridge;
mod info;
mod kinds;
mod veth;
mod vlan;

pub use bridge::Bridge;
pub use info::LinkInfo;
pub use kinds::LinkKind;
pub use veth::Veth;
pub use vlan::Vlan;
