//! Writes the native code of a graph, node by node.

use crate::backend::native::cranelift::merge_tests::Decision;
use crate::backend::native::cranelift::required_bytes::RequiredBytes;
use crate::backend::native::cranelift::set_tables::Tables;
use crate::filter::Filter;
use crate::graph::control_flow::{Graph, Node, NodeId};
use crate::graph::values::{ValueId, Values, Variable};
use cranelift_codegen::ir;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, types};
use cranelift_frontend::FunctionBuilder;

/// The input of code generation.
pub(super) struct CodegenInput<'a> {
    pub filter: &'a Filter,
    /// Nodes in topological order.
    pub order: &'a [NodeId],
    pub need: &'a RequiredBytes,
    pub plan: &'a [Option<Decision>],
    pub tables: &'a Tables,
}

/// The arguments of the function: the packet.
#[derive(Clone, Copy)]
pub(super) struct PacketArguments {
    /// Address of its first byte.
    pub start: ir::Value,
    /// Captured bytes, 64 bits wide.
    pub bytes: ir::Value,
    pub original_len: ir::Value,
    /// Address of its metadata.
    pub metadata: ir::Value,
}

/// What the code does with the verdict.
#[derive(Clone, Copy)]
pub(super) enum VerdictTarget {
    Return,
    /// Passes it to a block as an argument.
    Block(ir::Block),
}

/// The block of a node, and what is known at its start.
pub(super) struct Entry {
    pub block: ir::Block,
    pub state: BlockState,
    /// The merged decision that this single node belongs to.
    pub part_of: Option<NodeId>,
}

/// Writes the code of one function.
pub(super) struct FunctionWriter<'a, 'b> {
    pub input: &'a CodegenInput<'a>,
    pub builder: &'a mut FunctionBuilder<'b>,
    pub packet: PacketArguments,
    pub finish: VerdictTarget,
    pub variables: [Option<cranelift_frontend::Variable>; 16],
    pub state: BlockState,
    /// The current node.
    pub node: NodeId,
    /// Pending nodes with merged decisions.
    pub whole: Vec<Option<Entry>>,
    /// Pending nodes that are evaluated alone.
    pub alone: Vec<Option<Entry>>,
    accept: Option<ir::Block>,
    reject: Option<ir::Block>,
}

/// Memory flags for packets and tables: readable, and never written while the code runs.
pub(super) fn plain() -> MemFlagsData {
    MemFlagsData::new().with_notrap().with_readonly()
}

impl<'a, 'b> FunctionWriter<'a, 'b> {
    pub(super) fn new(
        input: &'a CodegenInput<'a>,
        builder: &'a mut FunctionBuilder<'b>,
        packet: PacketArguments,
        finish: VerdictTarget,
    ) -> Self {
        let nodes = input.filter.graph.len();
        Self {
            input,
            builder,
            packet,
            finish,
            variables: [None; 16],
            state: BlockState::default(),
            node: input.filter.graph.root,
            whole: (0..nodes).map(|_| None).collect(),
            alone: (0..nodes).map(|_| None).collect(),
            accept: None,
            reject: None,
        }
    }

    pub(super) fn constant(&mut self, constant: u32) -> ir::Value {
        self.builder.ins().iconst(types::I32, i64::from(constant))
    }

    /// Continues in `block`, whose predecessors are complete.
    pub(super) fn switch_to(&mut self, block: ir::Block) {
        self.builder.switch_to_block(block);
        self.builder.seal_block(block);
    }

    pub(super) fn branch(&mut self, condition: ir::Value, yes: ir::Block, no: ir::Block) {
        self.builder.ins().brif(condition, yes, &[], no, &[]);
    }

    /// The block that rejects the packet.
    pub(super) fn reject(&mut self) -> ir::Block {
        *self
            .reject
            .get_or_insert_with(|| self.builder.create_block())
    }

    /// Rejects the packet if `condition` is true, and continues otherwise.
    pub(super) fn reject_if(&mut self, condition: ir::Value) {
        let (reject, next) = (self.reject(), self.builder.create_block());
        self.branch(condition, reject, next);
        self.switch_to(next);
    }

