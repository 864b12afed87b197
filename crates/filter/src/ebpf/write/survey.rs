use crate::graph::nodes::{Graph, Node, NodeId};
use crate::graph::values::{Value, ValueId, Values, Width};
use crate::language::tree::Operator;
use crate::options::At;

/// At tc, what is at fixed offsets up to here is read directly, and what is behind it by a call: to
/// make all of a large packet directly readable costs a copy of it.
const MOST_DIRECT: u32 = 256;
/// How far from its beginning the verifier lets a program look into a packet (`MAX_PACKET_OFF`,
/// kernel/bpf/verifier.c).
pub(super) const MOST_REACH: u32 = 0xffff;

/// What is known of graph and values before code is written.
pub(super) struct Survey {
    at: At,
    /// By node: every packet that is accepted from here on has as many bytes.
    needed: Vec<u32>,
    /// By value: how many nodes and values it is an operand of.
    uses: Vec<u32>,
    /// By value: registers that it takes to compute it without help of the stack.
    registers: Vec<u8>,
    /// By value: computing it refuses every packet.
    refuses: Vec<bool>,
}

impl Survey {
    pub(super) fn of(graph: &Graph, values: &Values, at: At) -> Self {
        let count = values.iter().count();
        let mut survey = Self {
            at,
            needed: vec![0; graph.len()],
            uses: vec![0; count],
            registers: Vec::with_capacity(count),
            refuses: Vec::with_capacity(count),
        };
        for (_, value) in values.iter() {
            survey.describe(value, values);
        }
        survey.count_uses(graph, values);
        let ends = survey.ends(values);
        survey.find_needed(graph, &ends);
        survey
    }

    /// Whether the bytes are read directly if they are there, and refused if not.
    pub(super) fn is_direct(&self, width: Width, offset: u32) -> bool {
        let most = match self.at {
            At::Xdp => MOST_REACH,
            _ => MOST_DIRECT,
        };
        end(width, offset) <= most
    }

    /// Packets of fewer bytes are refused on every way from `node` on.
    pub(super) fn needed(&self, node: NodeId) -> u32 {
        self.needed[node.0 as usize]
    }

    /// Whether `node` leads every packet to its refusal.
    pub(super) fn refuses(&self, id: NodeId, node: Node) -> bool {
        let mut values = node.values().into_iter();
        self.needed(id) > MOST_REACH || values.any(|value| self.refuses[value.index()])
    }

    /// Whether nothing but one node or value asks for it.
    pub(super) fn is_used_once(&self, value: ValueId) -> bool {
        self.uses[value.index()] <= 1
    }

    pub(super) fn registers(&self, value: ValueId) -> u8 {
        self.registers[value.index()]
    }

    /// Bytes that the code reads directly.
    pub(super) fn direct_bytes(&self, values: &Values) -> u32 {
        let used = self.ends(values).into_iter().zip(&self.uses);
        let ends = used.filter_map(|(end, &uses)| (uses > 0).then_some(end));
        ends.max().unwrap_or(0)
    }

    fn describe(&mut self, value: Value, values: &Values) {
        let operands = value.operands().into_iter().flatten();
        let refuses = operands.fold(false, |any, id| any | self.refuses[id.index()]);
        let is_far = |width, offset| self.at == At::Xdp && !self.is_direct(width, offset);
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
            // At tc an offset may have to be in a register.
            Value::Load { base: None, .. } | Value::HeaderLength(_) if self.at != At::Xdp => 2,
            _ => 1,
        };
        self.refuses.push(refuses);
        self.registers.push(registers);
    }

    fn count_uses(&mut self, graph: &Graph, values: &Values) {
        for id in graph.reachable() {
            for value in graph.node(id).values() {
                self.uses[value.index()] += 1;
            }
        }
        // Operands come before what is made of them.
        for (id, value) in values.iter().rev() {
            if self.uses[id.index()] > 0 {
                for operand in value.operands().into_iter().flatten() {
                    self.uses[operand.index()] += 1;
                }
            }
        }
    }

    /// By value: where the bytes end that it takes directly from fixed offsets.
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

/// Where bytes at a fixed offset end.
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
