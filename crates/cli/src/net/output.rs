//! How objects are printed: JSON Lines with iproute2's keys, or iproute2's text.

use std::fmt::{self, Display, Write as _};
use std::io::{self, StdoutLock, Write};

use serde::Serialize;
use serde_json::{Map, Value, json};
use tapline::net::IfIndex;
use tapline::net::schema::NameLookup;

use super::color;
use super::names::Names;
use crate::args::ShowArgs;
use crate::failure::{Exit, Failure};
use crate::output::json;
use crate::page::is_unprintable;

/// How much is printed of each object.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct DetailLevel {
    /// `-d`
    pub details: bool,
    /// `-s`
    pub statistics: bool,
    /// `-s -s`
    pub errors: bool,
    /// `-br`
    pub brief: bool,
}

impl From<&ShowArgs> for DetailLevel {
    fn from(args: &ShowArgs) -> Self {
        Self {
            details: args.details,
            statistics: args.statistics > 0,
            errors: args.statistics > 1,
            brief: args.brief,
        }
    }
}

/// One object as JSON or as text. A call that gives both forms prints the one in use, as iproute2's
/// `print_string(PRINT_ANY, key, format, value)` does.
#[derive(Debug)]
pub enum Record {
    Json(Map<String, Value>),
    Text(String),
}

impl Record {
    pub fn new(is_json: bool) -> Self {
        if is_json {
            Self::Json(Map::new())
        } else {
            Self::Text(String::new())
        }
    }

    /// ` word value` in text, `key` in JSON; nothing without a value.
    pub fn field<T: Display + Into<Value>>(&mut self, key: &str, word: &str, value: Option<T>) {
        match (self, value) {
            (_, None) => {}
            (Self::Json(fields), Some(value)) => _ = fields.insert(key.to_owned(), value.into()),
            (Self::Text(text), Some(value)) => push(text, format_args!(" {word} {value}")),
        }
    }

    /// As [`field`](Self::field), for values that JSON has as strings.
    pub fn string(&mut self, key: &str, word: &str, value: Option<impl Display>) {
        self.field(key, word, value.map(|value| value.to_string()));
    }

    /// ` word` in text and a key without a value in JSON, if `on`.
    pub fn flag(&mut self, word: &str, on: Option<bool>) {
        match (self, on) {
            (Self::Json(fields), Some(true)) => _ = fields.insert(word.to_owned(), Value::Null),
            (Self::Text(text), Some(true)) => push(text, format_args!(" {word}")),
            _ => {}
        }
    }

    /// A key of JSON only; nothing without a value.
    pub fn json(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let (Self::Json(fields), Some(value)) = (self, value) {
            fields.insert(key.to_owned(), value.into());
        }
    }

    /// Arguments of text only, as they are.
    pub fn text(&mut self, words: fmt::Arguments<'_>) {
        if let Self::Text(text) = self {
            push(text, words);
        }
    }
}

/// Adds words to a text.
pub fn push(text: &mut String, words: fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = text.write_fmt(words);
}

/// `text`, which may have several lines, without what [`is_unprintable`]: anybody may have named a link.
pub fn printable(text: &str) -> String {
    let is_unsafe = |letter: char| is_unprintable(letter) && !matches!(letter, '\n' | '\t');
    text.replace(is_unsafe, "?")
}

/// The library's JSON of an object in iproute2's form: link names instead of indices for the keys in `links`, and
/// no key for a flag that is off.
pub fn json_fields<T: Serialize>(
    object: &T,
    links: &[&str],
    names: &mut Names,
) -> Map<String, Value> {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    name_links(&mut value, links, names);
    let Value::Object(mut fields) = value else {
        return Map::new();
    };
    fields.retain(|_, value| *value != Value::Bool(false));
    fields
}

fn name_links(value: &mut Value, links: &[&str], names: &mut Names) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let index = value.as_u64().filter(|_| links.contains(&key.as_str()));
                match index.and_then(|index| names.name(IfIndex(index as u32))) {
                    Some(name) => *value = name.into(),
                    None => name_links(value, links, names),
                }
            }
        }
        Value::Array(values) => {
            let values = values.iter_mut();
            values.for_each(|value| name_links(value, links, names));
        }
        _ => {}
    }
}

/// Removes fields that have their default value.
pub fn remove_defaults(fields: &mut Map<String, Value>, defaults: &[(&str, &str)]) {
    fields.retain(|key, value| {
        let is_default = |(known, default): &(&str, &str)| key == known && value == default;
        !defaults.iter().any(is_default)
    });
}

/// Writes objects to standard output.
#[derive(Debug)]
pub struct ObjectWriter<'a> {
    args: &'a ShowArgs,
    /// The line of the batch file that printed the objects.
    line: Option<usize>,
    out: StdoutLock<'static>,
    count: usize,
    is_colored: bool,
}

impl<'a> ObjectWriter<'a> {
    pub fn new(args: &'a ShowArgs, line: Option<usize>) -> Self {
        Self {
            args,
            line,
            out: io::stdout().lock(),
            count: 0,
            is_colored: color::is_enabled(args),
        }
    }

    pub fn is_json(&self) -> bool {
        self.args.json
    }

    pub fn record(&self) -> Record {
        Record::new(self.args.json)
    }

    pub fn level(&self) -> DetailLevel {
        self.args.into()
    }

    /// Whether each object is one line (`-o`).
    pub fn is_oneline(&self) -> bool {
        self.args.oneline
    }

    /// Prints an object.
    pub fn write(&mut self, record: Record) -> io::Result<()> {
        match record {
            Record::Json(fields) => {
                self.count += 1;
                self.write_value(&fields.into())
            }
            Record::Text(text) => self.write_text(&text),
        }
    }

    fn write_value(&mut self, value: &Value) -> io::Result<()> {
        let text = if self.args.pretty {
            json::lines(value)
        } else {
            json::line(value)
        };
        writeln!(self.out, "{text}")
    }

    /// Prints the text of an object, or a heading. With `-o` a backslash replaces each inner line end.
    pub fn write_text(&mut self, text: &str) -> io::Result<()> {
        let mut text = printable(text);
        if self.args.oneline {
            text = text.replace('\n', "\\");
        }
        if self.is_colored {
            text = color::colored(&text);
        }
        writeln!(self.out, "{text}")
    }

    /// Prints the summary. `interrupted` says that objects changed while the kernel listed them.
    pub fn finish(mut self, interrupted: bool) -> Result<Exit, Failure> {
        if self.args.json {
            let mut summary = json!({
                "event": "summary", "objects": self.count, "interrupted": interrupted,
            });
            if let Some(line) = self.line {
                // The batch prints a summary of its own.
                summary["event"] = "shown".into();
                summary["line"] = line.into();
            }
            self.write_value(&summary)?;
        } else if interrupted {
            let line =
                "the list changed while the kernel sent it: objects may be missing or repeated";
            writeln!(io::stderr(), "tapline: {line}")?;
        }
        self.out.flush()?;
        Ok(Exit::Done)
    }
}
