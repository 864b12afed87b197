//! Which packets somebody wants to see.
//!
//! [`classic`] holds classic BPF programs: read from the decimal form that `tcpdump -ddd` prints,
//! checked by the kernel's rules, run on packets, listed for people. A [`classic::Program`] is
//! always one that the kernel accepts, so nothing downstream checks again.
//!
//! A [`Filter`] is a text in the language of pcap-filter(7), understood for the packets of one
//! [`LinkType`]; its back ends make programs of it.
//!
//! [`ebpf`] holds typed eBPF instructions, and writes filters in them for XDP and tc.
//!
//! No I/O: text and packet bytes are passed in.

// `native` alone calls code that it made.
#![deny(unsafe_code)]

mod caret;
pub mod classic;
mod compile;
pub mod ebpf;
mod emit;
mod error;
mod explain;
mod filter;
mod graph;
mod language;
mod link;
mod listing;
mod lower;
mod names;
#[allow(unsafe_code, reason = "what Cranelift wrote is called by its address")]
pub mod native;
mod options;
mod warnings;

pub use compile::compile;
pub use error::{FilterError, Reason};
pub use explain::{Explanation, Outcome, TermOutcome};
pub use filter::{Filter, MAX_TEXT};
pub use graph::sets::{MOST_WORDS, Set, SetId};
pub use link::LinkType;
pub use listing::{DotListing, GraphListing, TreeListing};
pub use names::{Names, NoNames, Transport};
pub use options::{At, Families, Options};
pub use warnings::Warning;
