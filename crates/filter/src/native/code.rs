//! Cranelift's side of native code.

mod decide;
mod footprint;
mod make;
mod need;
mod plan;
mod search;
mod state;
mod tables;
mod value;
mod walk;
mod writer;

pub(super) use make::make;
