//! The intermediate representation: values, conditions, sets, the control-flow graph, and the passes.

pub(crate) mod assumptions;
pub(crate) mod condition;
pub(crate) mod control_flow;
pub(crate) mod passes;
pub(crate) mod sets;
pub(crate) mod values;
