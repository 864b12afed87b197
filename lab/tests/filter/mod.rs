//! Filters in every engine.

mod differences;
mod differential;
