//! `tapline demo`.
//!
//! ```text
//!   left ──────── veth ──────── right
//!   sends, is answered          is captured on ──▶ demo.pcapng
//!   its counters say what       the file says what
//!   was sent               ══?══     was stored
//! ```
//!
//! Both hosts are network namespaces of this process, so they end with it. Every wait has a deadline
//! and ends early at a signal; the file has a place of its own until it is finished.

mod compare;
mod hosts;
mod job;
mod kind;
mod patience;
mod place;
mod privileges;
mod recording;
mod screen;
mod table;
mod traffic;

pub use job::run;
