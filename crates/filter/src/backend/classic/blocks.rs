//! Basic blocks of classic BPF programs.

use crate::classic::Instruction;
use crate::classic::opcode;
use std::collections::HashMap;

/// A basic block. The successors of a block have lower indexes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Block {
    pub code: Vec<Instruction>,
    pub end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum End {
    Return(u32),
    Goto(usize),
    Branch {
        code: u16,
        k: u32,
        yes: usize,
        no: usize,
    },
}

impl End {
    /// The same end, with `to` applied to its targets.
    pub(super) fn map(self, to: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::Return(verdict) => Self::Return(verdict),
            Self::Goto(next) => Self::Goto(to(next)),
            Self::Branch { code, k, yes, no } => Self::Branch {
                code,
                k,
                yes: to(yes),
                no: to(no),
            },
        }
    }

    /// The targets.
    pub(super) fn targets(self) -> impl Iterator<Item = usize> {
        let (first, second) = match self {
            Self::Return(_) => (None, None),
            Self::Goto(next) => (Some(next), None),
            Self::Branch { yes, no, .. } => (Some(yes), Some(no)),
        };
        first.into_iter().chain(second)
    }
}

/// An instruction other than a conditional jump.
pub(super) fn plain(code: u16, k: u32) -> Instruction {
    Instruction {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

/// Removes stores to words of scratch memory that nothing reads.
pub(super) fn remove_dead_stores(blocks: &mut [Block]) {
    let mut read = 0u32;
    for instruction in blocks.iter().flat_map(|block| &block.code) {
        if matches!(instruction.code, opcode::LD_MEM | opcode::LDX_MEM) {
            read |= 1 << instruction.k;
        }
    }
    for block in blocks {
        block.code.retain(|instruction| {
            let stores = matches!(instruction.code, opcode::ST | opcode::STX);
            !stores || read & 1 << instruction.k != 0
        });
    }
}

/// Merges blocks with equal code and equal successors; returns the new index of `root`.
///
/// Their registers may hold different values on entry, but the code is the same.
pub(super) fn merge_equal_blocks(blocks: Vec<Block>, root: usize) -> (Vec<Block>, usize) {
    let mut shared: Vec<Block> = Vec::with_capacity(blocks.len());
    let mut seen: HashMap<Block, usize> = HashMap::new();
    let mut indices = Vec::with_capacity(blocks.len());
    for mut block in blocks {
        block.end = block.end.map(|old| indices[old]);
        if let End::Branch { yes, no, .. } = block.end
            && yes == no
        {
            block.end = End::Goto(yes);
        }
        // A block without code is replaced by its successor.
        if let (End::Goto(next), true) = (block.end, block.code.is_empty()) {
            indices.push(next);
            continue;
        }
        let index = *seen.entry(block.clone()).or_insert_with(|| {
            shared.push(block);
            shared.len() - 1
        });
        indices.push(index);
    }
    let root = indices[root];
    (shared, root)
}
