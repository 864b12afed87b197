//! A netlink message in words: what each of its bytes means.

mod explanation;
mod header;
mod known;
mod value;

pub use explanation::{Explanation, Line, explain};

#[cfg(test)]
mod tests;
