//! `tapline count`.
//!
//! ```text
//! Count::run ─▶ Gather: as many intervals as one telling has ─▶ Figures ─▶ Teller: JSON, CSV, lines
//!          └──▶ metrics, at every interval                                  or a live table
//! ```

mod csv;
mod failure;
mod figures;
mod gather;
mod job;
mod json;
mod lines;
mod live;
mod setup;
mod spark;
mod start;
mod summary;
mod table;
mod teller;

pub use job::run;
