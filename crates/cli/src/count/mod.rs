//! `tapline count`.
//!
//! ```text
//! Count::next_event ─▶ IntervalSum: the intervals of one report ─▶ Figures ─▶ Reporter: JSON, CSV, lines
//!          ├──▶ metrics, after every interval                                or a live table
//!          └──▶ link changes ────────────────────────────────────────▶ standard error, or JSON
//! ```

mod csv;
mod failure;
mod figures;
mod job;
mod json;
mod lines;
mod live;
mod reporter;
mod setup;
mod start;
mod summary;

pub use job::run;
