//! `tapline count`.
//!
//! ```text
//! Count::next ─▶ Gather: as many intervals as one telling has ─▶ Figures ─▶ Teller: JSON, CSV, lines
//!          ├──▶ metrics, at every interval                                  or a live table
//!          └──▶ links that go down or come up ───────────────────────────▶ standard error, or JSON
//! ```

mod csv;
mod failure;
mod figures;
mod gather;
mod job;
mod json;
mod lines;
mod links;
mod live;
mod rates;
mod setup;
mod start;
mod summary;
mod teller;

pub use job::run;
