//! `tapline ping --backend xdp`.

mod errors;
mod forms;
mod refusals;
mod runs;
