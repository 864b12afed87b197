//! Encodes and decodes netlink messages, attributes and error replies.
//!
//! ```text
//!  0               16                                             length, padded to 4
//!  ┌───────────────┬──────────────┬───────────┬───────────┬──┄┄──┐
//!  │ message header│ fixed header │ attribute │ attribute │      │ next message …
//!  └───────────────┴──────────────┴───────────┴───────────┴──┄┄──┘
//!   length    u32                  length u16, type u16 (2 flags, 14 bits), payload, padded to 4
//!   type, flags u16
//!   sequence, port u32
//! ```
//!
//! Numbers are in host byte order unless an attribute specifies otherwise. Decoders accept any bytes: they never
//! panic, do not allocate, and always terminate. They report errors as [`Malformed`] with the offset.

mod ext_ack;
mod reader;
mod request;

pub use ext_ack::KernelError;
pub use reader::{Attribute, Attributes, Malformed, Message, Messages, attributes, messages};
pub(crate) use reader::{HEADER_BYTES, split};
pub use request::Request;
pub(crate) use request::{AttributeFault, FaultyAttribute, MAX_ATTRIBUTE_BYTES};

#[cfg(test)]
mod tests;
