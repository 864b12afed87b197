//! What a process may do: namespaces, users, Landlock, seccomp.

#[cfg(debug_assertions)]
#[doc(hidden)]
pub mod attacker;
pub mod landlock;
pub mod namespace;
pub mod seccomp;
pub mod user;
