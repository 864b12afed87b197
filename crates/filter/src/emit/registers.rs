use crate::classic::Instruction;
use crate::error::Reason;
use crate::graph::values::{ValueId, Values, Variable};

/// Words of scratch memory (`BPF_MEMWORDS`).
const MEMORY_WORDS: u32 = 16;

/// What the registers hold, as far as it is the same on every way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Registers {
    /// The accumulator.
    pub a: Option<ValueId>,
    /// The index register.
    pub x: Option<ValueId>,
}

impl Registers {
    pub(super) fn meet(&mut self, other: Self) {
        self.a = self.a.filter(|_| self.a == other.a);
        self.x = self.x.filter(|_| self.x == other.x);
    }

    /// The variable has changed: what was made of it is no such value any more.
    pub(super) fn forget(&mut self, values: &Values, variable: Variable) {
        self.a = self.a.filter(|&a| !values.depends_on(a, variable));
        self.x = self.x.filter(|&x| !values.depends_on(x, variable));
    }
}

/// The machine while the code of one block is written.
pub(super) struct Machine<'a> {
    pub values: &'a mut Values,
    pub registers: Registers,
    pub code: Vec<Instruction>,
    next_word: u32,
}

impl<'a> Machine<'a> {
    /// `first_word` is the first word of scratch memory that is free.
    pub(super) fn new(values: &'a mut Values, registers: Registers, first_word: u32) -> Self {
        Self {
            values,
            registers,
            code: Vec::new(),
            next_word: first_word,
        }
    }

    pub(super) fn borrow_word(&mut self) -> Result<u32, Reason> {
        let word = self.next_word;
        if word >= MEMORY_WORDS {
            return Err(Reason::TooManyRegisters);
        }
        self.next_word += 1;
        Ok(word)
    }

    pub(super) fn give_back_word(&mut self) {
        self.next_word -= 1;
    }
}
