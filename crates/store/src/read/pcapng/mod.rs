//! The pcapng format: sections of blocks.
//!
//! `decoder` goes from block to block; `packet` and `descriptions` decode the blocks' contents. Blocks
//! with names, secrets, custom data and unknown types are skipped.
//!
//! # Source
//! draft-ietf-opsawg-pcapng.

mod block;
mod decoder;
mod descriptions;
mod packet;
mod scan;

pub(in crate::read) use decoder::{Pcapng, begins_section};
