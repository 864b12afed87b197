//! Many changes in few system calls, with an answer for each.

mod collect;
mod outcome;
mod undo;

pub use collect::{Batch, OnError};
pub use outcome::{ItemResult, Outcome};
