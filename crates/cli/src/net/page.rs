//! What is shown, object after object.

use std::io::{self, StdoutLock, Write};

use serde_json::{Value, json};

use super::colour::Paint;
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
    paint: Option<Paint>,
}

impl<'a> Page<'a> {
    pub fn new(args: &'a NetArgs) -> Self {
        Self {
            args,
            out: io::stdout().lock(),
            shown: 0,
            paint: Paint::wanted(&args.show),
        }
    }

    /// How much of each is shown.
    pub fn extent(&self) -> Extent {
        Extent {
            details: self.args.show.details,
            statistics: self.args.show.statistics > 0,
            errors: self.args.show.statistics > 1,
            brief: self.args.show.brief,
        }
    }

    /// Whether JSON is asked for, and not text.
    pub fn is_json(&self) -> bool {
        self.args.show.json
    }

    /// Whether each object is to be a line.
    pub fn is_oneline(&self) -> bool {
        self.args.show.oneline
    }

    /// Shows an object.
    pub fn json(&mut self, object: &Value) -> io::Result<()> {
        self.shown += 1;
        self.value(object)
    }

    fn value(&mut self, value: &Value) -> io::Result<()> {
        let text = if self.args.show.pretty {
            json::lines(value)
        } else {
            json::line(value)
        };
        writeln!(self.out, "{text}")
    }

    /// Shows an object; where each is to be a line, a stroke stands for the end of one, as in ip(8).
    pub fn text(&mut self, text: &str) -> io::Result<()> {
        self.shown += 1;
        let text = printable(text);
        let text = if self.args.show.oneline {
            text.replace('\n', "\\")
        } else {
            text
        };
        let text = match &self.paint {
            Some(paint) => paint.text(&text),
            None => text,
        };
        writeln!(self.out, "{text}")
    }

    /// Ends it; what was asked for may have changed meanwhile.
    pub fn end(mut self, interrupted: bool) -> Result<Exit, Failure> {
        if self.args.show.json {
            let mut summary = json!({
                "event": "summary", "objects": self.shown, "interrupted": interrupted,
            });
            if let Some(line) = self.args.line {
                // Behind the last line of a batch stands another.
                summary["event"] = "shown".into();
                summary["line"] = line.into();
            }
            self.value(&summary)?;
        } else if interrupted {
            let line = "the list changed while it was made: some may be missing or shown twice";
            writeln!(io::stderr(), "tapline: {line}")?;
        }
        self.out.flush()?;
        Ok(Exit::Done)
    }
}
