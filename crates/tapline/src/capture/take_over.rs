//! Rings that took over from others.

use std::sync::Arc;

use bpf::Intake;

use super::source::Source;

/// What an interface's packets come into from now on.
#[derive(Debug)]
pub(super) struct TakenOver {
    /// One for each of its lanes, in their order.
    pub sources: Vec<Source>,
    /// The program that fills them, where that is another one, too.
    pub intake: Option<Arc<Intake>>,
}
