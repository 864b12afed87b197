//! Captures with several readers.

mod choice;
pub mod files;
mod packet_ids;
mod recorder;
mod stopped;
