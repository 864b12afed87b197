//! What a filter asks, as values, conditions and a control-flow graph, and the passes over it.

pub(crate) mod condition;
mod group;
mod knowledge;
pub(crate) mod nodes;
mod thread;
pub(crate) mod values;
mod variables;

pub(crate) use group::group;
pub(crate) use thread::thread;
pub(crate) use variables::settle;
