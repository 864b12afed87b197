use super::registers::{REGISTERS, State, place};
use super::survey::Survey;
use crate::ebpf::insn::{Insn, Label};
use crate::ebpf::operand::{Condition, Operand, Reg, Size, Width};
use crate::ebpf::program::{CONTEXT, DATA, skb, xdp};
use crate::error::Reason;
use crate::graph::condition::{Comparison, Test};
use crate::graph::nodes::{Graph, Node, NodeId};
use crate::graph::sets::{Set, SetId};
use crate::graph::values::{ValueId, Values};
use crate::options::At;

/// What the verifier gives a program of stack is 512 bytes; the rest is for those around a fragment.
const MOST_STACK: u16 = 384;
/// Branches after which the way that ends comes first. The verifier keeps the other way of each branch
/// until the first has ended, of 8192 at most (`BPF_COMPLEXITY_LIMIT_JMP_SEQ`).
const MOST_OPEN: u32 = 4000;

/// Places where variables get their values whose ways the verifier can follow.
const MOST_FOLLOWED: usize = 32;

/// Nodes that the verifier can look at many times.
const MOST_NODES: usize = 128;

/// A filter's code.
pub(in crate::ebpf) struct Written {
    pub code: Vec<Insn<SetId>>,
    pub labels: u32,
    pub stack_bytes: u16,
    pub direct_bytes: u16,
    pub forgets: bool,
}

/// What code is written of.
pub(in crate::ebpf) struct Source<'a> {
    pub graph: &'a Graph,
    pub values: &'a Values,
    pub sets: &'a [Set],
    pub at: At,
    /// Bytes at the packet's beginning that are known to be there.
    pub bytes: u32,
}

/// Writes the code of a filter, node by node, each before those it leads to.
pub(in crate::ebpf) fn write(source: &Source<'_>) -> Result<Written, Reason> {
    let graph = source.graph;
    let mut writer = Writer::new(source);
    let order = graph.reachable();
    let mut entries: Vec<Option<State>> = vec![None; graph.len()];
    entries[graph.root.0 as usize] = Some(State {
        proven: source.bytes,
        ..State::default()
    });
    for (at, &id) in order.iter().enumerate() {
        let node = graph.node(id);
        let (false, Some(entry)) = (is_end(id), entries[id.0 as usize]) else {
            continue;
        };
        writer.push(Insn::Place(label(id)));
        if writer.survey.refuses(id, node) {
            writer.push(Insn::Jump { target: REFUSE });
            continue;
        }
        writer.enter(entry, writer.survey.needed(id));
        let exits = match node {
            Node::Test { test, yes, no } => {
                let compared = writer.compare(test)?;
                writer.leave(&mut entries, [yes, no]);
                let next = next(&order[at + 1..], &entries);
                writer.branch(compared, [yes, no], next);
                continue;
            }
            Node::Member { member, yes, no } => {
                let set = &source.sets[member.set.0 as usize];
                let looked_up = writer.look_up(&member, set)?;
                writer.leave(&mut entries, [yes, no]);
                let next = next(&order[at + 1..], &entries);
                writer.choose(looked_up, set, [yes, no], next);
                continue;
            }
            Node::Let {
                variable,
                value,
                next,
            } => {
                writer.set(variable, value)?;
                next
            }
            Node::Reject | Node::Accept => continue,
        };
        writer.leave(&mut entries, [exits, exits]);
        if next(&order[at + 1..], &entries) != Some(exits) {
            writer.push(Insn::Jump {
                target: label(exits),
            });
        }
    }
    if is_end(graph.root) {
        writer.push(Insn::Jump {
            target: label(graph.root),
        });
    }
    Ok(writer.finish())
}

/// The node that is written next.
fn next(rest: &[NodeId], entries: &[Option<State>]) -> Option<NodeId> {
    let mut rest = rest.iter().copied();
    rest.find(|&id| !is_end(id) && entries[id.0 as usize].is_some())
}

