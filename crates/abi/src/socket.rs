//! Packet sockets and their options.
