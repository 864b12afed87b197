//! Classic BPF programs, and their text form.

use crate::classic::check::InvalidProgram;
use crate::classic::instruction::{Instruction, MAX_INSTRUCTIONS, MAX_USER_INSTRUCTIONS};
use crate::classic::{check, opcode};
use std::fmt;
use std::num::IntErrorKind;
use std::str::FromStr;

/// A classic BPF program that satisfies the kernel's rules, possibly except for its length.
///
/// `FromStr` parses the decimal form of `tcpdump -ddd`, and `Display` prints it.
/// [`ClassicProgram::run`] returns the verdict on a packet, and [`ClassicProgram::listing`] a
/// readable listing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClassicProgram {
    instructions: Vec<Instruction>,
}

impl ClassicProgram {
    /// Checks `instructions` by the rules of the kernel.
    ///
    /// # Errors
    /// [`InvalidProgram`] has the first instruction that violates a rule, and the rule.
    /// # Source
    /// `bpf_check_classic`, net/core/filter.c.
    pub fn new(instructions: Vec<Instruction>) -> Result<Self, InvalidProgram> {
        check::check(&instructions, MAX_INSTRUCTIONS)?;
        Ok(Self { instructions })
    }

    /// Checks `instructions` by the rules of the kernel, but allows [`MAX_USER_INSTRUCTIONS`]: a longer program than the
    /// kernel's limit runs in user space alone.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn for_user_space(instructions: Vec<Instruction>) -> Result<Self, InvalidProgram> {
        check::check(&instructions, MAX_USER_INSTRUCTIONS)?;
        Ok(Self { instructions })
    }

    /// A program that keeps `snaplen` bytes of every packet.
    pub fn keep(snaplen: u32) -> Self {
        let code = opcode::RET_K;
        let (jt, jf, k) = (0, 0, snaplen);
        Self {
            instructions: vec![Instruction { code, jt, jf, k }],
        }
    }

    /// The instructions in order; there is at least one, and the last is a return.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }
}

impl fmt::Display for ClassicProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.instructions.len())?;
        for instruction in &self.instructions {
            writeln!(f, "{instruction}")?;
        }
        Ok(())
    }
}

/// Why a text is not a valid program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseErrorReason {
    /// The first line is not a number of instructions from 1 to [`MAX_INSTRUCTIONS`].
    #[error("expected the number of instructions (1 to {MAX_INSTRUCTIONS})")]
    Count,
    /// The text ends before the announced number of instructions.
    #[error("{announced} instructions announced, {there} found")]
    TooFew {
        /// Instructions announced by the first line.
        announced: usize,
        /// Instructions found.
        there: usize,
    },
    /// The text continues after the announced number of instructions.
    #[error("more than the {announced} instructions announced")]
    TooMany {
        /// Instructions announced by the first line.
        announced: usize,
    },
    /// The line does not have exactly the four fields `code jt jf k`.
    #[error("expected \"code jt jf k\", found {0} fields")]
    Fields(usize),
    /// The named field is not a decimal number.
    #[error("{0} is not a decimal number")]
    NotANumber(&'static str),
    /// The named field does not fit in its type.
    #[error("{0} is too large")]
    TooLarge(&'static str),
    /// The instruction violates a rule of the kernel.
    #[error(transparent)]
    Rule(InvalidProgram),
}

/// A text that is not a valid program: the line and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
#[non_exhaustive]
pub struct ParseError {
    /// The line, counted from 1.
    pub line: usize,
    /// Why the line is wrong.
    pub reason: ParseErrorReason,
}

impl FromStr for ClassicProgram {
    type Err = ParseError;

    /// Parses the decimal form of `tcpdump -ddd`: the number of instructions, then one line `code
    /// jt jf k` for each.
    ///
    /// Fields are separated by blanks; empty lines may follow the last instruction. The parser
    /// stores at most [`MAX_INSTRUCTIONS`], whatever the length of the text.
    ///
    /// # Errors
    /// [`ParseError`] has the first wrong line and the reason.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut lines = text.lines().zip(1..);
        let (first, _) = lines.next().unwrap_or(("", 1));
        let Ok(count @ 1..=MAX_INSTRUCTIONS) = first.trim().parse() else {
            let reason = ParseErrorReason::Count;
            return Err(ParseError { line: 1, reason });
        };
        let mut instructions = Vec::new();
        let mut last_line = 1;
        for (text, line) in lines.by_ref().take(count) {
            last_line = line;
            if text.trim().is_empty() {
                break;
            }
            instructions
                .push(parse_instruction(text).map_err(|reason| ParseError { line, reason })?);
        }
        if instructions.len() < count {
            let there = instructions.len();
            let reason = ParseErrorReason::TooFew {
                announced: count,
                there,
            };
            return Err(ParseError {
                line: last_line,
                reason,
            });
        }
        if let Some((_, line)) = lines.find(|(text, _)| !text.trim().is_empty()) {
            let reason = ParseErrorReason::TooMany { announced: count };
            return Err(ParseError { line, reason });
        }
        Self::new(instructions).map_err(|error| ParseError {
            line: error.index + 2,
            reason: ParseErrorReason::Rule(error),
        })
    }
}

fn parse_instruction(line: &str) -> Result<Instruction, ParseErrorReason> {
    let mut fields = line.split_ascii_whitespace();
    let (Some(code), Some(jt), Some(jf), Some(k), None) = (
        fields.next(),
        fields.next(),
        fields.next(),
        fields.next(),
        fields.next(),
    ) else {
        return Err(ParseErrorReason::Fields(
            line.split_ascii_whitespace().count(),
        ));
    };
    Ok(Instruction {
        code: number(code, "code")?,
        jt: number(jt, "jt")?,
        jf: number(jf, "jf")?,
        k: number(k, "k")?,
    })
}

fn number<T: FromStr<Err = std::num::ParseIntError>>(
    text: &str,
    field: &'static str,
) -> Result<T, ParseErrorReason> {
    text.parse().map_err(|error: std::num::ParseIntError| {
        if *error.kind() == IntErrorKind::PosOverflow {
            ParseErrorReason::TooLarge(field)
        } else {
            ParseErrorReason::NotANumber(field)
        }
    })
}
