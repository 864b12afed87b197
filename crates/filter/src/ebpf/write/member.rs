use super::writer::{Compared, REFUSE, Writer, label};
use crate::ebpf::insn::{Insn, Label};
use crate::ebpf::keys::MapKind;
use crate::ebpf::operand::{Condition, Helper, Operand, Reg, Size, Width};
use crate::error::Reason;
use crate::graph::condition::Member;
use crate::graph::nodes::NodeId;
use crate::graph::sets::Set;

/// Ranges up to which comparisons, of which few are made, cost less than a look into a map.
const MOST_COMPARED: usize = 64;
/// Ranges that are compared one after the other; more are halved first.
const MOST_IN_A_ROW: usize = 3;

/// How it is told whether something is in a set.
pub(super) enum LookedUp {
    /// The register is to be compared with the set's ranges.
    In(Reg),
    /// The map has been asked.
    By(Compared),
}

impl Writer {
    /// Asks whether the words of `member` are in `set`.
    pub(super) fn look_up(&mut self, member: &Member, set: &Set) -> Result<LookedUp, Reason> {
        if let Set::Ranges(ranges) = set
            && ranges.len() <= MOST_COMPARED
        {
            return Ok(LookedUp::In(self.compute(member.words[0])?));
        }
        let key = self.stack.key;
        match MapKind::of(set) {
            MapKind::Hash => {
                for (slot, &word) in (key..).step_by(4).zip(member.words()) {
                    let word_in = self.compute(word)?;
                    self.push(Insn::store(Size::Word, Reg::R10, slot, word_in));
                }
            }
            MapKind::LongestPrefix => {
                let word_in = self.compute(member.words[0])?;
                let dst = self.own(member.words[0], word_in)?;
                self.push(Insn::Be32ToHost { dst });
                self.push(Insn::store(Size::Word, Reg::R10, key + 4, dst));
                self.push(Insn::store(Size::Word, Reg::R10, key, 32));
            }
        }
        self.push(Insn::mov(Reg::R2, Reg::R10));
        self.push(Insn::add(Reg::R2, i32::from(key)));
        self.push(Insn::LoadMap {
            dst: Reg::R1,
            map: member.set,
        });
        self.push(Insn::Call(Helper::MapLookupElem));
        self.state.call();
        Ok(LookedUp::By(Compared {
            condition: Condition::NotEqual,
            width: Width::W64,
            dst: Reg::R0,
            src: Operand::Imm(0),
        }))
    }

    /// Goes to the first of `to` if it is in the set, else to the second.
    pub(super) fn choose(
        &mut self,
        looked_up: LookedUp,
        set: &Set,
        to: [NodeId; 2],
        next: Option<NodeId>,
    ) {
        match (looked_up, set) {
            (LookedUp::By(compared), _) => self.branch(compared, to, next),
            (LookedUp::In(word), Set::Ranges(ranges)) => {
                self.search(word, ranges, to.map(label), next.map(label));
            }
            // Keys are looked up in maps.
            (LookedUp::In(_), Set::Keys(..)) => self.push(Insn::Jump { target: REFUSE }),
        }
    }

    fn search(&mut self, word: Reg, ranges: &[(u32, u32)], to: [Label; 2], next: Option<Label>) {
        let [yes, no] = to;
        if ranges.len() > MOST_IN_A_ROW {
            let (low, high) = ranges.split_at(ranges.len() / 2);
            let high_half = self.new_label();
            let least = high[0].0.cast_signed();
            self.push(Insn::jump_if32(
                Condition::GreaterOrEqual,
                word,
                least,
                high_half,
            ));
            self.search(word, low, to, None);
            self.push(Insn::Place(high_half));
            return self.search(word, high, to, next);
        }
        for (at, &(least, most)) in ranges.iter().enumerate() {
            let (first, last) = (least.cast_signed(), most.cast_signed());
            let (condition, bound) = if least == most {
                (Condition::Equal, first)
            } else {
                self.push(Insn::jump_if32(Condition::Less, word, first, no));
                (Condition::LessOrEqual, last)
            };
            let is_last = at + 1 == ranges.len();
            match condition.opposite() {
                // What is not in the last one is in none, and what is goes on here.
                Some(opposite) if is_last && next == Some(yes) => {
                    self.push(Insn::jump_if32(opposite, word, bound, no));
                    return;
                }
                _ => self.push(Insn::jump_if32(condition, word, bound, yes)),
            }
        }
        if next != Some(no) {
            self.push(Insn::Jump { target: no });
        }
    }
}
