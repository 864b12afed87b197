//! Configuration changes of a running capture.

mod memory;
mod rings;
