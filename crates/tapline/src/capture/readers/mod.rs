//! Several readers of the same interfaces: each on a CPU of its own, with a share of the rings, and one file.
//!
//! ```text
//! ring 0 ─▶ reader 0: filters, encodes ─▶ chunks ┐
//! ring 1 ─▶ reader 1: filters, encodes ─▶ chunks ┼─▶ merger ─▶ one file, in the order of the time stamps
//! ring 2 ─▶ reader 2: filters, encodes ─▶ chunks ┘
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `options` | how many readers, on which CPUs, how the kernel distributes packets |
//! | `pinning` | interrupts on the CPUs of their readers |
//! | `open` | the rings of each reader |
//! | `parallel` | starting the readers and merging, [`ParallelCapture`] |
//! | `interfaces` | opening an interface for all readers of a running capture |
//! | `channel` | a reader: from its rings into chunks, and up to which time it has delivered everything |
//! | `merger` | the thread that writes |
//! | `decoded` | merged packets for a consumer that takes them one by one |
//! | `files` | a file for each reader instead of one |
//! | `summary` | the accounts of the readers as one |

mod channel;
mod decoded;
mod files;
mod interfaces;
mod merger;
mod open;
mod options;
mod parallel;
mod pinning;
mod summary;

pub use options::{OpenReader, Queues, ReaderOptions};
pub use parallel::ParallelCapture;
