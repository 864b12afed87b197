//! `tapline read` and `tapline index`.

mod anonymize;
mod convert;
mod copied_blocks;
mod damage;
mod edit;
mod filter;
mod index;
mod lines;
mod order;
mod packet_lines;
mod pipes;
mod rotation;
mod summary;