    /// The block of `to`, entered with the current state. Within the decision `part_of`, nodes are
    /// evaluated one by one.
    pub(super) fn lead(&mut self, to: NodeId, part_of: Option<NodeId>) -> ir::Block {
        match to {
            Graph::REJECT => return self.reject(),
            Graph::ACCEPT => {
                return *self
                    .accept
                    .get_or_insert_with(|| self.builder.create_block());
            }
            _ => {}
        }
        let (at, plan) = (to.0 as usize, self.input.plan);
        let part_of = part_of.filter(|part_of| {
            let decision = plan[part_of.0 as usize].as_ref();
            decision.is_some_and(|decision| decision.nodes.contains(&to))
        });
        let is_alone = part_of.is_some() || plan[at].is_none();
        let entries = if is_alone {
            &mut self.alone
        } else {
            &mut self.whole
        };
        if let Some(entry) = &mut entries[at] {
            entry.state.meet(&self.state);
            return entry.block;
        }
        let block = self.builder.create_block();
        if part_of.is_some() {
            self.builder.set_cold_block(block);
        }
        entries[at] = Some(Entry {
            block,
            state: self.state.clone(),
            part_of,
        });
        block
    }

    /// Selects the verdict without a branch.
    pub(super) fn finish_if(&mut self, condition: ir::Value, yes: NodeId) {
        let snaplen = self.constant(self.input.filter.options.snaplen);
        let zero = self.constant(0);
        let verdict = if yes == Graph::ACCEPT {
            self.builder.ins().select(condition, snaplen, zero)
        } else {
            self.builder.ins().select(condition, zero, snaplen)
        };
        self.give(verdict);
    }

    fn give(&mut self, verdict: ir::Value) {
        match self.finish {
            VerdictTarget::Return => self.builder.ins().return_(&[verdict]),
            VerdictTarget::Block(block) => self.builder.ins().jump(block, &[verdict.into()]),
        };
    }

    /// Writes the blocks of the two verdicts, if they are used.
    pub(super) fn ends(&mut self) {
        let snaplen = self.input.filter.options.snaplen;
        for (block, verdict) in [(self.accept, snaplen), (self.reject, 0)] {
            if let Some(block) = block {
                self.switch_to(block);
                let verdict = self.constant(verdict);
                self.give(verdict);
            }
        }
    }

    /// Whether the packet is shorter than `bytes`.
    pub(super) fn is_shorter(&mut self, bytes: u64) -> ir::Value {
        let bytes = self.builder.ins().iconst(types::I64, bytes.cast_signed());
        let compare = IntCC::UnsignedLessThan;
        self.builder.ins().icmp(compare, self.packet.bytes, bytes)
    }
}

/// Maximum number of values kept on a path; older ones are recomputed.
const MAX_KEPT: usize = 24;

/// The representation of a kept value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The number, 32 bits.
    Number,
    /// The number, 64 bits.
    Wide,
    /// Packet bytes in host load order, not swapped, 32 bits.
    Loaded,
}

/// What is known at one point of the code, on every path to it.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockState {
    /// Proven minimum length of the packet.
    pub bytes: u64,
    /// Proven bytes after these 64-bit offsets. The proof holds for the loaded value only: a second
    /// load may return other bytes if somebody changes a mapped file.
    based: Vec<(ir::Value, u64)>,
    kept: Vec<(ValueId, Form, ir::Value)>,
}

impl BlockState {
    pub(super) fn kept(&self, id: ValueId, form: Form) -> Option<ir::Value> {
        let mut kept = self.kept.iter().rev();
        kept.find(|kept| kept.0 == id && kept.1 == form)
            .map(|kept| kept.2)
    }

    pub(super) fn keep(&mut self, id: ValueId, form: Form, value: ir::Value) {
        if self.kept.len() >= MAX_KEPT {
            self.kept.remove(0);
        }
        self.kept.push((id, form, value));
    }

    pub(super) fn has_based(&self, base: ir::Value, bytes: u64) -> bool {
        self.based
            .iter()
            .any(|known| known.0 == base && known.1 >= bytes)
    }

    pub(super) fn learn_based(&mut self, base: ir::Value, bytes: u64) {
        if let Some(known) = self.based.iter_mut().find(|known| known.0 == base) {
            known.1 = known.1.max(bytes);
        } else if self.based.len() < MAX_KEPT {
            self.based.push((base, bytes));
        }
    }

    /// Forgets the values that depend on `variable`, which has changed.
    pub(super) fn forget(&mut self, values: &Values, variable: Variable) {
        self.kept
            .retain(|kept| !values.depends_on(kept.0, variable));
    }

