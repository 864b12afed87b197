//! Name resolution for filters: the files in `/etc`, the resolver, and a built-in list.

mod builtin;
mod files;
mod system;

pub use system::SystemNames;
