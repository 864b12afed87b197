//! Probes and answers as bytes.

mod echo;
mod read;

pub use echo::EchoMessage;
pub use read::{read_icmpv4, read_icmpv6, read_ipv4, read_ipv6};
