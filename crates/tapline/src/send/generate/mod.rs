//! Generated packets, as a source for [`Sender::run`](super::Sender::run).
//!
//! ```text
//! Generator ─▶ Template: one frame ─▶ copied into the queue ─▶ fields of the flow, length, stamp, checksums
//!              Flows: values of the fields, computed from the flow's number
//! ```

mod defaults;
mod error;
mod flows;
mod generator;
mod kind;
mod template;
mod values;

pub use error::GeneratorError;
pub use generator::Generator;
pub use kind::{PacketKind, VxlanTunnel};
pub use values::{Addresses, Ports, Sizes, ValuesError};
