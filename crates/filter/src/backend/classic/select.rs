//! Selects classic BPF instructions for the nodes of a graph.

use crate::backend::classic::blocks::{Block, End, plain};
use crate::classic::opcode;
use crate::classic::{Instruction, MAX_INSTRUCTIONS};
use crate::error::FilterErrorReason;
use crate::graph::condition::{Comparison, Test};
use crate::graph::control_flow::{Graph, Node, NodeId};
use crate::graph::values::{Value, ValueId, Values, Variable, Width};
use crate::language::tree::Operator;

/// The second operand of an operation: a constant in the instruction, or the index register.
#[derive(Clone, Copy)]
enum Operand {
    Constant(u32),
    Index,
}

/// Writes a basic block for each node of `graph`; returns the index of the first one.
///
/// Tracks what the registers hold along all paths, so that values in registers are not loaded
/// again.
pub(super) fn select(
    graph: &Graph,
    values: &mut Values,
    snaplen: u32,
) -> Result<(Vec<Block>, usize), FilterErrorReason> {
    let order = graph.reachable();
    let mut entries: Vec<Option<Registers>> = vec![None; graph.len()];
    entries[graph.root.0 as usize] = Some(Registers::default());
    let mut indices = vec![0; graph.len()];
    for (index, id) in order.iter().rev().enumerate() {
        indices[id.0 as usize] = index;
    }
    let to = |id: NodeId| indices[id.0 as usize];
    let first_word = graph_variables(graph, &order);
    let mut blocks = Vec::with_capacity(order.len());
    for &id in &order {
        let entry = entries[id.0 as usize].take().unwrap_or_default();
        let mut builder = BlockBuilder::new(values, entry, first_word);
        let end = match graph.node(id) {
            Node::Reject => End::Return(0),
            Node::Accept => End::Return(snaplen),
            Node::Test { test, yes, no } => {
                let (code, k) = builder.compare(test)?;
                merge_registers(&mut entries, yes, builder.registers);
                merge_registers(&mut entries, no, builder.registers);
                End::Branch {
                    code,
                    k,
                    yes: to(yes),
                    no: to(no),
                }
            }
            // Classic BPF has no sets; `expand_sets` has removed them.
            Node::Member { .. } => {
                let count = MAX_INSTRUCTIONS + 1;
                return Err(FilterErrorReason::TooManyInstructions { count });
            }
            Node::Let {
                variable,
                value,
                next,
            } => {
                builder.set(variable, value)?;
                merge_registers(&mut entries, next, builder.registers);
                End::Goto(to(next))
            }
        };
        blocks.push(Block {
            code: builder.code,
            end,
        });
    }
    blocks.reverse();
    Ok((blocks, to(graph.root)))
}

/// The first word of scratch memory that does not belong to a variable.
fn graph_variables(graph: &Graph, order: &[NodeId]) -> u32 {
    let variables = order.iter().filter_map(|&id| match graph.node(id) {
        Node::Let { variable, .. } => Some(u32::from(variable.0) + 1),
        _ => None,
    });
    variables.max().unwrap_or(0)
}

fn merge_registers(entries: &mut [Option<Registers>], at: NodeId, with: Registers) {
    match &mut entries[at.0 as usize] {
        Some(there) => there.meet(with),
        empty => *empty = Some(with),
    }
}

