//! Sockets and rings: opening, filters, sending, receiving, and drop counters.

mod checksum_errors;
mod family;
mod filter;
mod packet_ring;
mod rx_timestamps;
mod setup;

pub(super) use family::{Destination, Dropped, FamilySocket};
pub(super) use filter::RingScope;
pub(super) use packet_ring::{open_packet_ring, parse_packet};
pub(super) use rx_timestamps::stamps_on_arrival;
pub(super) use setup::{SocketSetup, reply_bytes};
