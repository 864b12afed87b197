//! Prints JSON Lines on standard output.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use serde_json::Value;

/// Prints `value` on one line of printable ASCII. Names of files and interfaces may contain control
/// characters, which must not reach the terminal.
pub fn print(value: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", line(value))?;
    out.flush()
}

/// `value` on one line of printable ASCII, without a line end.
pub fn line(value: &Value) -> String {
    printable(&value.to_string())
}

/// `value` indented on several lines of printable ASCII.
pub fn lines(value: &Value) -> String {
    printable(&format!("{value:#}"))
}

fn printable(text: &str) -> String {
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
    line
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
        let lines = lines(&value);
        assert_eq!(lines.lines().count(), 3);
        assert_eq!(serde_json::from_str::<Value>(&lines).expect("JSON"), value);
    }
}
