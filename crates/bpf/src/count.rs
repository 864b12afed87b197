//! Programs that count the packets and bytes of classes, and pass all packets on.
//!
//! ```text
//! prologue ─▶ size ─▶ key ─▶ sort ─┬▶ TCP over IPv4: class 0, class 1, … ─┐
//!             packets  what           ├▶ UDP over IPv4: class 0, class 1, … ─┼▶ pass on
//!             and bytes groups are by ├▶ …                                   │
//!                                     └▶ others:        class 0, class 1, … ─┘
//! ```
//!
//! With groups, a class only notes that it takes the packet; behind all kinds of packets stands once for
//! each class the code that counts by key.
//!
//! - [`CountedFilter`] is the filter of a class as code for each kind of packet that is told apart.
//! - [`CountingProgram`] puts the classes together; each counts in a [`Slot`] of [`CounterArray`].
//! - With a [`KeyField`], each class also counts by key in a [`CounterTable`](crate::CounterTable).
//!
//! A packet that the kernel handles as one and that is several on the wire (GSO, GRO) counts as those,
//! and its bytes as theirs, each with its headers. What is known of that is in `struct __sk_buff` and
//! in the headers: of packets in tunnels only the outer headers are counted anew for each.

mod class;
mod code;
mod counters;
mod decode;
mod key;
mod marks;
mod program;
mod section;
mod size;
mod tally;

/// Most classes of a program with groups.
pub const MOST_CLASSES: usize = 256;

pub use class::{CountedFilter, WrittenFilter};
pub use counters::CounterArray;
pub use key::{GROUP_KEY_BYTES, KeyField};
pub use program::{CountedClass, CountingOptions, CountingProgram};
pub use section::CountingPlace;
pub use size::Overhead;
pub use tally::{COUNTERS_PER_SLOT, Slot};
