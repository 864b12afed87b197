//! A packet as one line: for people, or as a JSON object.
//!
//! Both forms are made of numbers, words of ours and escaped text only: whatever a packet or a capture
//! file contains, no control character reaches the terminal. Neither allocates once `out` has grown
//! to the length of a line.

mod json;
mod printer;
mod text;
mod words;

#[cfg(test)]
mod tests;

pub use json::write_json;
pub use printer::Printer;
pub use text::{LineOptions, write_line};
