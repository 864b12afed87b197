//! Filters: their text, their programs, and the packets they match.

mod file;
mod forms;
mod match_all;
mod packets;
mod tunnels;
