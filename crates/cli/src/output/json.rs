//! Prints JSON Lines on standard output.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde::ser::{SerializeMap, Serializer as _};
use serde_json::{Serializer, Value};

/// Prints `value` on one line of printable ASCII. Names of files and interfaces may contain control
/// characters, which must not reach the terminal.
pub fn print(value: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", line(value))?;
    out.flush()
}

/// `value` on one line of printable ASCII, without a line end.
pub fn line(value: &Value) -> String {
    printable(&value.to_string()).into_owned()
}

/// `value` indented on several lines of printable ASCII.
pub fn lines(value: &Value) -> String {
    printable(&format!("{value:#}")).into_owned()
}

/// Lines of JSON of which there may be millions: they are written without building a value first.
#[derive(Debug, Default)]
pub struct RowWriter {
    row: Vec<u8>,
}

impl RowWriter {
    /// Writes an object on one line of printable ASCII: `fill` puts its keys and values into it, each key once.
    pub fn write(
        &mut self,
        out: &mut impl Write,
        fill: impl FnOnce(&mut dyn FnMut(&str, Value)),
    ) -> io::Result<()> {
        self.row.clear();
        let mut serializer = Serializer::new(&mut self.row);
        let mut object = serializer.serialize_map(None)?;
        let mut result = Ok(());
        fill(&mut |key, value| {
            if result.is_ok() {
                result = object.serialize_entry(key, &value);
            }
        });
        result?;
        SerializeMap::end(object)?;
        let text = std::str::from_utf8(&self.row).map_err(io::Error::other)?;
        writeln!(out, "{}", printable(text))
    }
}

/// `text`, which is JSON, without characters that could reach the terminal as anything but a sign or a line end.
fn printable(text: &str) -> Cow<'_, str> {
    let is_printable = |byte: u8| (0x20..0x7f).contains(&byte) || byte == b'\n';
    if text.bytes().all(is_printable) {
        return text.into();
    }
    let mut line = String::with_capacity(text.len());
    // Outside strings JSON is ASCII, so every escape is inside a string. A line end never is.
    for c in text.chars() {
        if c == '\n' || c.is_ascii() && !c.is_ascii_control() {
            line.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a String cannot fail.
            let _ = write!(line, "\\u{unit:04x}");
        }
    }
    line.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_ascii_and_the_same_value() {
        let value = serde_json::json!({ "name": "e\u{1b}[2Jth\u{9b}0\u{7f}\"\\ größe 😀" });
        let line = line(&value);
        let text = &*line;
        assert!(
            text.bytes().all(|byte| (0x20..0x7f).contains(&byte)),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), value);
        let mut row = Vec::new();
        let name = value["name"].clone();
        let written = RowWriter::default().write(&mut row, |put| put("name", name));
        written.expect("memory takes it");
        assert_eq!(row, format!("{text}\n").into_bytes());
        let lines = lines(&value);
        assert_eq!(lines.lines().count(), 3);
        assert_eq!(serde_json::from_str::<Value>(&lines).expect("JSON"), value);
    }
}
