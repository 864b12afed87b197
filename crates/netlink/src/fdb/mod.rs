//! Forwarding entries: behind which port, or which remote end, a hardware address is.

mod flush;
mod object;
mod state;
mod verbs;
mod words;

pub use flush::FdbFlush;
pub use object::{Fdb, FdbKey};
pub use state::{FdbFlags, FdbState};
