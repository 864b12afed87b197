//! Engines that a filter can be run in, and filters and packets to compare them on.
//!
//! An [`Engine`] is one filter in something that runs it: our back ends, libpcap's interpreter, the
//! kernel. [`Subject`] puts one text into all of them, asks them about packets and says where they
//! differ; a difference is either of a [`Class`] that is decided and explained, or a bug.
//!
//! [`text`] and [`packets`] make filters and packets at random from one pool of numbers, so that
//! filters match. Everything is derived from a seed, so a difference can be reproduced.

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