    /// Keeps what holds on both paths. A value kept on both was computed before they split.
    pub(super) fn meet(&mut self, other: &Self) {
        self.bytes = self.bytes.min(other.bytes);
        self.based.retain_mut(|known| {
            let same = other.based.iter().find(|other| other.0 == known.0);
            known.1 = same.map_or(0, |same| same.1.min(known.1));
            known.1 > 0
        });
        self.kept.retain(|kept| other.kept.contains(kept));
    }
}

impl FunctionWriter<'_, '_> {
    /// Writes the code of all nodes and of the verdicts.
    pub(super) fn walk(&mut self) {
        let (root, order, plan) = (
            self.input.filter.graph.root,
            self.input.order,
            self.input.plan,
        );
        let first = self.lead(root, None);
        self.builder.ins().jump(first, &[]);
        for &id in order {
            self.node = id;
            if let Some(entry) = self.whole[id.0 as usize].take()
                && let Some(decision) = &plan[id.0 as usize]
            {
                self.enter(entry);
                self.decide(decision);
            }
            if let Some(entry) = self.alone[id.0 as usize].take() {
                let part_of = entry.part_of;
                self.enter(entry);
                self.write_node(id, part_of);
            }
        }
        self.ends();
    }

    fn enter(&mut self, entry: Entry) {
        self.switch_to(entry.block);
        self.state = entry.state;
    }

    /// Writes the code of one node.
    fn write_node(&mut self, id: NodeId, part_of: Option<NodeId>) {
        match self.input.filter.graph.node(id) {
            Node::Test { test, yes, no } => {
                let condition = self.condition(test, true);
                self.split(condition, yes, no, part_of);
            }
            Node::Member { member, yes, no } => {
                if let Some(bits) = self.bits_of(member.set) {
                    let number = self.number(member.words[0]);
                    let condition = self.bit(number, Some(bits), true);
                    self.split(condition, yes, no, part_of);
                } else {
                    self.search(&member, yes, no, part_of);
                }
            }
            Node::Let {
                variable,
                value,
                next,
            } => {
                let number = self.number(value);
                let place = self.variable(variable);
                self.builder.def_var(place, number);
                self.state.forget(&self.input.filter.values, variable);
                let next = self.lead(next, part_of);
                self.builder.ins().jump(next, &[]);
            }
            Node::Reject | Node::Accept => {
                let end = self.lead(id, None);
                self.builder.ins().jump(end, &[]);
            }
        }
    }

    /// Writes the code of a merged decision. Packets without all its bytes take the nodes one by
    /// one.
    fn decide(&mut self, decision: &Decision) {
        let id = self.node;
        let fixed = decision.footprint.fixed;
        if self.state.bytes < fixed {
            let need = self.input.need.fixed(id);
            let is_shorter = self.is_shorter(fixed.max(need));
            self.part(is_shorter, need >= fixed);
            self.state.bytes = fixed.max(need);
        }
        if let Some((base, bytes)) = decision.footprint.based {
            let wide = self.wide(base);
            if !self.state.has_based(wide, bytes) {
                let need = self.input.need.based(id, base);
                let most = bytes.max(need);
                let end = self.builder.ins().iadd_imm_u(wide, most.cast_signed());
                let compare = IntCC::UnsignedGreaterThan;
                let is_behind = self.builder.ins().icmp(compare, end, self.packet.bytes);
                self.part(is_behind, need >= bytes);
                self.state.learn_based(wide, most);
            }
        }
        let condition = self.truth(&decision.formula, true);
        self.split(condition, decision.yes, decision.no, None);
    }

    /// Branches out of a decision for packets without the bytes: to the rejection, or to its single
    /// nodes.
    fn part(&mut self, lacks_bytes: ir::Value, is_refused: bool) {
        if is_refused {
            self.reject_if(lacks_bytes);
            return;
        }
        let alone = self.lead(self.node, Some(self.node));
        let next = self.builder.create_block();
        self.branch(lacks_bytes, alone, next);
        self.switch_to(next);
    }

    fn split(&mut self, condition: ir::Value, yes: NodeId, no: NodeId, part_of: Option<NodeId>) {
        let is_end = |id| id == Graph::ACCEPT || id == Graph::REJECT;
        if is_end(yes) && is_end(no) {
            self.finish_if(condition, yes);
            return;
        }
        let (yes, no) = (self.lead(yes, part_of), self.lead(no, part_of));
        self.branch(condition, yes, no);
    }

    pub(super) fn variable(&mut self, variable: Variable) -> cranelift_frontend::Variable {
        let at = variable.0 as usize % self.variables.len();
        *self.variables[at].get_or_insert_with(|| self.builder.declare_var(types::I32))
    }
}
