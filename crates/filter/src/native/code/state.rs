use crate::graph::values::{ValueId, Values, Variable};
use cranelift_codegen::ir;

/// Values kept in mind on a way; older ones are computed again.
const MOST_KEPT: usize = 24;

/// A form in which a value is at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The number, 32 bits.
    Number,
    /// The number, 64 bits.
    Wide,
    /// Bytes of the packet as the machine loads them, not swapped; 32 bits.
    Loaded,
}

/// What holds at one place of the code, whichever way led there.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// The packet has at least this many bytes.
    pub bytes: u64,
    /// From these offsets on, 64 bits wide, it has at least this many bytes. What was checked is the
    /// value at hand: bytes that are loaded again might be others, if somebody changes a mapped file.
    based: Vec<(ir::Value, u64)>,
    kept: Vec<(ValueId, Form, ir::Value)>,
}

impl State {
    pub(super) fn kept(&self, id: ValueId, form: Form) -> Option<ir::Value> {
        let mut kept = self.kept.iter().rev();
        kept.find(|kept| kept.0 == id && kept.1 == form)
            .map(|kept| kept.2)
    }

    pub(super) fn keep(&mut self, id: ValueId, form: Form, value: ir::Value) {
        if self.kept.len() >= MOST_KEPT {
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
        } else if self.based.len() < MOST_KEPT {
            self.based.push((base, bytes));
        }
    }

    /// The variable has changed: what was made of it is no such value any more.
    pub(super) fn forget(&mut self, values: &Values, variable: Variable) {
        self.kept
            .retain(|kept| !values.depends_on(kept.0, variable));
    }

    /// Keeps what holds on both ways. A value at hand on both was computed before they parted.
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
