//! The library people add: the jobs of tapline, put together from its rooms.
//!
//! [`capture`] takes packets from interfaces to a file or a function, with every packet accounted
//! for; [`count`] has the kernel count packets of named classes, without a copy; [`doctor`] says what
//! spoils that on a machine; [`latency`] measures how soon it has them; [`ping`] asks many hosts for an
//! echo, with every probe accounted for. A job runs in the thread that calls it, sleeps in the kernel while nothing happens, and ends in order when
//! its [`Stopper`] says so. Jobs return values; they never print, log or exit.
//!
//! The rooms are re-exported: their types are part of the jobs' options.

#![forbid(unsafe_code)]

pub mod capture;
pub mod count;
pub mod doctor;
pub mod latency;
pub mod ping;
mod stop;

pub use stop::{Stop, Stopper};
pub use {bpf, filter, netlink, probe, ring, store, wire};
