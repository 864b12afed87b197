//! Execution engines for filters, and random filters and packets to compare them on.
//!
//! An [`Engine`] is one filter in one execution engine: one of our back ends, libpcap's interpreter, or the kernel.
//! [`Subject`] compiles one expression for all of them, runs them on packets and reports differences. A difference
//! either belongs to a known [`Class`] or is a bug.
//!
//! [`text`] and [`packets`] generate filters and packets from one pool of numbers, so that filters match often.
//! Everything is derived from a seed, so a difference can be reproduced.

mod compare;
mod corpus;
mod engine;
mod kernel;
mod libpcap;
mod machine;
mod minimise;
mod packet;
pub mod packets;
mod pool;
mod random;
mod tally;
mod test_run;
pub mod text;

pub use compare::{Class, Compiled, Difference, Subject};
pub use corpus::{Corpus, expressions};
pub use engine::Engine;
pub use kernel::KernelSocket;
pub use libpcap::{Libpcap, SNAPLEN};
pub use machine::{End, Missing, Outcome, Rules, trace, trace_with};
pub use minimise::{differs, minimise};
pub use packet::Packet;
pub use random::Random;
pub use tally::{Campaign, Tally};
pub use test_run::KernelTestRun;
