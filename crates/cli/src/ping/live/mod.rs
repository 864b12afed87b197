//! `--live`: a table of the targets, redrawn in place.
//!
//! ```text
//! events ─▶ Recent: the latest round trips of each ─┐
//! statistics ─▶ Order: which come first ────────────┴─▶ Table: lines that fit the window ─▶ Canvas
//! ```

mod order;
mod recent;
mod reporter;
mod table;
#[cfg(test)]
mod tests;

pub use reporter::LiveTable;
