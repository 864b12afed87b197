//! Many changes in few system calls, with an answer for each.

mod chunk;
mod collect;
mod outcome;
mod routes;
mod undo;

pub use collect::{Batch, OnError};
pub use outcome::{ItemResult, Outcome};
