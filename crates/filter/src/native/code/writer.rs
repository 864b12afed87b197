use super::need::Need;
use super::plan::Decision;
use super::state::State;
use super::tables::Tables;
use crate::filter::Filter;
use crate::graph::nodes::{Graph, NodeId};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, types};
use cranelift_frontend::{FunctionBuilder, Variable};

/// What is known of a filter before code is written.
pub(super) struct Facts<'a> {
    pub filter: &'a Filter,
    /// Nodes, each before those it leads to.
    pub order: &'a [NodeId],
    pub need: &'a Need,
    pub plan: &'a [Option<Decision>],
    pub tables: &'a Tables,
}

/// The packet the code looks at.
#[derive(Clone, Copy)]
pub(super) struct Packet {
    /// Address of its first byte.
    pub start: ir::Value,
    /// Captured bytes, 64 bits wide.
    pub bytes: ir::Value,
    pub original_len: ir::Value,
    /// Address of what is known beside it.
    pub beside: ir::Value,
}

/// Where a verdict goes.
#[derive(Clone, Copy)]
pub(super) enum Finish {
    Return,
    /// To a block that takes it as its argument.
    Block(ir::Block),
}

/// The block of a node, and what holds at its start.
pub(super) struct Entry {
    pub block: ir::Block,
    pub state: State,
    /// The decision that this node alone is a part of.
    pub part_of: Option<NodeId>,
}

/// Writes the code of one function.
pub(super) struct Writer<'a, 'b> {
    pub facts: &'a Facts<'a>,
    pub builder: &'a mut FunctionBuilder<'b>,
    pub packet: Packet,
    pub finish: Finish,
    pub variables: [Option<Variable>; 16],
    pub state: State,
    /// The node that code is written for.
    pub node: NodeId,
    /// Nodes on the way whose decisions are made as one.
    pub whole: Vec<Option<Entry>>,
    /// Nodes on the way that are asked alone.
    pub alone: Vec<Option<Entry>>,
    accept: Option<ir::Block>,
    reject: Option<ir::Block>,
}

/// Bytes of packets and tables: always there, never written while the code runs.
pub(super) fn plain() -> MemFlagsData {
    MemFlagsData::new().with_notrap().with_readonly()
}

impl<'a, 'b> Writer<'a, 'b> {
    pub(super) fn new(
        facts: &'a Facts<'a>,
        builder: &'a mut FunctionBuilder<'b>,
        packet: Packet,
        finish: Finish,
    ) -> Self {
        let nodes = facts.filter.graph.len();
        Self {
            facts,
            builder,
            packet,
            finish,
            variables: [None; 16],
            state: State::default(),
            node: facts.filter.graph.root,
            whole: (0..nodes).map(|_| None).collect(),
            alone: (0..nodes).map(|_| None).collect(),
            accept: None,
            reject: None,
        }
    }

    pub(super) fn constant(&mut self, constant: u32) -> ir::Value {
        self.builder.ins().iconst(types::I32, i64::from(constant))
    }

    /// Goes on in `block`, to which all branches are written.
    pub(super) fn switch_to(&mut self, block: ir::Block) {
        self.builder.switch_to_block(block);
        self.builder.seal_block(block);
    }

    pub(super) fn branch(&mut self, condition: ir::Value, yes: ir::Block, no: ir::Block) {
        self.builder.ins().brif(condition, yes, &[], no, &[]);
    }

    /// The block that refuses the packet.
    pub(super) fn reject(&mut self) -> ir::Block {
        *self
            .reject
            .get_or_insert_with(|| self.builder.create_block())
    }

    /// Refuses the packet where `condition` holds; what follows is for others.
    pub(super) fn reject_if(&mut self, condition: ir::Value) {
        let (reject, next) = (self.reject(), self.builder.create_block());
        self.branch(condition, reject, next);
        self.switch_to(next);
    }

    /// The block of `to` for the state that holds here; `part_of` says that decisions are not to be
    /// made as one as long as they belong to that one.
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
        let (at, plan) = (to.0 as usize, self.facts.plan);
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

    /// Gives the verdict that both ends of a branch stand for, without a branch.
    pub(super) fn finish_if(&mut self, condition: ir::Value, yes: NodeId) {
        let snaplen = self.constant(self.facts.filter.options.snaplen);
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
            Finish::Return => self.builder.ins().return_(&[verdict]),
            Finish::Block(block) => self.builder.ins().jump(block, &[verdict.into()]),
        };
    }

    /// Writes the blocks of the two verdicts, where something leads to them.
    pub(super) fn ends(&mut self) {
        let snaplen = self.facts.filter.options.snaplen;
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
