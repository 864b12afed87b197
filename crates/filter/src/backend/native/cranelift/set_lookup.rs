//! Native code for set lookups.

use crate::backend::native::cranelift::set_tables::{Bits, Hash, Index, Keys, Table, Words};
use crate::backend::native::cranelift::writer::{FunctionWriter, plain};
use crate::graph::condition::Member;
use crate::graph::control_flow::NodeId;
use crate::graph::sets::SetId;
use cranelift_codegen::ir;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, types};

impl FunctionWriter<'_, '_> {
    /// The bitmap of the set, if it is one.
    pub(super) fn bits_of(&self, set: SetId) -> Option<Bits> {
        match self.input.tables.sets[set.0 as usize].as_slice() {
            &[Table::Bits(bits)] => Some(bits),
            _ => None,
        }
    }

    /// The condition that the bit of `number` equals `outcome`. Without `bits`, all bits are 0.
    /// Numbers outside of the bitmap use bit `count`, which is 0.
    pub(super) fn bit(
        &mut self,
        number: ir::Value,
        bits: Option<Bits>,
        outcome: bool,
    ) -> ir::Value {
        let Some(bits) = bits else {
            return self.constant(u32::from(!outcome));
        };
        let number = match bits.least {
            0 => number,
            least => {
                let back = least.wrapping_neg();
                self.builder.ins().iadd_imm_u(number, i64::from(back))
            }
        };
        let outside = self.constant(bits.count);
        let at = self.builder.ins().umin(number, outside);
        self.bit_at(bits.words, at, outcome)
    }

    /// The condition that bit `at` of a table equals `outcome`.
    fn bit_at(&mut self, words: Words, at: ir::Value, outcome: bool) -> ir::Value {
        let index = self.builder.ins().ushr_imm_u(at, 5);
        let word = self.word_at(words, index, 0);
        // Shifts use the low five bits.
        let bit = self.builder.ins().ushr(word, at);
        let bit = self.builder.ins().band_imm_u(bit, 1);
        let code = if outcome {
            IntCC::NotEqual
        } else {
            IntCC::Equal
        };
        self.builder.ins().icmp_imm_u(code, bit, 0)
    }

    fn address(&mut self, words: Words) -> ir::Value {
        let address = self.input.tables.address(words).expose_provenance();
        self.builder
            .ins()
            .iconst(types::I64, address.cast_signed() as i64)
    }

    /// The word at `index + further` of a table.
    fn word_at(&mut self, words: Words, index: ir::Value, further: i32) -> ir::Value {
        let start = self.address(words);
        let address = self.place(start, index, 2);
        let ins = self.builder.ins();
        ins.load(types::I32, plain(), address, further * 4)
    }

    /// The address of element `index` (of `1 << shift` bytes) of an array at `start`.
    fn place(&mut self, start: ir::Value, index: ir::Value, shift: u32) -> ir::Value {
        let index = self.builder.ins().uextend(types::I64, index);
        let offset = self.builder.ins().ishl_imm_u(index, i64::from(shift));
        self.builder.ins().iadd(start, offset)
    }

    /// Branches by whether the key is in the set, table by table.
    pub(super) fn search(
        &mut self,
        member: &Member,
        yes: NodeId,
        no: NodeId,
        part_of: Option<NodeId>,
    ) {
        let words: Vec<_> = member
            .words()
            .iter()
            .map(|&word| self.number(word))
            .collect();
        let (yes, no) = (self.lead(yes, part_of), self.lead(no, part_of));
        let tables = self.input.tables;
        let Some((last, first)) = tables.sets[member.set.0 as usize].split_last() else {
            self.builder.ins().jump(no, &[]);
            return;
        };
        for table in first {
            let next = self.builder.create_block();
            self.look_up(table, &words, yes, next);
            self.switch_to(next);
        }
        self.look_up(last, &words, yes, no);
    }

    fn look_up(&mut self, table: &Table, words: &[ir::Value], yes: ir::Block, no: ir::Block) {
        match table {
            Table::Bits(bits) => {
                let condition = self.bit(words[0], Some(*bits), true);
                self.branch(condition, yes, no);
            }
            Table::Hash(hash) => self.look_up_hash(hash, words[0], yes, no),
            Table::Index(index) => self.look_up_index(index, words[0], yes, no),
            Table::Keys(keys) => self.look_up_keys(keys, words, yes, no),
        }
    }

    fn look_up_hash(&mut self, table: &Hash, number: ir::Value, yes: ir::Block, no: ir::Block) {
        let multiplier = self.constant(table.multiplier);
        let hash = self.builder.ins().imul(number, multiplier);
        let shift = i64::from(table.filter_shift);
        let at = self.builder.ins().ushr_imm_u(hash, shift);
        let may_be = self.bit_at(table.filter, at, true);
        let probe = self.builder.create_block();
        self.branch(may_be, probe, no);
        self.switch_to(probe);
        let home = self.builder.ins().ushr_imm_u(hash, i64::from(table.shift));
        let start = self.address(table.slots);
        let first = self.place(start, home, 2);
        self.probe(first, &[number], &[table.empty], 4, yes, no);
    }

