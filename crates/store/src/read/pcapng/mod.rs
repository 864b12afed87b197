//! The pcapng format: sections of blocks.
//!
//! `walk` goes from block to block, each of the others reads one kind of block. Name resolution,
//! secrets, custom and unknown blocks are passed over.
//!
//! # Source
//! draft-ietf-opsawg-pcapng.

mod block;
mod interface;
mod options;
mod packet;
mod plausible;
mod section;
mod statistics;
mod walk;

pub(in crate::read) use walk::Pcapng;