impl BlockBuilder<'_> {
    fn compare(&mut self, test: Test) -> Result<(u16, u32), FilterErrorReason> {
        let swaps = matches!(test.comparison, Comparison::Equal | Comparison::AnyBit);
        let operand = self.operands(test.left, test.right, swaps)?;
        let (constant, index) = match test.comparison {
            Comparison::Equal => (opcode::JEQ_K, opcode::JEQ_X),
            Comparison::Greater => (opcode::JGT_K, opcode::JGT_X),
            Comparison::AtLeast => (opcode::JGE_K, opcode::JGE_X),
            Comparison::AnyBit => (opcode::JSET_K, opcode::JSET_X),
        };
        Ok(match operand {
            Operand::Constant(k) => (constant, k),
            Operand::Index => (index, 0),
        })
    }

    fn set(&mut self, variable: Variable, value: ValueId) -> Result<(), FilterErrorReason> {
        let id = self.values.variable(variable);
        let in_index = self.registers.x == Some(value);
        if in_index {
            self.push(opcode::STX, u32::from(variable.0));
        } else {
            self.compute(value)?;
            self.push(opcode::ST, u32::from(variable.0));
        }
        self.registers.forget(self.values, variable);
        if in_index {
            self.registers.x = Some(id);
        } else {
            self.registers.a = Some(id);
        }
        Ok(())
    }

    /// Computes `value` in the accumulator.
    fn compute(&mut self, value: ValueId) -> Result<(), FilterErrorReason> {
        if self.registers.a == Some(value) {
            return Ok(());
        }
        if self.registers.x == Some(value) {
            self.push(opcode::TXA, 0);
            self.registers.a = Some(value);
            return Ok(());
        }
        match self.values.get(value) {
            Value::Constant(constant) => self.push(opcode::LD_IMM, constant),
            Value::Length => self.push(opcode::LD_LEN, 0),
            Value::Variable(variable) => self.push(opcode::LD_MEM, u32::from(variable.0)),
            Value::HeaderLength(offset) => {
                self.push(opcode::LDX_MSH, offset);
                self.registers.x = Some(value);
                self.push(opcode::TXA, 0);
            }
            Value::Ancillary(width, offset)
            | Value::Load {
                width,
                base: None,
                offset,
            } => self.push(absolute(width), offset),
            Value::Load {
                width,
                base: Some(base),
                offset,
            } => {
                self.bring_to_index(base)?;
                self.push(indirect(width), offset);
            }
            Value::Negate(operand) => {
                self.compute(operand)?;
                self.push(opcode::NEG, 0);
            }
            Value::Binary(operator, left, right) => {
                let swaps = matches!(
                    operator,
                    Operator::Add
                        | Operator::Multiply
                        | Operator::And
                        | Operator::Or
                        | Operator::Xor
                );
                let (constant, index) = binary(operator);
                match self.operands(left, right, swaps)? {
                    Operand::Constant(k) => self.push(constant, k),
                    Operand::Index => self.push(index, 0),
                }
            }
        }
        self.registers.a = Some(value);
        Ok(())
    }

    /// Puts `left` into the accumulator and `right` into the instruction or the index register.
    /// With `swaps`, the operands may be exchanged.
    fn operands(
        &mut self,
        left: ValueId,
        right: ValueId,
        swaps: bool,
    ) -> Result<Operand, FilterErrorReason> {
        if let Some(constant) = self.values.as_constant(right) {
            self.compute(left)?;
            return Ok(Operand::Constant(constant));
        }
        if self.fits_index(right) {
            self.compute(left)?;
            self.bring_to_index(right)?;
        } else if swaps && self.fits_index(left) {
            self.compute(right)?;
            self.bring_to_index(left)?;
        } else {
            self.compute(right)?;
            if self.values.needs_index(left) {
                let word = self.borrow_word()?;
                self.push(opcode::ST, word);
                self.compute(left)?;
                self.push(opcode::LDX_MEM, word);
                self.give_back_word();
            } else {
                self.push(opcode::TAX, 0);
                self.registers.x = Some(right);
                self.compute(left)?;
            }
            self.registers.x = Some(right);
        }
        Ok(Operand::Index)
    }

    /// Whether `value` can be loaded into the index register without the accumulator.
    fn fits_index(&self, value: ValueId) -> bool {
        matches!(
            self.values.get(value),
            Value::Variable(_) | Value::HeaderLength(_) | Value::Length
        )
    }

    fn bring_to_index(&mut self, value: ValueId) -> Result<(), FilterErrorReason> {
        if self.registers.x == Some(value) {
            return Ok(());
        }
        let holds = self.registers.a == Some(value);
        match self.values.get(value) {
            _ if holds => self.push(opcode::TAX, 0),
            Value::Variable(variable) => self.push(opcode::LDX_MEM, u32::from(variable.0)),
            Value::HeaderLength(offset) => self.push(opcode::LDX_MSH, offset),
            Value::Length => self.push(opcode::LDX_LEN, 0),
            _ => {
                self.compute(value)?;
                self.push(opcode::TAX, 0);
            }
        }
        self.registers.x = Some(value);
        Ok(())
    }

    fn push(&mut self, code: u16, k: u32) {
        self.code.push(plain(code, k));
    }
}

