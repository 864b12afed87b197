//! Prints a packet as one line of text or JSON.
//!
//! Both forms consist of numbers, fixed words and escaped text: no control character of a packet or a
//! capture file reaches the terminal. Neither allocates once `out` has the length of a line.

mod addresses;
mod buffer;
mod details;
mod dump;
mod headers;
mod json;
mod nested;
mod options;
mod printer;
mod text;
mod time;

#[cfg(test)]
mod tests;

pub use options::LineOptions;
pub use printer::Printer;
