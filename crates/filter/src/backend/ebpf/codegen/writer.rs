//! Writes the eBPF code of a graph, node by node.

use crate::backend::ebpf::codegen::analysis::Analysis;
use crate::backend::ebpf::context::{CONTEXT, DATA, skb, xdp};
use crate::backend::ebpf::insn::{Condition, Insn, Label, Operand, Reg, Size, Width};
use crate::error::FilterErrorReason;
use crate::graph::condition::{Comparison, Test};
use crate::graph::control_flow::{Graph, Node, NodeId};
use crate::graph::sets::{Set, SetId};
use crate::graph::values::{ValueId, Values, Variable};
use crate::options::FilterTarget;

/// The verifier allows 512 bytes of stack; the rest is for the code around a fragment.
const MAX_STACK: u16 = 384;
/// After this many branches, the successor that ends the fragment comes first. The verifier queues
/// one successor of each branch until the other one has ended, at most 8192
/// (`BPF_COMPLEXITY_LIMIT_JMP_SEQ`).
const MAX_OPEN: u32 = 4000;

/// Up to this many assignments, the verifier can track variables on all paths.
const MAX_FOLLOWED: usize = 32;

/// Up to this many nodes, the verifier can visit each node many times.
const MAX_NODES: usize = 128;

/// The code of a filter.
pub(in crate::backend::ebpf) struct GeneratedCode {
    pub code: Vec<Insn<SetId>>,
    pub labels: u32,
    pub stack_bytes: u16,
    pub direct_bytes: u16,
    pub loses_bounds: bool,
}

/// The input of code generation.
pub(in crate::backend::ebpf) struct CodegenInput<'a> {
    pub graph: &'a Graph,
    pub values: &'a Values,
    pub sets: &'a [Set],
    pub at: FilterTarget,
    /// Bytes from the start of the packet that are known to exist.
    pub bytes: u32,
}

