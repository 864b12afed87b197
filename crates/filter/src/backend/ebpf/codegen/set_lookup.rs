//! eBPF code for set lookups: comparisons, binary search or a map.

use crate::backend::ebpf::codegen::writer::{FragmentWriter, JumpTest, REJECT, label};
use crate::backend::ebpf::insn::{Condition, Helper, Insn, Label, Operand, Reg, Size, Width};
use crate::backend::ebpf::map_keys::MapKind;
use crate::error::FilterErrorReason;
use crate::graph::condition::Member;
use crate::graph::control_flow::NodeId;
use crate::graph::sets::Set;

/// Up to this many ranges, binary search by comparisons costs less than a map lookup.
const MAX_COMPARED: usize = 64;
/// Up to this many ranges are compared linearly; more are split by binary search.
const MAX_IN_A_ROW: usize = 3;

/// How the result of a set lookup is tested.
pub(super) enum LookupResult {
    /// Compare the register with the ranges of the set.
    In(Reg),
    /// Test the result of the map lookup.
    By(JumpTest),
}

impl FragmentWriter {
    /// Looks up the words of `member` in `set`.
    pub(super) fn look_up(
        &mut self,
        member: &Member,
        set: &Set,
    ) -> Result<LookupResult, FilterErrorReason> {
        if let Set::Ranges(ranges) = set
            && ranges.len() <= MAX_COMPARED
        {
            return Ok(LookupResult::In(self.compute(member.words[0])?));
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
        Ok(LookupResult::By(JumpTest {
            condition: Condition::NotEqual,
            width: Width::W64,
            dst: Reg::R0,
            src: Operand::Imm(0),
        }))
    }

    /// Jumps to the first of `to` if the value is in the set, else to the second.
    pub(super) fn choose(
        &mut self,
        looked_up: LookupResult,
        set: &Set,
        to: [NodeId; 2],
        next: Option<NodeId>,
    ) {
        match (looked_up, set) {
            (LookupResult::By(compared), _) => self.branch(compared, to, next),
            (LookupResult::In(word), Set::Ranges(ranges)) => {
                self.search(word, ranges, to.map(label), next.map(label));
            }
            // Keys are always looked up in maps.
            (LookupResult::In(_), Set::Keys(..)) => self.push(Insn::Jump { target: REJECT }),
        }
    }

    fn search(&mut self, word: Reg, ranges: &[(u32, u32)], to: [Label; 2], next: Option<Label>) {
        let [yes, no] = to;
        if ranges.len() > MAX_IN_A_ROW {
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
                // A value outside the last range is in none; a value inside falls through.
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
