//! What a process may do: namespaces, users, Landlock, seccomp.

pub mod landlock;
pub mod namespace;
pub mod seccomp;
#[cfg(debug_assertions)]
#[doc(hidden)]
pub mod takeover;
pub mod user;
