//! Captures with several readers.

mod choice;
pub mod files;
mod recorder;
mod stopped;