/// Writes the code of a filter, node by node in topological order.
pub(in crate::backend::ebpf) fn write(
    input: &CodegenInput<'_>,
) -> Result<GeneratedCode, FilterErrorReason> {
    let graph = input.graph;
    let mut writer = FragmentWriter::new(input);
    let order = graph.reachable();
    let mut entries: Vec<Option<RegisterState>> = vec![None; graph.len()];
    entries[graph.root.0 as usize] = Some(RegisterState {
        proven: input.bytes,
        ..RegisterState::default()
    });
    for (at, &id) in order.iter().enumerate() {
        let node = graph.node(id);
        let (false, Some(entry)) = (is_end(id), entries[id.0 as usize]) else {
            continue;
        };
        writer.push(Insn::Place(label(id)));
        if writer.analysis.rejects(id, node) {
            writer.push(Insn::Jump { target: REJECT });
            continue;
        }
        writer.enter(entry, writer.analysis.needed(id));
        let exits = match node {
            Node::Test { test, yes, no } => {
                let compared = writer.compare(test)?;
                writer.leave(&mut entries, [yes, no]);
                let next = next(&order[at + 1..], &entries);
                writer.branch(compared, [yes, no], next);
                continue;
            }
            Node::Member { member, yes, no } => {
                let set = &input.sets[member.set.0 as usize];
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

/// The next node to be written.
fn next(rest: &[NodeId], entries: &[Option<RegisterState>]) -> Option<NodeId> {
    let mut rest = rest.iter().copied();
    rest.find(|&id| !is_end(id) && entries[id.0 as usize].is_some())
}

fn is_end(id: NodeId) -> bool {
    id == Graph::REJECT || id == Graph::ACCEPT
}

/// The label for rejected packets.
pub(super) const REJECT: Label = Label(Graph::REJECT.0);

pub(super) fn label(id: NodeId) -> Label {
    Label(id.0)
}

/// The condition of a jump.
#[derive(Clone, Copy)]
pub(super) struct JumpTest {
    pub condition: Condition,
    pub width: Width,
    pub dst: Reg,
    pub src: Operand,
}

pub(super) struct FragmentWriter {
    pub at: FilterTarget,
    pub values: Values,
    pub analysis: Analysis,
    pub state: RegisterState,
    /// Minimum length of packets that are accepted from here on.
    pub needed: u32,
    /// Registers that must not be reallocated, as a bit mask.
    pub pinned: u8,
    pub code: Vec<Insn<SetId>>,
    /// Rarely executed code, placed after everything else.
    pub aside: Vec<Insn<SetId>>,
    pub stack: Stack,
    /// Whether to hide the value ranges of variables from the verifier. Otherwise it would verify
    /// the code after an assignment once for each of many paths.
    pub hides_ranges: bool,
    /// Whether the graph is so large that the verifier can visit each node only a few times.
    is_large: bool,
    /// Whether the code has made the verifier lose packet bounds.
    loses_bounds: bool,
    labels: u32,
    branches: u32,
}

/// Stack slots, as displacements from `R10`.
pub(super) struct Stack {
    /// 16 bytes for a key.
    pub key: i16,
    /// 8 bytes for the result of `bpf_skb_load_bytes`.
    pub buffer: i16,
    /// 8 bytes for each register, to save it during a call.
    pub saved: i16,
    /// Bytes in use, and their maximum.
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

    pub(super) fn borrow(&mut self) -> Result<i16, FilterErrorReason> {
        if self.used + 8 > MAX_STACK {
            return Err(FilterErrorReason::TooManyRegisters);
        }
        Ok(self.reserve(8))
    }

    pub(super) fn give_back(&mut self) {
        self.used -= 8;
    }
}

impl FragmentWriter {
    fn new(input: &CodegenInput<'_>) -> Self {
        let (graph, values) = (input.graph, input.values.clone());
        let order = graph.reachable();
        let variables = order.iter().filter_map(|&id| match graph.node(id) {
            Node::Let { variable, .. } => Some(u16::from(variable.0) + 1),
            _ => None,
        });
        Self {
            at: input.at,
            analysis: Analysis::of(graph, &values, input.at),
            values,
            state: RegisterState::default(),
            needed: 0,
            pinned: 0,
            code: Vec::new(),
            aside: Vec::new(),
            stack: Stack::new(variables.clone().max().unwrap_or(0)),
            hides_ranges: variables.count() > MAX_FOLLOWED || order.len() > MAX_NODES,
            is_large: order.len() > MAX_NODES,
            loses_bounds: false,
            labels: graph.len() as u32,
            branches: 0,
        }
    }

    fn finish(mut self) -> GeneratedCode {
        self.code.append(&mut self.aside);
        GeneratedCode {
            labels: self.labels,
            stack_bytes: self.stack.most,
            direct_bytes: self.analysis.direct_bytes(&self.values) as u16,
            code: self.code,
            loses_bounds: self.loses_bounds,
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

    fn enter(&mut self, entry: RegisterState, needed: u32) {
        self.state = entry;
        self.needed = needed;
        let is_join = std::mem::take(&mut self.state.is_join);
        let is_mixed = std::mem::take(&mut self.state.is_mixed);
        if !self.is_large || !is_join {
            return;
        }
        // The verifier tracks value ranges in registers, which differ by path, and would verify the
        // rest once for each combination.
        self.state.held = RegisterState::default().held;
        self.state.pointer = None;
        if is_mixed {
            // Reload the packet start: the verifier knows no bounds for it on any path.
            let field = match self.at {
                FilterTarget::Xdp => xdp::DATA,
                _ => skb::DATA,
            };
            self.push(Insn::load(Size::Word, DATA, CONTEXT, field));
            self.state.proven = 0;
            self.loses_bounds = true;
        }
    }

    fn leave(&self, entries: &mut [Option<RegisterState>], to: [NodeId; 2]) {
        for id in to {
            match &mut entries[id.0 as usize] {
                Some(there) => there.meet(&self.state),
                empty => *empty = Some(self.state),
            }
        }
    }

    fn compare(&mut self, test: Test) -> Result<JumpTest, FilterErrorReason> {
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
        Ok(JumpTest {
            condition,
            width: Width::W32,
            dst,
            src,
        })
    }

    /// Jumps to the first of `to` if the condition holds, else to the second.
    pub(super) fn branch(&mut self, compared: JumpTest, to: [NodeId; 2], next: Option<NodeId>) {
        self.branches += 1;
        let [yes, no] = to;
        let opposite = compared.condition.opposite();
        let ends_first = self.branches > MAX_OPEN;
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

    /// Allocates a register.
    pub(super) fn free(&mut self) -> Result<Reg, FilterErrorReason> {
        let unpinned = |at: &usize| self.pinned & 1 << at == 0;
        let all = || (0..REGISTERS.len()).filter(unpinned);
        // Prefer a register whose value has no further use.
        let is_spent =
            |at: usize| self.state.held[at].is_some_and(|value| self.analysis.is_used_once(value));
        let at = all()
            .find(|&at| self.state.held[at].is_none())
            .or_else(|| all().find(|&at| is_spent(at)))
            .or_else(|| all().next())
            .ok_or(FilterErrorReason::TooManyRegisters)?;
        self.state.held[at] = None;
        Ok(REGISTERS[at])
    }

    pub(super) fn pin(&mut self, register: Reg) {
        self.pinned |= 1 << place(register);
    }

    pub(super) fn unpin(&mut self, register: Reg) {
        self.pinned &= !(1 << place(register));
    }

    /// The number of registers that may be reallocated.
    pub(super) fn unpinned(&self) -> u8 {
        REGISTERS.len() as u8 - self.pinned.count_ones() as u8
    }

    pub(super) fn hold(&mut self, register: Reg, value: ValueId) {
        self.state.held[place(register)] = Some(value);
    }
}

/// The registers for values.
pub(super) const REGISTERS: [Reg; 6] = [Reg::R1, Reg::R2, Reg::R3, Reg::R4, Reg::R5, Reg::R0];

/// The index of `register` in [`REGISTERS`].
pub(super) fn place(register: Reg) -> usize {
    match register {
        Reg::R0 => 5,
        other => (other as usize).saturating_sub(1),
    }
}

/// A packet address in `R9`: that of offset `base + origin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pointer {
    pub base: ValueId,
    pub origin: u32,
    /// Bytes after it that are proven to exist.
    pub proven: u32,
}

/// What is known at one point of the code, on every path to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RegisterState {
    /// What each of [`REGISTERS`] holds.
    pub held: [Option<ValueId>; REGISTERS.len()],
    pub pointer: Option<Pointer>,
    /// Bytes from the start of the packet that are proven to exist.
    pub proven: u32,
    /// Whether several paths join here, and whether they have proven different lengths.
    pub is_join: bool,
    pub is_mixed: bool,
}

impl RegisterState {
    pub(super) fn meet(&mut self, other: &Self) {
        for (mine, other) in self.held.iter_mut().zip(other.held) {
            *mine = mine.filter(|_| *mine == other);
        }
        self.is_join = true;
        self.is_mixed |= other.is_mixed || self.proven != other.proven;
        self.pointer = match (self.pointer, other.pointer) {
            (Some(mine), Some(other)) if (mine.base, mine.origin) == (other.base, other.origin) => {
                Some(Pointer {
                    proven: mine.proven.min(other.proven),
                    ..mine
                })
            }
            _ => None,
        };
        self.proven = self.proven.min(other.proven);
    }

    /// Forgets the values that depend on `variable`, which has changed.
    pub(super) fn forget(&mut self, values: &Values, variable: Variable) {
        for held in &mut self.held {
            *held = held.filter(|&id| !values.depends_on(id, variable));
        }
        let pointer = self.pointer;
        self.pointer = pointer.filter(|pointer| !values.depends_on(pointer.base, variable));
    }

    /// Forgets all registers after a call.
    pub(super) fn call(&mut self) {
        self.held = [None; REGISTERS.len()];
    }

    pub(super) fn holder(&self, value: ValueId) -> Option<Reg> {
        let at = self.held.iter().position(|held| *held == Some(value))?;
        Some(REGISTERS[at])
    }
}
