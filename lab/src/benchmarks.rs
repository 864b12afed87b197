//! The figures of the benches, and the parts of `docs/benchmarks.md` and `README.md` that are generated from them.
//!
//! Each bench writes `target/bench/NAME.json`. The bench `report` copies these files to `docs/benchmarks` and updates both
//! documents. Tests compare the documents with the copied files.

mod document;
mod figures;
mod readme;

pub use document::{picture, update};
pub use figures::{Cell, Column, Figures, Measurements, Row, Run, Spread};
pub use readme::update_readme;
