use super::block::{Block, End, plain};
use super::registers::{Machine, Registers};
use crate::classic::{MAX_INSTRUCTIONS, opcode};
use crate::error::Reason;
use crate::graph::condition::{Comparison, Test};
use crate::graph::nodes::{Graph, Node, NodeId};
use crate::graph::values::{Value, ValueId, Values, Variable};
use crate::language::tree::Operator;

/// The second operand of an operation: in the instruction, or in the index register.
#[derive(Clone, Copy)]
enum Operand {
    Constant(u32),
    Index,
}

/// Writes a block for each node of `graph`, and gives the index of the first one.
///
/// What the registers hold is followed along all ways, so that nothing is loaded that is there.
pub(super) fn select(
    graph: &Graph,
    values: &mut Values,
    snaplen: u32,
) -> Result<(Vec<Block>, usize), Reason> {
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
        let mut machine = Machine::new(values, entry, first_word);
        let end = match graph.node(id) {
            Node::Reject => End::Return(0),
            Node::Accept => End::Return(snaplen),
            Node::Test { test, yes, no } => {
                let (code, k) = machine.compare(test)?;
                arrive(&mut entries, yes, machine.registers);
                arrive(&mut entries, no, machine.registers);
                End::Branch {
                    code,
                    k,
                    yes: to(yes),
                    no: to(no),
                }
            }
            // Sets have no form here; the graphs for classic programs are made without.
            Node::Member { .. } => {
                let count = MAX_INSTRUCTIONS + 1;
                return Err(Reason::TooManyInstructions { count });
            }
            Node::Let {
                variable,
                value,
                next,
            } => {
                machine.set(variable, value)?;
                arrive(&mut entries, next, machine.registers);
                End::Goto(to(next))
            }
        };
        blocks.push(Block {
            code: machine.code,
            end,
        });
    }
    blocks.reverse();
    Ok((blocks, to(graph.root)))
}

/// Words of scratch memory below this one belong to variables.
fn graph_variables(graph: &Graph, order: &[NodeId]) -> u32 {
    let variables = order.iter().filter_map(|&id| match graph.node(id) {
        Node::Let { variable, .. } => Some(u32::from(variable.0) + 1),
        _ => None,
    });
    variables.max().unwrap_or(0)
}

fn arrive(entries: &mut [Option<Registers>], at: NodeId, with: Registers) {
    match &mut entries[at.0 as usize] {
        Some(there) => there.meet(with),
        empty => *empty = Some(with),
    }
}

impl Machine<'_> {
    fn compare(&mut self, test: Test) -> Result<(u16, u32), Reason> {
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

    fn set(&mut self, variable: Variable, value: ValueId) -> Result<(), Reason> {
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

    /// Brings `value` into the accumulator.
    fn compute(&mut self, value: ValueId) -> Result<(), Reason> {
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
            } => self.push(super::opcodes::absolute(width), offset),
            Value::Load {
                width,
                base: Some(base),
                offset,
            } => {
                self.bring_to_index(base)?;
                self.push(super::opcodes::indirect(width), offset);
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
                let (constant, index) = super::opcodes::binary(operator);
                match self.operands(left, right, swaps)? {
                    Operand::Constant(k) => self.push(constant, k),
                    Operand::Index => self.push(index, 0),
                }
            }
        }
        self.registers.a = Some(value);
        Ok(())
    }

    /// Brings `left` into the accumulator and `right` into the instruction or the index register;
    /// `swaps` allows the other way round.
    fn operands(&mut self, left: ValueId, right: ValueId, swaps: bool) -> Result<Operand, Reason> {
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

    /// Whether the index register can take `value` without help of the accumulator.
    fn fits_index(&self, value: ValueId) -> bool {
        matches!(
            self.values.get(value),
            Value::Variable(_) | Value::HeaderLength(_) | Value::Length
        )
    }

    fn bring_to_index(&mut self, value: ValueId) -> Result<(), Reason> {
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
