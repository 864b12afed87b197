//! The C library of tapline: a shim over the crate `tapline`.
//!
//! `include/tapline.h` is generated from the exported functions here and states the rules that C code keeps. Nothing
//! in this crate does a job itself:
//!
//! | file | |
//! |---|---|
//! | `status`, `failure`, `error` | how a call ends |
//! | `handle` | names of objects, which C code may use wrongly without harm |
//! | `guard` | panics become errors |
//! | `arguments` | the only place that follows the caller's pointers |
//! | `expression` | filters as text, for all jobs |
//!
//! The other files are one job each.

#![expect(non_camel_case_types, reason = "exported types carry their names of C")]
#![expect(
    clippy::missing_safety_doc,
    reason = "all functions ask the same of their callers: the rules at the top of `tapline.h`"
)]

mod arguments;
mod capture;
mod capture_options;
mod catch;
mod count;
mod cursor;
mod delays;
mod doctor;
mod error;
mod expression;
mod failure;
mod filter;
mod generate;
mod guard;
mod handle;
mod namespace;
mod netlink;
mod packet;
mod ping;
mod ping_options;
mod reader;
mod send;
mod status;
mod version;
mod writer;

pub use capture::*;
pub use capture_options::{
    tapline_backend, tapline_capture_direction, tapline_capture_mode, tapline_capture_options,
    tapline_delivery, tapline_xdp_mode,
};
pub use count::*;
pub use cursor::tapline_cursor;
pub use delays::tapline_delays;
pub use doctor::*;
pub use error::*;
pub use filter::*;
pub use generate::*;
pub use netlink::*;
pub use packet::*;
pub use ping::*;
pub use ping_options::{tapline_family, tapline_ping_options};
pub use reader::*;
pub use send::*;
pub use status::*;
pub use version::*;
pub use writer::*;
