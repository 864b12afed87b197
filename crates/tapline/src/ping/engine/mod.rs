//! The engine of a run: sends probes when they are due, and receives and counts replies.

mod open;
mod receive;
mod reply_batcher;
mod run_loop;
mod state;
mod tx_timestamps;

pub(super) use open::{probe_plan, require_memory};
pub(super) use run_loop::EngineState;
pub(super) use state::Engine;
