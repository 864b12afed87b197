//! The doctor: what it finds, on an interface and on a host.

mod faults;
mod machine;
mod programs;
