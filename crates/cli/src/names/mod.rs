//! Names in filters: what the files of this machine and its resolver know.

mod builtin;
mod files;
mod system;

pub use system::System;
