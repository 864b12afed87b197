//! Ping: many targets asked over one socket, every probe accounted for.
//!
//! ```text
//! Targets, Options ─▶ Pinger ─▶ events: sent, answer, lost …   ─▶ Observer
//!                       │  ▲
//!                 echo  ▼  │  answers, by a filter in the kernel, with its time stamps
//!                     sockets of a Backend
//! ```
//!
//! [`Pinger::run`] blocks until the run is over; [`Pinger::on_readable`] does what is due and returns,
//! for whoever has an event loop. What is to be known of the run is in its [`Prober`](probe::Prober);
//! the [`Outcome`] adds what became of this host's part. [`ping_once`] asks one host once.
//!
//! A round trip is taken from this program's clock just before the probe is sent to the kernel's time
//! stamp of the answer, so it holds the way of a packet through the kernel, and no waiting for a reader.

mod channel;
mod error;
mod event;
mod filter;
mod neighbours;
mod once;
mod options;
mod outcome;
mod pinger;
mod work;

pub use error::{PingError, Step};
pub use event::{Event, Observer};
pub use once::ping_once;
pub use options::{Backend, Options};
pub use outcome::{Ended, LocalDrops, Outcome};
pub use pinger::{Pinger, State};
