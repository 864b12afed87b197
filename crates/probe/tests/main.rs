//! Tests of this crate: one program, one module for each subject.

mod support;

mod answers;
mod errors;
mod limits;
mod memory;
mod model;
mod packets;
mod room;
mod scale;
mod schedule;
mod targets;
