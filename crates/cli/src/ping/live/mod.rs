//! `--live`: a screen with a table of the targets, and plots of round trips and rates.
//!
//! ```text
//! events ─▶ Recent: the latest round trips of each ─┐
//! statistics ─▶ Order: which come first ────────────┴─▶ Table and Plots: what fits the window ─▶ Screen
//! ```

mod order;
mod plots;
mod recent;
mod reporter;
mod table;
#[cfg(test)]
mod tests;

pub use reporter::LiveTable;
