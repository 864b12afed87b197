//! What a filter asks, as values, conditions and a control-flow graph, and the passes over it.

pub(crate) mod condition;
mod expand;
mod fold;
mod given;
mod group;
mod knowledge;
pub(crate) mod nodes;
mod run;
pub mod sets;
mod thread;
pub(crate) mod values;
mod variables;
mod widen;

pub(crate) use expand::expand;
pub(crate) use fold::fold;
pub(crate) use given::given;
pub(crate) use group::group;
pub(crate) use run::run;
pub(crate) use thread::thread;
pub(crate) use variables::settle;
pub(crate) use widen::widen;
