//! IP addresses of interfaces.

mod broadcast;
mod header;
mod lifetime;
mod object;
mod scope;
mod verbs;
mod words;

pub use broadcast::Broadcast;
pub use lifetime::Lifetime;
pub use object::{Addr, AddrProtocol};
pub use scope::Scope;
