//! Graph to eBPF.
//!
//! A node becomes a comparison and a jump. Values are computed where they are needed and stay in a
//! register until that is needed for another; what registers hold, and how much of the packet has been
//! found to be there, is followed along all ways.

mod member;
mod packet;
mod registers;
mod survey;
mod value;
mod writer;

pub(super) use writer::{Source, write};