fn is_end(id: NodeId) -> bool {
    id == Graph::REJECT || id == Graph::ACCEPT
}

/// Where packets go that are refused.
pub(super) const REFUSE: Label = Label(Graph::REJECT.0);

pub(super) fn label(id: NodeId) -> Label {
    Label(id.0)
}

/// A comparison of a register, to jump by.
#[derive(Clone, Copy)]
pub(super) struct Compared {
    pub condition: Condition,
    pub width: Width,
    pub dst: Reg,
    pub src: Operand,
}

pub(super) struct Writer {
    pub at: At,
    pub values: Values,
    pub survey: Survey,
    pub state: State,
    /// Bytes that packets have which are accepted from here on.
    pub needed: u32,
    /// Which of the registers must not be given away, a bit each.
    pub pinned: u8,
    pub code: Vec<Insn<SetId>>,
    /// What is rarely needed, and comes behind all else.
    pub aside: Vec<Insn<SetId>>,
    pub stack: Stack,
    /// Whether the verifier is kept from following what each way gives to variables: it would look
    /// at what comes behind them once for each of many ways.
    pub forgets: bool,
    /// Whether the graph is so large that the verifier can look at each node a few times only.
    is_large: bool,
    /// Whether the verifier knows less of the packet's bytes behind the code than in front of it.
    has_forgotten: bool,
    labels: u32,
    branches: u32,
}

/// Places on the stack, as displacements from its end.
pub(super) struct Stack {
    /// 16 bytes for a key.
    pub key: i16,
    /// 8 bytes for what a call brings.
    pub buffer: i16,
    /// 8 bytes for each of the registers during a call.
    pub saved: i16,
    /// Bytes that are in use, and the most that were.
    used: u16,
    most: u16,
}

impl Stack {
    fn new(variables: u16) -> Self {
        let mut stack = Self {
            key: 0,
            buffer: 0,
            saved: 0,
            used: variables * 8,
            most: 0,
        };
        stack.key = stack.reserve(16);
        stack.buffer = stack.reserve(8);
        stack.saved = stack.reserve(8 * REGISTERS.len() as u16);
        stack
    }

    fn reserve(&mut self, bytes: u16) -> i16 {
        self.used += bytes;
        self.most = self.most.max(self.used);
        -self.used.cast_signed()
    }

    pub(super) fn borrow(&mut self) -> Result<i16, Reason> {
        if self.used + 8 > MOST_STACK {
            return Err(Reason::TooManyRegisters);
        }
        Ok(self.reserve(8))
    }

    pub(super) fn give_back(&mut self) {
        self.used -= 8;
    }
}

impl Writer {
    fn new(source: &Source<'_>) -> Self {
        let (graph, values) = (source.graph, source.values.clone());
        let order = graph.reachable();
        let variables = order.iter().filter_map(|&id| match graph.node(id) {
            Node::Let { variable, .. } => Some(u16::from(variable.0) + 1),
            _ => None,
        });
        Self {
            at: source.at,
            survey: Survey::of(graph, &values, source.at),
            values,
            state: State::default(),
            needed: 0,
            pinned: 0,
            code: Vec::new(),
            aside: Vec::new(),
            stack: Stack::new(variables.clone().max().unwrap_or(0)),
            forgets: variables.count() > MOST_FOLLOWED || order.len() > MOST_NODES,
            is_large: order.len() > MOST_NODES,
            has_forgotten: false,
            labels: graph.len() as u32,
            branches: 0,
        }
    }

    fn finish(mut self) -> Written {
        self.code.append(&mut self.aside);
        Written {
            labels: self.labels,
            stack_bytes: self.stack.most,
            direct_bytes: self.survey.direct_bytes(&self.values) as u16,
            code: self.code,
            forgets: self.has_forgotten,
        }
    }

    pub(super) fn push(&mut self, insn: Insn<SetId>) {
        self.code.push(insn);
    }

    pub(super) fn new_label(&mut self) -> Label {
        let label = Label(self.labels);
        self.labels += 1;
        label
    }

