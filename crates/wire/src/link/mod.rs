//! Link layer: Ethernet, VLAN tags, PPP and PPPoE, Cisco HDLC, and the headers of captures on several interfaces.

mod ethernet;
mod linux_sll;
mod ppp;
mod pppoe;
mod vlan;

pub use ethernet::{Ethernet, EthernetFields, MacAddress};
pub use linux_sll::{LinuxSll, LinuxSll2};
pub use ppp::{CiscoHdlc, Ppp, PppControl};
pub use pppoe::{Pppoe, PppoeTag};
pub use vlan::{Vlan, VlanFields};
