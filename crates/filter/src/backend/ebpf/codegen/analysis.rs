//! Facts about a graph that eBPF code generation needs.

use crate::graph::control_flow::{Graph, Node, NodeId};
use crate::graph::values::{Value, ValueId, Values, Width};
use crate::language::tree::Operator;
use crate::options::FilterTarget;

/// At tc, bytes at fixed offsets up to this are read directly, later ones by a helper call. Making
/// all of a large packet directly readable would copy it.
const MAX_DIRECT: u32 = 256;
/// The maximum packet offset that the verifier allows (`MAX_PACKET_OFF`, kernel/bpf/verifier.c).
pub(super) const MAX_REACH: u32 = 0xffff;

/// Facts about graph and values, collected before code generation.
pub(super) struct Analysis {
    at: FilterTarget,
    /// By node: the minimum length of packets that are accepted from here on.
    needed: Vec<u32>,
    /// By value: the number of nodes and values that use it.
    uses: Vec<u32>,
    /// By value: the registers needed to compute it without spilling.
    registers: Vec<u8>,
    /// By value: whether computing it rejects every packet.
    rejects: Vec<bool>,
}

impl Analysis {
    pub(super) fn of(graph: &Graph, values: &Values, at: FilterTarget) -> Self {
        let count = values.iter().count();
        let mut analysis = Self {
            at,
            needed: vec![0; graph.len()],
            uses: vec![0; count],
            registers: Vec::with_capacity(count),
            rejects: Vec::with_capacity(count),
        };
        for (_, value) in values.iter() {
            analysis.describe(value, values);
        }
        analysis.count_uses(graph, values);
        let ends = analysis.ends(values);
        analysis.find_needed(graph, &ends);
        analysis
    }

    /// Whether the bytes are read directly, and packets without them rejected.
    pub(super) fn is_direct(&self, width: Width, offset: u32) -> bool {
        let most = match self.at {
            FilterTarget::Xdp => MAX_REACH,
            _ => MAX_DIRECT,
        };
        end(width, offset) <= most
    }

    /// Shorter packets are rejected on every path from `node`.
    pub(super) fn needed(&self, node: NodeId) -> u32 {
        self.needed[node.0 as usize]
    }

    /// Whether `node` rejects every packet.
    pub(super) fn rejects(&self, id: NodeId, node: Node) -> bool {
        let mut values = node.values().into_iter();
        self.needed(id) > MAX_REACH || values.any(|value| self.rejects[value.index()])
    }

    /// Whether only one node or value uses it.
    pub(super) fn is_used_once(&self, value: ValueId) -> bool {
        self.uses[value.index()] <= 1
    }

    pub(super) fn registers(&self, value: ValueId) -> u8 {
        self.registers[value.index()]
    }

    /// The packet bytes that the code reads directly.
    pub(super) fn direct_bytes(&self, values: &Values) -> u32 {
        let used = self.ends(values).into_iter().zip(&self.uses);
        let ends = used.filter_map(|(end, &uses)| (uses > 0).then_some(end));
        ends.max().unwrap_or(0)
    }

    fn describe(&mut self, value: Value, values: &Values) {
        let operands = value.operands().into_iter().flatten();
        let refuses = operands.fold(false, |any, id| any | self.rejects[id.index()]);
        let is_far = |width, offset| self.at == FilterTarget::Xdp && !self.is_direct(width, offset);
        let refuses = refuses
            || match value {
                Value::Load {
                    width,
                    base: None,
                    offset,
                } => is_far(width, offset),
                Value::HeaderLength(offset) => is_far(Width::Byte, offset),
                Value::Binary(Operator::Divide | Operator::Modulo, _, right) => {
                    values.as_constant(right) == Some(0)
                }
                _ => false,
            };
        let of = |id: ValueId| self.registers[id.index()];
        let registers = match value {
            Value::Binary(_, left, right) if values.as_constant(right).is_none() => {
                let (left, right) = (of(left), of(right));
                let both = left.max(right) + u8::from(left == right);
                both.clamp(3, u8::MAX - 1)
            }
            Value::Binary(_, operand, _) | Value::Negate(operand) => of(operand).max(2),
            Value::Load {
                base: Some(base), ..
            } => of(base).max(2),
            // At tc an offset may need a register.
            Value::Load { base: None, .. } | Value::HeaderLength(_)
                if self.at != FilterTarget::Xdp =>
            {
                2
            }
            _ => 1,
        };
        self.rejects.push(refuses);
        self.registers.push(registers);
    }

    fn count_uses(&mut self, graph: &Graph, values: &Values) {
        for id in graph.reachable() {
            for value in graph.node(id).values() {
                self.uses[value.index()] += 1;
            }
        }
        // Operands have lower indexes than the values computed from them.
        for (id, value) in values.iter().rev() {
            if self.uses[id.index()] > 0 {
                for operand in value.operands().into_iter().flatten() {
                    self.uses[operand.index()] += 1;
                }
            }
        }
    }

    /// By value: the end of the bytes that it reads directly at fixed offsets.
    fn ends(&self, values: &Values) -> Vec<u32> {
        let mut ends: Vec<u32> = Vec::with_capacity(self.uses.len());
        for (_, value) in values.iter() {
            let own = match value {
                Value::Load {
                    width,
                    base: None,
                    offset,
                } if self.is_direct(width, offset) => end(width, offset),
                Value::HeaderLength(offset) if self.is_direct(Width::Byte, offset) => {
                    end(Width::Byte, offset)
                }
                _ => 0,
            };
            let operands = value.operands().into_iter().flatten();
            ends.push(operands.fold(own, |most, id| most.max(ends[id.index()])));
        }
        ends
    }

    fn find_needed(&mut self, graph: &Graph, ends: &[u32]) {
        self.needed[Graph::REJECT.0 as usize] = u32::MAX;
        // Successors have lower ids.
        for id in graph.reachable().into_iter().rev() {
            let of = |id: NodeId| self.needed[id.0 as usize];
            let node = graph.node(id);
            let behind = match node {
                Node::Test { yes, no, .. } | Node::Member { yes, no, .. } => of(yes).min(of(no)),
                Node::Let { next, .. } => of(next),
                Node::Reject | Node::Accept => continue,
            };
            let here = node.values().into_iter().map(|value| ends[value.index()]);
            self.needed[id.0 as usize] = here.fold(behind, u32::max);
        }
    }
}

/// The end of the bytes at a fixed offset.
pub(super) fn end(width: Width, offset: u32) -> u32 {
    offset.saturating_add(width_bytes(width))
}

pub(super) fn width_bytes(width: Width) -> u32 {
    match width {
        Width::Byte => 1,
        Width::Half => 2,
        Width::Word => 4,
    }
}
