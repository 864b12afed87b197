use super::plan::Decision;
use super::writer::{Entry, Writer};
use crate::graph::nodes::{Graph, Node, NodeId};
use crate::graph::values::Variable;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};

impl Writer<'_, '_> {
    /// Writes the code of all nodes, from here on to the verdicts.
    pub(super) fn walk(&mut self) {
        let (root, order, plan) = (
            self.facts.filter.graph.root,
            self.facts.order,
            self.facts.plan,
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
                self.ask(id, part_of);
            }
        }
        self.ends();
    }

    fn enter(&mut self, entry: Entry) {
        self.switch_to(entry.block);
        self.state = entry.state;
    }

    /// One node.
    fn ask(&mut self, id: NodeId, part_of: Option<NodeId>) {
        match self.facts.filter.graph.node(id) {
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
                self.state.forget(&self.facts.filter.values, variable);
                let next = self.lead(next, part_of);
                self.builder.ins().jump(next, &[]);
            }
            Node::Reject | Node::Accept => {
                let end = self.lead(id, None);
                self.builder.ins().jump(end, &[]);
            }
        }
    }

    /// Several nodes as one, where the packet has the bytes of all; where it has not, one by one.
    fn decide(&mut self, decision: &Decision) {
        let id = self.node;
        let fixed = decision.footprint.fixed;
        if self.state.bytes < fixed {
            let need = self.facts.need.fixed(id);
            let is_shorter = self.is_shorter(fixed.max(need));
            self.part(is_shorter, need >= fixed);
            self.state.bytes = fixed.max(need);
        }
        if let Some((base, bytes)) = decision.footprint.based {
            let wide = self.wide(base);
            if !self.state.has_based(wide, bytes) {
                let need = self.facts.need.based(id, base);
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

    /// Leads packets without the bytes out of a decision: to the refusal, or to its nodes.
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
