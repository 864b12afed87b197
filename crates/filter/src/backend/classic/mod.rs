//! Graph to classic BPF.

mod blocks;
mod layout;
mod select;

use crate::classic::{ClassicProgram, MAX_INSTRUCTIONS, MAX_USER_INSTRUCTIONS};
use crate::error::{FilterError, FilterErrorReason};
use crate::filter::Filter;
use crate::graph::control_flow::Graph;
use crate::graph::passes::expand_sets::{drop_sets, expand_sets};
use crate::graph::values::Values;

impl Filter {
    /// The classic BPF program: it returns [`FilterOptions::snaplen`](crate::FilterOptions::snaplen) for
    /// packets that match and 0 for others. Sets become binary searches by comparisons.
    ///
    /// # Errors
    /// [`FilterErrorReason::TooManyInstructions`] if the program is longer than the kernel allows,
    /// [`FilterErrorReason::TooManyRegisters`] if it needs more scratch memory.
    pub fn classic(&self) -> Result<ClassicProgram, FilterError> {
        self.classic_up_to(MAX_INSTRUCTIONS)
    }

    /// As [`classic`](Self::classic), but with up to [`MAX_USER_INSTRUCTIONS`] instructions: the kernel rejects longer ones
    /// than its limit, and user space can run them.
    ///
    /// # Errors
    /// As [`classic`](Self::classic).
    pub fn classic_for_user_space(&self) -> Result<ClassicProgram, FilterError> {
        self.classic_up_to(MAX_USER_INSTRUCTIONS)
    }

    fn classic_up_to(&self, most: usize) -> Result<ClassicProgram, FilterError> {
        let mut values = self.values.clone();
        let graph = expand_sets(&self.graph, &self.sets, &mut values);
        generate(&graph, &mut values, self.options.snaplen, most)
            .map_err(|reason| FilterError::new(0..self.text.len(), reason))
    }

    /// A shorter classic program for filters that are too long for [`Filter::classic`]. It accepts every
    /// packet that the filter accepts, and more, because it omits the sets.
    pub fn coarse(&self) -> ClassicProgram {
        let mut values = self.values.clone();
        let graph = drop_sets(&self.graph);
        let program = generate(&graph, &mut values, self.options.snaplen, MAX_INSTRUCTIONS);
        program.unwrap_or_else(|_| ClassicProgram::keep(self.options.snaplen))
    }
}

/// The program of at most `most` instructions that returns `snaplen` for packets that `graph` accepts and 0 for others.
fn generate(
    graph: &Graph,
    values: &mut Values,
    snaplen: u32,
    most: usize,
) -> Result<ClassicProgram, FilterErrorReason> {
    let (mut code, root) = select::select(graph, values, snaplen)?;
    blocks::remove_dead_stores(&mut code);
    let (code, root) = blocks::merge_equal_blocks(code, root);
    let instructions = layout::lay_out(&code, root);
    let count = instructions.len();
    if count > most {
        return Err(FilterErrorReason::TooManyInstructions { count });
    }
    // The generated code obeys the kernel's rules, except possibly for its length.
    ClassicProgram::for_user_space(instructions)
        .map_err(|_| FilterErrorReason::TooManyInstructions { count })
}
