//! DNS messages, also those of multicast DNS and LLMNR.

mod message;
mod name;
mod record;

pub use message::{Dns, DnsFlags};
pub use name::DnsName;
pub use record::{DnsQuestion, DnsRecord, DnsSection, DnsType};
