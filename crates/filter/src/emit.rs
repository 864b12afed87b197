//! Graph to classic BPF.

mod block;
mod layout;
mod opcodes;
mod registers;
mod select;
mod tidy;

use crate::classic::{MAX_INSTRUCTIONS, Program};
use crate::error::Reason;
use crate::graph::nodes::Graph;
use crate::graph::values::Values;

/// The program that gives `snaplen` for packets that `graph` accepts and 0 for others.
pub(crate) fn emit(graph: &Graph, values: &mut Values, snaplen: u32) -> Result<Program, Reason> {
    let (mut blocks, root) = select::select(graph, values, snaplen)?;
    tidy::drop_dead_stores(&mut blocks);
    let (blocks, root) = tidy::share(blocks, root);
    let instructions = layout::lay_out(&blocks, root);
    let count = instructions.len();
    if count > MAX_INSTRUCTIONS {
        return Err(Reason::TooManyInstructions { count });
    }
    // What is written keeps the kernel's rules, but for the length.
    Program::new(instructions).map_err(|_| Reason::TooManyInstructions { count })
}
