//! What is shown, object after object.

use std::io::{self, StdoutLock, Write};

use serde_json::{Value, json};

use super::fields::printable;
use super::spelled::Extent;
use crate::args::NetArgs;
use crate::failure::{Exit, Failure};
use crate::json;

/// Standard output, while objects are shown.
#[derive(Debug)]
pub struct Page<'a> {
    args: &'a NetArgs,
    out: StdoutLock<'static>,
    shown: usize,
}

impl<'a> Page<'a> {
    pub fn new(args: &'a NetArgs) -> Self {
        Self {
            args,
            out: io::stdout().lock(),
            shown: 0,
        }
    }

    /// How much of each is shown.
    pub fn extent(&self) -> Extent {
        Extent {
            details: self.args.details,
            statistics: self.args.statistics,
            brief: self.args.brief,
        }
    }

    /// Whether JSON is asked for, and not text.
    pub fn is_json(&self) -> bool {
        self.args.json
    }

    /// Whether each object is to be a line.
    pub fn is_oneline(&self) -> bool {
        self.args.oneline
    }

    /// Shows an object.
    pub fn json(&mut self, object: &Value) -> io::Result<()> {
        self.shown += 1;
        writeln!(self.out, "{}", json::line(object))
    }

    /// Shows an object; where each is to be a line, a stroke stands for the end of one, as in ip(8).
    pub fn text(&mut self, text: &str) -> io::Result<()> {
        self.shown += 1;
        let text = printable(text);
        let text = if self.args.oneline {
            text.replace('\n', "\\")
        } else {
            text
        };
        writeln!(self.out, "{text}")
    }

    /// Ends it; what was asked for may have changed meanwhile.
    pub fn end(mut self, interrupted: bool) -> Result<Exit, Failure> {
        if self.args.json {
            let summary = json!({
                "event": "summary", "objects": self.shown, "interrupted": interrupted,
            });
            writeln!(self.out, "{}", json::line(&summary))?;
        } else if interrupted {
            let line = "the list changed while it was made: some may be missing or shown twice";
            writeln!(io::stderr(), "tapline: {line}")?;
        }
        self.out.flush()?;
        Ok(Exit::Done)
    }
}
