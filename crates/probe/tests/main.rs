//! All tests of this crate in one program, with one module per subject.

mod support;

mod answers;
mod changes;
mod errors;
mod limits;
mod memory;
mod memory_forecast;
mod model;
mod packets;
mod paths;
mod scale;
mod schedule;
mod settings;
mod targets;
