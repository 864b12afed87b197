//! The program `tapline`.
fn main() {}
