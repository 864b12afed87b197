//! A compiler for packet filters in the language of pcap-filter(7).
//!
//! A [`Filter`] is a text, compiled for the packets of one [`LinkType`] and for one [`FilterTarget`]. Its
//! back ends turn it into classic BPF, eBPF or native code, or interpret it.
//!
//! ```text
//! language/   text → tokens → syntax tree
//! lower/      syntax tree → conditions on packet bytes, for one link type
//! graph/      conditions, sets, control-flow graph in SSA form, and the passes over them:
//!     group_alternatives → lists_to_sets → (graph) → jump_threading → dead_variables
//! backend/    classic/  classic BPF for sockets (sets become comparisons)
//!             ebpf/     XDP and tc programs (sets become maps)
//!             native/   machine code by Cranelift, for readers of rings and files
//!             interpreter, the reference
//! ```
//!
//! Beside the compiler: [`classic`] reads, checks, runs and lists classic BPF programs of any origin;
//! [`Filter::warnings`], [`Filter::explain`] and the listings show people what a filter does.
//!
//! Two words are tapline's own: `any` and `inner` search the layers of a packet behind VLAN tags, MPLS labels, IPv6 extension
//! headers and tunnels (`any port 80`, `inner host 10.0.0.1`). They pass at most 2 tunnels, and in each layer 4 VLAN tags,
//! 8 MPLS labels and 6 extension headers. All other texts have the meaning of pcap-filter(7).
//!
//! The crate does no I/O: text and packet bytes are arguments.

// Only `native` calls code that it generated.
#![deny(unsafe_code)]

mod backend;
pub mod classic;
mod error;
mod explain;
mod filter;
mod graph;
mod language;
mod link_type;
mod link_type_names;
mod listing;
mod lower;
mod names;
mod options;
mod required_keys;
mod warnings;

pub use backend::{ebpf, native};
pub use error::{FilterError, FilterErrorReason};
pub use explain::{ExplainedTerm, Explanation, TermResult};
pub use filter::{Filter, MAX_TEXT_BYTES, check_syntax, compile};
pub use graph::sets::{MAX_KEY_WORDS, Set, SetId};
pub use language::similar::similar_word;
pub use link_type::LinkType;
pub use listing::{DotListing, GraphListing, TreeListing};
pub use names::{NameResolver, NoNames, Transport};
pub use options::{DEFAULT_SNAPLEN, FilterOptions, FilterTarget, LoopbackFamilies};
pub use required_keys::{RequiredKeys, required_keys};
pub use warnings::warning::FilterWarning;
