//! Capture files: pcapng and pcap, written and read.
//!
//! [`model`] holds what both formats speak about: packets, interfaces, statistics. Writers turn it
//! into blocks, readers hand it out borrowed from the file. The room knows nothing of interfaces of
//! the machine, of rings or of screens.

#![forbid(unsafe_code)]

pub mod model;
pub mod read;
pub mod write;