/// Words of scratch memory (`BPF_MEMWORDS`).
const MEMORY_WORDS: u32 = libc::BPF_MEMWORDS.cast_unsigned();

/// What the registers hold, if it is the same on every path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Registers {
    /// The accumulator.
    pub a: Option<ValueId>,
    /// The index register.
    pub x: Option<ValueId>,
}

impl Registers {
    pub(super) fn meet(&mut self, other: Self) {
        self.a = self.a.filter(|_| self.a == other.a);
        self.x = self.x.filter(|_| self.x == other.x);
    }

    /// Forgets the values that depend on `variable`, which has changed.
    pub(super) fn forget(&mut self, values: &Values, variable: Variable) {
        self.a = self.a.filter(|&a| !values.depends_on(a, variable));
        self.x = self.x.filter(|&x| !values.depends_on(x, variable));
    }
}

/// Writes the code of one basic block, and tracks the registers.
pub(super) struct BlockBuilder<'a> {
    pub values: &'a mut Values,
    pub registers: Registers,
    pub code: Vec<Instruction>,
    next_word: u32,
}

impl<'a> BlockBuilder<'a> {
    /// `first_word` is the first free word of scratch memory.
    pub(super) fn new(values: &'a mut Values, registers: Registers, first_word: u32) -> Self {
        Self {
            values,
            registers,
            code: Vec::new(),
            next_word: first_word,
        }
    }

    pub(super) fn borrow_word(&mut self) -> Result<u32, FilterErrorReason> {
        let word = self.next_word;
        if word >= MEMORY_WORDS {
            return Err(FilterErrorReason::TooManyRegisters);
        }
        self.next_word += 1;
        Ok(word)
    }

    pub(super) fn give_back_word(&mut self) {
        self.next_word -= 1;
    }
}

/// Load at a fixed offset.
pub(super) fn absolute(width: Width) -> u16 {
    match width {
        Width::Byte => opcode::LD_B_ABS,
        Width::Half => opcode::LD_H_ABS,
        Width::Word => opcode::LD_W_ABS,
    }
}

/// Load at an offset from the index register.
pub(super) fn indirect(width: Width) -> u16 {
    match width {
        Width::Byte => opcode::LD_B_IND,
        Width::Half => opcode::LD_H_IND,
        Width::Word => opcode::LD_W_IND,
    }
}

/// The opcode with a constant operand, and with the index register.
pub(super) fn binary(operator: Operator) -> (u16, u16) {
    match operator {
        Operator::Add => (opcode::ADD_K, opcode::ADD_X),
        Operator::Subtract => (opcode::SUB_K, opcode::SUB_X),
        Operator::Multiply => (opcode::MUL_K, opcode::MUL_X),
        Operator::Divide => (opcode::DIV_K, opcode::DIV_X),
        Operator::Modulo => (opcode::MOD_K, opcode::MOD_X),
        Operator::And => (opcode::AND_K, opcode::AND_X),
        Operator::Or => (opcode::OR_K, opcode::OR_X),
        Operator::Xor => (opcode::XOR_K, opcode::XOR_X),
        Operator::ShiftLeft => (opcode::LSH_K, opcode::LSH_X),
        Operator::ShiftRight => (opcode::RSH_K, opcode::RSH_X),
    }
}
