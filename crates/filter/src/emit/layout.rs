use super::block::{Block, End, plain};
use crate::classic::{Instruction, opcode};

/// Farthest instruction a conditional jump can skip to.
const REACH: usize = 255;

/// Puts the blocks that `root` leads to into one program.
///
/// The program is written from its end, so that every jump knows how far it goes; jumps that are too
/// far for their eight bits go by way of a `ja` near by, shared where possible. Returns are last: the
/// kernel takes what follows one as reached from it (`check_load_and_stores`, net/core/filter.c).
pub(super) fn lay_out(blocks: &[Block], root: usize) -> Vec<Instruction> {
    let mut writer = Writer {
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

/// The blocks to write, last one first: each after all it leads to.
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

/// Places are counted from the end of the program: the last instruction is 1.
struct Writer {
    reversed: Vec<Instruction>,
    /// Where each block starts.
    starts: Vec<usize>,
    /// The nearest place that is, or leads straight to, the block's start.
    near: Vec<usize>,
}

impl Writer {
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
                    // Two less, because a jump may be added for the other way.
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

    /// Writes a jump that reaches `target` from anywhere.
    fn jump(&mut self, target: usize) {
        let distance = self.reversed.len() - self.starts[target];
        self.reversed.push(plain(opcode::JA, distance as u32));
    }
}
