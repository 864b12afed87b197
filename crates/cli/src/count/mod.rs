//! `tapline count`.
//!
//! ```text
//! Count::next_event ─▶ IntervalSum: the intervals of one report ─▶ Figures ─▶ Reporter: JSON, CSV, lines
//!          ├──▶ metrics, after every interval                                or a live table
//!          └──▶ link changes ────────────────────────────────────────▶ standard error, or JSON
//! ```
//!
//! `--by stamp` prints the figures of streams instead (`streams`). Where the kernel cannot count them, a capture delivers
//! packets with stamps to a `StreamCounter` (`captured_streams`).

mod captured_streams;
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
mod streams;
mod summary;

use crate::args::{CountArgs, Split};
use crate::failure::{Exit, Failure};

pub fn run(args: &CountArgs) -> Result<Exit, Failure> {
    match args.by {
        Some(Split::Stamp) => streams::run(args),
        Some(Split::Key(_)) | None => job::run(args),
    }
}
