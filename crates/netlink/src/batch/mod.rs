//! Many changes in few system calls, with a result for each.

mod chunk;
mod collector;
mod undo;

pub use collector::{Batch, BatchSummary, ItemResult, OnError};