    fn enter(&mut self, entry: State, needed: u32) {
        self.state = entry;
        self.needed = needed;
        let is_join = std::mem::take(&mut self.state.is_join);
        let is_mixed = std::mem::take(&mut self.state.is_mixed);
        if !self.is_large || !is_join {
            return;
        }
        // The verifier knows more of what registers hold than that they hold it, other things on
        // other ways, and would look at the rest with each combination of those.
        self.state.held = State::default().held;
        self.state.pointer = None;
        if is_mixed {
            // A new address of the packet's beginning, of which nothing is known on any way.
            let field = match self.at {
                At::Xdp => xdp::DATA,
                _ => skb::DATA,
            };
            self.push(Insn::load(Size::Word, DATA, CONTEXT, field));
            self.state.proven = 0;
            self.has_forgotten = true;
        }
    }

    fn leave(&self, entries: &mut [Option<State>], to: [NodeId; 2]) {
        for id in to {
            match &mut entries[id.0 as usize] {
                Some(there) => there.meet(&self.state),
                empty => *empty = Some(self.state),
            }
        }
    }

    fn compare(&mut self, test: Test) -> Result<Compared, Reason> {
        let condition = match test.comparison {
            Comparison::Equal => Condition::Equal,
            Comparison::Greater => Condition::Greater,
            Comparison::AtLeast => Condition::GreaterOrEqual,
            Comparison::AnyBit => Condition::AnyBitSet,
        };
        let (dst, src) = if let Some(constant) = self.values.as_constant(test.right) {
            let left = self.compute(test.left)?;
            (left, Operand::Imm(constant.cast_signed()))
        } else {
            let (left, right) = self.pair(test.left, test.right)?;
            (left, Operand::Reg(right))
        };
        Ok(Compared {
            condition,
            width: Width::W32,
            dst,
            src,
        })
    }

    /// Goes to the first of `to` if the comparison holds, else to the second.
    pub(super) fn branch(&mut self, compared: Compared, to: [NodeId; 2], next: Option<NodeId>) {
        self.branches += 1;
        let [yes, no] = to;
        let opposite = compared.condition.opposite();
        let ends_first = self.branches > MOST_OPEN;
        let inverts = if ends_first {
            is_end(yes)
        } else {
            next == Some(yes)
        };
        let (condition, [to, other]) = match opposite {
            Some(opposite) if inverts => (opposite, [no, yes]),
            _ => (compared.condition, [yes, no]),
        };
        self.push(Insn::JumpIf {
            condition,
            width: compared.width,
            dst: compared.dst,
            src: compared.src,
            target: label(to),
        });
        if next != Some(other) {
            self.push(Insn::Jump {
                target: label(other),
            });
        }
    }

    /// A register for a new value.
    pub(super) fn free(&mut self) -> Result<Reg, Reason> {
        let unpinned = |at: &usize| self.pinned & 1 << at == 0;
        let all = || (0..REGISTERS.len()).filter(unpinned);
        // Of those that hold something, the one whose value nothing else asks for.
        let is_spent =
            |at: usize| self.state.held[at].is_some_and(|value| self.survey.is_used_once(value));
        let at = all()
            .find(|&at| self.state.held[at].is_none())
            .or_else(|| all().find(|&at| is_spent(at)))
            .or_else(|| all().next())
            .ok_or(Reason::TooManyRegisters)?;
        self.state.held[at] = None;
        Ok(REGISTERS[at])
    }

    pub(super) fn pin(&mut self, register: Reg) {
        self.pinned |= 1 << place(register);
    }

    pub(super) fn unpin(&mut self, register: Reg) {
        self.pinned &= !(1 << place(register));
    }

    /// Registers that may be given away.
    pub(super) fn unpinned(&self) -> u8 {
        REGISTERS.len() as u8 - self.pinned.count_ones() as u8
    }

    pub(super) fn hold(&mut self, register: Reg, value: ValueId) {
        self.state.held[place(register)] = Some(value);
    }
}
