use crate::classic::Instruction;

/// A straight piece of a program; blocks are kept so that each leads only to earlier ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Block {
    pub code: Vec<Instruction>,
    pub end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum End {
    Return(u32),
    Goto(usize),
    Branch {
        code: u16,
        k: u32,
        yes: usize,
        no: usize,
    },
}

impl End {
    /// The same end, leading to `to` of where it led.
    pub(super) fn map(self, to: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::Return(verdict) => Self::Return(verdict),
            Self::Goto(next) => Self::Goto(to(next)),
            Self::Branch { code, k, yes, no } => Self::Branch {
                code,
                k,
                yes: to(yes),
                no: to(no),
            },
        }
    }

    /// Where it leads.
    pub(super) fn targets(self) -> impl Iterator<Item = usize> {
        let (first, second) = match self {
            Self::Return(_) => (None, None),
            Self::Goto(next) => (Some(next), None),
            Self::Branch { yes, no, .. } => (Some(yes), Some(no)),
        };
        first.into_iter().chain(second)
    }
}

/// An instruction that is no conditional jump.
pub(super) fn plain(code: u16, k: u32) -> Instruction {
    Instruction {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}
