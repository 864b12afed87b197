use super::explanation::{Explanation, Outcome};
use std::fmt;

/// Filters up to so many characters on one line, with so many terms, are shown whole.
const MOST_MARKED: usize = 160;
const MOST_TERMS: usize = 24;
/// Terms of a longer filter that are listed.
const MOST_LISTED: usize = 100;

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Holds => f.write_str("true"),
            Self::Fails => f.write_str("false"),
            Self::NotAsked => f.write_str("not asked"),
            Self::Missing { offset, bytes: 1 } => write!(f, "no byte at {offset}"),
            Self::Missing { offset, bytes } => write!(f, "no {bytes} bytes at {offset}"),
            Self::DivisionByZero => f.write_str("division by zero"),
            Self::NotKnown => f.write_str("not known of this packet"),
        }
    }
}

impl fmt::Display for Explanation<'_> {
    /// A filter on one line with a mark below each term; of long ones a list of the terms that are
    /// not false. The last line is the verdict.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_one_line = !self.text.contains(|letter: char| letter.is_control());
        let characters = self.text.chars().count();
        if is_one_line && characters <= MOST_MARKED && self.terms.len() <= MOST_TERMS {
            self.marked(f, characters)?;
        } else {
            self.listed(f)?;
        }
        self.conclusion(f)
    }
}

impl Explanation<'_> {
    fn marked(&self, f: &mut fmt::Formatter<'_>, characters: usize) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        let count = |part: Option<&str>| part.unwrap_or("").chars().count();
        for (at, term) in self.terms.iter().enumerate() {
            let before = count(self.text.get(..term.span.start));
            let width = count(self.text.get(term.span.clone()));
            let behind = characters.saturating_sub(before + width);
            write!(f, "{:before$}{:^<width$}{:behind$}  ", "", "", "")?;
            self.outcome(f, at)?;
        }
        Ok(())
    }

    fn listed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [mut fails, mut unasked, mut listed, mut unlisted] = [0usize; 4];
        for (at, term) in self.terms.iter().enumerate() {
            match term.outcome {
                _ if self.decided_by == Some(at) => {}
                Outcome::Fails => {
                    fails += 1;
                    continue;
                }
                Outcome::NotAsked => {
                    unasked += 1;
                    continue;
                }
                _ if listed >= MOST_LISTED => {
                    unlisted += 1;
                    continue;
                }
                _ => {}
            }
            listed += 1;
            let words = self.text.get(term.span.clone()).unwrap_or("");
            let words = words.replace(|letter: char| letter.is_control(), " ");
            write!(f, "column {}: {words}: ", term.span.start + 1)?;
            self.outcome(f, at)?;
        }
        for (count, what) in [(fails, "false"), (unasked, "not asked"), (unlisted, "true")] {
            if count > 0 {
                let plural = if count == 1 { "" } else { "s" };
                writeln!(f, "{count} more term{plural}: {what}")?;
            }
        }
        Ok(())
    }

    fn outcome(&self, f: &mut fmt::Formatter<'_>, at: usize) -> fmt::Result {
        let decides = if self.decided_by == Some(at) {
            ", which decides"
        } else {
            ""
        };
        writeln!(f, "{}{decides}", self.terms[at].outcome)
    }

    fn conclusion(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.verdict {
            0 => f.write_str("refused")?,
            1 => f.write_str("accepted, keeps 1 byte")?,
            bytes => write!(f, "accepted, keeps {bytes} bytes")?,
        }
        if let Some(outcome) = self.no_header {
            return writeln!(f, ": the header before the frame has {outcome}");
        }
        let was_asked = self
            .terms
            .iter()
            .any(|term| term.outcome != Outcome::NotAsked);
        if was_asked && self.decided_by.is_none() {
            f.write_str(
                ": bytes are missing, and alternatives that begin alike are asked together",
            )?;
        }
        writeln!(f)
    }
}
