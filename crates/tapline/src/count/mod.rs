//! Counts packets and bytes of named classes in the kernel, without copying packets.
//!
//! ```
//! use std::time::Duration;
//!
//! let count = tapline::count("lo").class("web", "tcp port 443")?.interval(Duration::from_millis(50));
//! let mut count = count.duration(Duration::from_millis(150)).open()?;
//! while let Some(interval) = count.next()? {
//!     println!("{} packets", interval.classes[0].traffic.packets);
//! }
//! println!("{}", count.finish()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//! ingress: driver ─▶ XDP program ─▶ stack        one program counts all classes
//! egress:  stack ─▶ tc program ─▶ qdisc, driver  counters: per CPU, 64 bits, never reset
//! ```
//!
//! [`CountBuilder::open`] attaches a program to each interface and direction, which counts from then on.
//! [`Count::next`] waits for the end of an interval and returns the difference to the previous one.
//! [`Count::next_event`] also reports interfaces that go down or come up. [`Count::read`] returns the totals
//! at any time. [`Count::add_class`] and [`Count::remove_class`] replace the program while packets flow:
//! each packet is counted by the old or by the new one.
//!
//! With [`CountBuilder::streams`] the program also derives loss, reordering, duplication and one-way delay from stamped
//! packets, such as those that [`send`](mod@crate::send) generates. [`StreamCounter`] does the same for packets that were
//! captured.
//!
//! Super-packets (GRO, GSO) count as the packets that they are on the wire. Filters mean the same as in
//! [`capture`](mod@crate::capture), in both directions and at every [`CountHook`]: VLAN tags are metadata.

mod attach;
mod builder;
mod classes;
#[expect(clippy::module_inception, reason = "the file of the type Count")]
mod count;
mod error;
mod figures;
mod group_key;
mod groups;
mod links;
mod options;
mod point;
mod point_counter;
mod schedule;
mod snapshot;
mod streams;

pub use attach::{filters_outlive_process, remove_leftover_filters};
pub use bpf::{LoadError, TcAttachError, XdpAttachError, XdpAttachMode, XdpMode};
pub use builder::{CountBuilder, count};
pub use count::{Count, CountEvent};
pub use error::CountError;
pub use figures::{
    ClassInterval, ClassTotals, CountEnd, CountInterval, CountSummary, CountTotals, Group, Traffic,
};
pub use group_key::{GroupBy, GroupKey};
pub use links::{CountedLink, LinkState};
pub use options::{CountClass, CountDirection, CountLayer, CountOptions, IngressHook};
pub use point::{CountHook, CountPoint, FallbackReason, PacketDirection};
pub use streams::{STAMP_FILTER, StreamCounter, StreamFigures, StreamTotals};
