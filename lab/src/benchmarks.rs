//! What the benches measured: the files that they write, and the part of `docs/benchmarks.md` that is generated from
//! them.
//!
//! Each bench writes `target/bench/NAME.json`. The bench `report` copies these files to `docs/benchmarks` and updates the
//! document. A test compares the document with the copied files.

mod document;
mod figures;

pub use document::{picture, update};
pub use figures::{Cell, Column, Figures, Measurements, Row, Run, Spread};
