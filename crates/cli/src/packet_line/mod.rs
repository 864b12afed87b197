//! Prints a packet as one line of text or JSON.
//!
//! Both forms consist of numbers, fixed words and escaped text: no control character of a packet or a
//! capture file reaches the terminal. Neither allocates once `out` has the length of a line.

mod json;
mod printer;
mod text;

#[cfg(test)]
mod tests;

pub use json::write_json;
pub use printer::Printer;
pub use text::{LineOptions, write_line};
