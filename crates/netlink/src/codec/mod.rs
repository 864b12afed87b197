//! Netlink's bytes: messages, attributes and the kernel's refusals, read and built.
//!
//! ```text
//!  0               16                                             length, filled up to 4
//!  ┌───────────────┬──────────────┬───────────┬───────────┬──┄┄──┐
//!  │ message header│ fixed header │ attribute │ attribute │      │ next message …
//!  └───────────────┴──────────────┴───────────┴───────────┴──┄┄──┘
//!   length    u32                  length u16, type u16 (2 flags, 14 bits), payload, filled up to 4
//!   type, flags u16
//!   sequence, port u32
//! ```
//!
//! Numbers are in the machine's byte order unless an attribute says otherwise. Readers take any
//! bytes: they never panic, allocate nothing, and either advance or end. What they cannot read they
//! report as [`Malformed`], with its place.

mod attribute;
mod malformed;
mod message;
mod refusal;
mod request;

pub use attribute::{Attribute, Attributes, attributes};
pub use malformed::Malformed;
pub(crate) use malformed::split;
pub(crate) use message::HEADER_BYTES;
pub use message::{Message, Messages, messages};
pub use refusal::Refusal;
pub use request::Request;

#[cfg(test)]
mod tests;
