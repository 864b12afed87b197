//! Lays out basic blocks as a classic BPF program.

use crate::backend::classic::blocks::{Block, End, plain};
use crate::classic::Instruction;
use crate::classic::opcode;

/// Maximum distance of a conditional jump.
const REACH: usize = 255;

/// Lays out the blocks that are reachable from `root` as one program.
///
/// The program is written backwards, so that every jump distance is known. Jumps that are too far
/// for eight bits use a nearby `ja`, shared if possible. Returns come last: the kernel treats the
/// instruction after a return as reachable from it (`check_load_and_stores`, net/core/filter.c).
pub(super) fn lay_out(blocks: &[Block], root: usize) -> Vec<Instruction> {
    let mut writer = ProgramWriter {
        reversed: Vec::new(),
        starts: vec![0; blocks.len()],
        near: vec![0; blocks.len()],
    };
    for index in order(blocks, root) {
        writer.block(blocks, index);
    }
    writer.reversed.reverse();
    writer.reversed
}

/// The blocks in writing order, last one first: each after its successors.
fn order(blocks: &[Block], root: usize) -> Vec<usize> {
    let is_return = |block: &Block| matches!(block.end, End::Return(_));
    let mut order: Vec<usize> = (0..blocks.len())
        .filter(|&index| is_return(&blocks[index]))
        .collect();
    let mut visited = vec![false; blocks.len()];
    let mut stack = vec![(root, false)];
    while let Some((index, is_done)) = stack.pop() {
        if is_done {
            if !is_return(&blocks[index]) {
                order.push(index);
            }
            continue;
        }
        if std::mem::replace(&mut visited[index], true) {
            continue;
        }
        stack.push((index, true));
        stack.extend(blocks[index].end.targets().map(|target| (target, false)));
    }
    order
}

/// Positions are counted from the end of the program: the last instruction is 1.
struct ProgramWriter {
    reversed: Vec<Instruction>,
    /// The position of the start of each block.
    starts: Vec<usize>,
    /// The nearest position that is the start of the block, or an unconditional jump to it.
    near: Vec<usize>,
}

impl ProgramWriter {
    fn block(&mut self, blocks: &[Block], index: usize) {
        let block = &blocks[index];
        match block.end {
            End::Return(verdict) => self.reversed.push(plain(opcode::RET_K, verdict)),
            End::Goto(next) => {
                if self.starts[next] != self.reversed.len() {
                    self.jump(next);
                }
            }
            End::Branch { code, k, yes, no } => {
                for target in [yes, no] {
                    // Two less, because a jump may be added for the other target.
                    if self.reversed.len() - self.near[target] > REACH - 2 {
                        self.jump(target);
                        self.near[target] = self.reversed.len();
                    }
                }
                let here = self.reversed.len();
                self.reversed.push(Instruction {
                    code,
                    jt: (here - self.near[yes]) as u8,
                    jf: (here - self.near[no]) as u8,
                    k,
                });
            }
        }
        self.reversed.extend(block.code.iter().rev());
        self.starts[index] = self.reversed.len();
        self.near[index] = self.reversed.len();
    }

    /// Writes an unconditional jump to `target`.
    fn jump(&mut self, target: usize) {
        let distance = self.reversed.len() - self.starts[target];
        self.reversed.push(plain(opcode::JA, distance as u32));
    }
}
