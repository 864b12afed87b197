//! Rings of packet sockets (TPACKET_V2 and V3).

mod delivery;
mod fanout;
mod filter;
mod loss;
mod offload;
mod open;
mod receive;
mod relay;
mod share;
mod tunnel;
mod vlan;
