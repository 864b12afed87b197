//! Count: packets and bytes of named classes, counted in the kernel, nothing copied.
//!
//! ```text
//! in:  driver ─▶ XDP program ─▶ stack          classes: one program holds all of them
//! out: stack ─▶ tc program ─▶ queue, driver    counters: per CPU, 64 bits, never reset
//! ```
//!
//! [`Count::open`] puts a program on each interface and direction; from then on it counts.
//! [`Count::next`] sleeps until an interval is over and gives the difference to the one before
//! ([`Interval`]), or until an interface goes down or comes up again, [`Count::read`] gives the totals at any moment, [`Count::run`] does all of it until
//! a limit or a [`Stop`](crate::Stop). [`Count::add_class`] and [`Count::remove_class`] change what is
//! counted while packets flow: each packet is counted by the old program or by the new one.
//!
//! A packet is one on the wire: what the kernel handles as one and sends or received as several
//! counts as those. A filter means what it means to [`capture`](crate::capture), in both directions
//! and at every [`Hook`]: a VLAN tag is beside the bytes.

mod attach;
mod class;
mod classes;
mod error;
mod groups;
mod interval;
mod job;
mod key;
mod lane;
mod links;
mod options;
mod outcome;
mod place;
mod reading;
mod target;
mod waiting;

pub use bpf::XdpPlace;
pub use class::Class;
pub use error::CountError;
pub use interval::{ClassInterval, ClassTotals, Group, Interval, Snapshot, Tally};
pub use job::Count;
pub use key::{GroupKey, Key};
pub use links::{CountedLink, LinkState};
pub use options::{Direction, Ingress, Layer, Options};
pub use outcome::{Ended, Outcome};
pub use place::{Hook, Place, Reason, Way};
pub use waiting::Event;
