//! Reading and writing capture files: pcapng and pcap.
//!
//! [`model`] defines packets, interfaces and statistics for both formats. Writers encode them into
//! blocks; readers lend them from the file.

#![forbid(unsafe_code)]

pub mod block;
mod byte_order;
pub mod index;
pub mod model;
pub mod output;
pub mod read;
pub mod write;
