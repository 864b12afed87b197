//! `--live`: what is known of the targets on a terminal, drawn over and over.
//!
//! ```text
//! events ─▶ Recent: the last round trips of each ─┐
//! Prober ─▶ Order: who comes first ─▶ Row ────────┴─▶ View: lines that fit the window ─▶ Canvas
//! ```

mod order;
mod recent;
mod row;
mod teller;
mod view;

#[cfg(test)]
mod tests;

pub use teller::Live;
