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
//! A round trip ends with the kernel's time stamp of the answer, whenever that is read. It begins when the
//! driver takes the probe, as long as asking for that costs less than sending: by raw and ping sockets, up to 20 000
//! probes a second, it is asked for each, or where more than 64 gather ([`Options::gather`]) for the first four of
//! each group, which take long to leave. Otherwise it begins by this program's clock just before the system call.
//! [`Outcome`] has how many were timed in which way.
//!
//! ```no_run
//! use std::time::Duration;
//! use tapline::Stop;
//! use tapline::ping::{Event, Options, Pinger};
//! use tapline::probe::Prober;
//! use tapline::probe::targets::Targets;
//!
//! let targets = Targets::from(std::net::IpAddr::from([192, 0, 2, 1]));
//! let options = Options { count: Some(5), timeout: Duration::from_millis(500), ..Options::default() };
//! let pinger = Pinger::open(targets, &options)?;
//! let outcome = pinger.run(&mut |_: &Event<'_>, _: &Prober| (), &Stop::new()?);
//! let counts = outcome.prober.total();
//! assert_eq!(counts.sent, counts.received + counts.lost + counts.late + counts.errors);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answers;
mod channel;
mod damage;
mod departures;
mod error;
mod event;
mod filter;
mod forecast;
mod interface;
mod neighbours;
mod once;
mod opening;
mod options;
mod outcome;
mod pinger;
mod ring;
mod setup;
mod stamping;
mod unread;
mod work;

pub use error::{PingError, Step};
pub use event::{Event, Observer};
pub use forecast::forecast;
pub use once::ping_once;
pub use options::{Backend, Options};
pub use outcome::{Ended, LocalDrops, Outcome};
pub use pinger::{Pinger, State};
