//! Programs that count the packets and bytes of classes and pass all packets.
//!
//! ```text
//! prologue ─▶ size ─▶ key ─▶ dispatch ─┬▶ TCP over IPv4: class 0, class 1, … ─┐
//!             packets  group           ├▶ UDP over IPv4: class 0, class 1, … ─┼▶ pass
//!             and bytes key            ├▶ …                                   │
//!                                      └▶ others:        class 0, class 1, … ─┘
//! ```
//!
//! With groups, a class only marks the packet. The code that counts by key follows all kinds of packets, once per class.
//!
//! - [`CountedFilter`]: the filter of a class, compiled for each kind of packet.
//! - [`CountingProgram`]: all classes in one program, or in a chain of programs if they are too long for one; each counts in
//!   a [`ClassSlot`] of [`CounterArray`].
//! - [`KeyField`]: with it, each class also counts by key in a [`CounterTable`](crate::CounterTable).
//!
//! - [`StreamTable`]: with it, stamped packets also count by stream: loss, order, copies and one-way delay.
//!
//! A GSO or GRO packet counts as the packets that it is on the wire, with the bytes of each including headers. Their
//! number comes from `struct __sk_buff` and the headers. For tunnels, only the outer headers are counted for each packet.

mod class;
mod code;
mod counters;
mod decode;
mod key;
mod marks;
mod program;
mod section;
mod size;
mod stamps;
mod stream_table;
mod tally;

/// Largest number of classes of a program with groups.
pub const MOST_CLASSES: usize = 256;

pub use class::{CountedFilter, WrittenFilter};
pub use counters::CounterArray;
pub use key::{GROUP_KEY_BYTES, KeyField};
pub use program::{CountedClass, CountingOptions, CountingProgram};
pub use section::CountingHook;
pub use size::Overhead;
pub use stream_table::{OtherStamped, StreamMaps, StreamRecord, StreamTable};
pub use tally::{COUNTERS_PER_SLOT, ClassSlot};
