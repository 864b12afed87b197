//! The server's side: who may connect, the session of a client, and what opens its captures.

mod access;
mod counters;
mod listener;
mod opener;
mod running;
mod session;

pub use access::{Access, LocalUsers, Password, PasswordError};
pub use counters::ServerCounters;
pub use listener::{Client, Listener};
pub use opener::{Opener, OpenerClient};
pub use running::SessionReport;
pub use session::{Session, SessionEnd};
