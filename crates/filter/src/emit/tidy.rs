use super::block::{Block, End};
use crate::classic::opcode;
use std::collections::HashMap;

/// Drops stores to words of scratch memory that nothing reads.
pub(super) fn drop_dead_stores(blocks: &mut [Block]) {
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

/// Makes one block of blocks that do the same from there on; gives the new index of `root`.
///
/// They may have got different values in their registers: what they do with them is the same.
pub(super) fn share(blocks: Vec<Block>, root: usize) -> (Vec<Block>, usize) {
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
        // A block without code that leads on is where it leads.
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
