//! Counting: what is counted, by which classes and keys, and when.

mod changes;
mod ends;
mod exact;
mod groups;
mod leaks;
mod offload;
pub mod stamps;
