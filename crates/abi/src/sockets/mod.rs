//! Sockets, their packets and their time stamps.

pub mod datagram;
pub mod open_socket;
pub mod packet;
pub mod socket;
pub mod timestamp;
pub mod xdp;