    fn look_up_keys(&mut self, table: &Keys, words: &[ir::Value], yes: ir::Block, no: ir::Block) {
        let mut hash = None;
        for &word in words {
            let mixed = match hash {
                Some(hash) => self.builder.ins().bxor(hash, word),
                None => word,
            };
            let multiplier = self.constant(table.multiplier);
            hash = Some(self.builder.ins().imul(mixed, multiplier));
        }
        let Some(hash) = hash else {
            self.builder.ins().jump(no, &[]);
            return;
        };
        let home = self.builder.ins().ushr_imm_u(hash, i64::from(table.shift));
        let start = self.address(table.slots);
        let first = self.place(start, home, 2 + table.stride.trailing_zeros());
        let slot_bytes = i64::from(table.stride) * 4;
        self.probe(first, words, &table.empty, slot_bytes, yes, no);
    }

    /// Probes slots from `first` until one holds `key` or is free.
    ///
    /// Terminates, because a free slot follows every run of used ones.
    fn probe(
        &mut self,
        first: ir::Value,
        key: &[ir::Value],
        empty: &[u32],
        slot_bytes: i64,
        yes: ir::Block,
        no: ir::Block,
    ) {
        let look = self.builder.create_block();
        let slot = self.builder.append_block_param(look, types::I64);
        let (other, next) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().jump(look, &[BlockArg::from(first)]);
        self.builder.switch_to_block(look);
        let offsets = (0..).step_by(4).take(key.len());
        let held: Vec<_> = offsets
            .map(|offset: i32| {
                let ins = self.builder.ins();
                ins.load(types::I32, plain(), slot, offset)
            })
            .collect();
        let is_key = self.differences(&held, key);
        self.builder.ins().brif(is_key, other, &[], yes, &[]);
        self.switch_to(other);
        let free: Vec<_> = empty[..key.len()]
            .iter()
            .map(|&word| self.constant(word))
            .collect();
        let is_taken = self.differences(&held, &free);
        self.branch(is_taken, next, no);
        self.switch_to(next);
        let behind = self.builder.ins().iadd_imm_u(slot, slot_bytes);
        self.builder.ins().jump(look, &[BlockArg::from(behind)]);
        self.builder.seal_block(look);
    }

    /// A word that is not 0 if the two keys differ.
    fn differences(&mut self, one: &[ir::Value], two: &[ir::Value]) -> ir::Value {
        if let ([one], [two]) = (one, two) {
            return self.builder.ins().icmp(IntCC::NotEqual, *one, *two);
        }
        let mut all = None;
        for (&one, &two) in one.iter().zip(two) {
            let word = self.builder.ins().bxor(one, two);
            all = Some(match all {
                Some(all) => self.builder.ins().bor(all, word),
                None => word,
            });
        }
        all.unwrap_or_else(|| self.constant(0))
    }

    fn look_up_index(&mut self, table: &Index, number: ir::Value, yes: ir::Block, no: ir::Block) {
        let least = self.constant(table.least);
        let distance = self.builder.ins().isub(number, least);
        let compare = IntCC::UnsignedGreaterThan;
        let span = table.most - table.least;
        let is_outside = self
            .builder
            .ins()
            .icmp_imm_u(compare, distance, i64::from(span));
        let inside = self.builder.create_block();
        self.branch(is_outside, no, inside);
        self.switch_to(inside);
        let shift = i64::from(table.filter_shift);
        let at = self.builder.ins().ushr_imm_u(distance, shift);
        let may_be = self.bit_at(table.filter, at, true);
        let near = self.builder.create_block();
        self.branch(may_be, near, no);
        self.switch_to(near);
        let shift = i64::from(table.shift);
        let bucket = self.builder.ins().ushr_imm_u(distance, shift);
        let low = self.word_at(table.starts, bucket, 0);
        let high = self.word_at(table.starts, bucket, 1);
        let behind = self.halve(table.firsts, number, low, high);
        // The first range starts at `least`, so at least one range starts at or before the number.
        let last = self.builder.ins().iadd_imm_s(behind, -1);
        let end = self.word_at(table.lasts, last, 0);
        let is_in = self
            .builder
            .ins()
            .icmp(IntCC::UnsignedLessThanOrEqual, number, end);
        self.branch(is_in, yes, no);
    }

    /// The first index in `low..high` whose element of `firsts` is greater than `number`.
    ///
    /// Terminates, because each iteration halves the distance.
    fn halve(
        &mut self,
        firsts: Words,
        number: ir::Value,
        low: ir::Value,
        high: ir::Value,
    ) -> ir::Value {
        let (look, halve, found) = (
            self.builder.create_block(),
            self.builder.create_block(),
            self.builder.create_block(),
        );
        let from = self.builder.append_block_param(look, types::I32);
        let to = self.builder.append_block_param(look, types::I32);
        let start = [BlockArg::from(low), BlockArg::from(high)];
        self.builder.ins().jump(look, &start);
        self.builder.switch_to_block(look);
        let is_open = self.builder.ins().icmp(IntCC::UnsignedLessThan, from, to);
        self.branch(is_open, halve, found);
        self.switch_to(halve);
        let sum = self.builder.ins().iadd(from, to);
        let middle = self.builder.ins().ushr_imm_u(sum, 1);
        let first = self.word_at(firsts, middle, 0);
        let is_before = self
            .builder
            .ins()
            .icmp(IntCC::UnsignedLessThanOrEqual, first, number);
        let above = self.builder.ins().iadd_imm_u(middle, 1);
        let from_next = self.builder.ins().select(is_before, above, from);
        let to_next = self.builder.ins().select(is_before, to, middle);
        let again = [BlockArg::from(from_next), BlockArg::from(to_next)];
        self.builder.ins().jump(look, &again);
        self.builder.seal_block(look);
        self.switch_to(found);
        from
    }
}
