use super::{Instruction, MAX_INSTRUCTIONS, Program, RuleError};
use std::fmt;
use std::num::IntErrorKind;
use std::str::FromStr;

/// Why a text is no program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The first line is not a number of instructions from 1 to [`MAX_INSTRUCTIONS`].
    Count,
    /// The text ends before the announced number of instructions.
    TooFew {
        /// Instructions announced by the first line.
        announced: usize,
        /// Instructions there.
        there: usize,
    },
    /// Something follows the announced number of instructions.
    TooMany {
        /// Instructions announced by the first line.
        announced: usize,
    },
    /// The line has not exactly the four numbers `code jt jf k`.
    Fields(usize),
    /// The named field is not a decimal number.
    NotANumber(&'static str),
    /// The named field is larger than its type holds.
    TooLarge(&'static str),
    /// The instruction breaks a rule of the kernel.
    Rule(RuleError),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count => write!(
                f,
                "expected the number of instructions (1 to {MAX_INSTRUCTIONS})"
            ),
            Self::TooFew { announced, there } => {
                write!(f, "{announced} instructions announced, {there} there")
            }
            Self::TooMany { announced } => {
                write!(f, "more than the {announced} instructions announced")
            }
            Self::Fields(count) => write!(f, "expected \"code jt jf k\", found {count} fields"),
            Self::NotANumber(field) => write!(f, "{field} is not a decimal number"),
            Self::TooLarge(field) => write!(f, "{field} is too large"),
            Self::Rule(error) => error.fmt(f),
        }
    }
}

/// A text that is no valid program, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub reason: Reason,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for ParseError {}

impl FromStr for Program {
    type Err = ParseError;

    /// Reads the decimal form of `tcpdump -ddd`: the number of instructions, then `code jt jf k` a line.
    ///
    /// Fields are separated by blanks; empty lines may follow the last instruction. No more
    /// than [`MAX_INSTRUCTIONS`] are kept, whatever the text's length.
    ///
    /// # Errors
    /// [`ParseError`] names the first line that is wrong, and why.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut lines = text.lines().zip(1..);
        let (first, _) = lines.next().unwrap_or(("", 1));
        let Ok(count @ 1..=MAX_INSTRUCTIONS) = first.trim().parse() else {
            let reason = Reason::Count;
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
            let reason = Reason::TooFew {
                announced: count,
                there,
            };
            return Err(ParseError {
                line: last_line,
                reason,
            });
        }
        if let Some((_, line)) = lines.find(|(text, _)| !text.trim().is_empty()) {
            let reason = Reason::TooMany { announced: count };
            return Err(ParseError { line, reason });
        }
        Self::new(instructions).map_err(|error| ParseError {
            line: error.index + 2,
            reason: Reason::Rule(error),
        })
    }
}

fn parse_instruction(line: &str) -> Result<Instruction, Reason> {
    let mut fields = line.split_ascii_whitespace();
    let (Some(code), Some(jt), Some(jf), Some(k), None) = (
        fields.next(),
        fields.next(),
        fields.next(),
        fields.next(),
        fields.next(),
    ) else {
        return Err(Reason::Fields(line.split_ascii_whitespace().count()));
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
) -> Result<T, Reason> {
    text.parse().map_err(|error: std::num::ParseIntError| {
        if *error.kind() == IntErrorKind::PosOverflow {
            Reason::TooLarge(field)
        } else {
            Reason::NotANumber(field)
        }
    })
}
