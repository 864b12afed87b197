//! Which packets somebody wants to see.
//!
//! [`classic`] holds classic BPF programs: read from the decimal form that `tcpdump -ddd` prints,
//! checked by the kernel's rules, run on packets, listed for people. A [`classic::Program`] is
//! always one that the kernel accepts, so nothing downstream checks again.
//!
//! No I/O: text and packet bytes are passed in.

#![forbid(unsafe_code)]

pub mod classic;
