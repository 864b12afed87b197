//! JSON Lines on standard output.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use serde_json::Value;

/// Prints `value` on a line of its own, in printable ASCII: whatever a file or an interface calls
/// itself, no control character reaches the terminal.
pub fn print(value: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", line(value))?;
    out.flush()
}

/// `value` in a line without its end, in printable ASCII.
pub fn line(value: &Value) -> String {
    printable(&value.to_string())
}

/// `value` in several lines, indented, in printable ASCII.
pub fn lines(value: &Value) -> String {
    printable(&format!("{value:#}"))
}

fn printable(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    // Outside of strings JSON is ASCII, so an escape is always inside of one; the end of a line never is.
    for c in text.chars() {
        if c == '\n' || c.is_ascii() && !c.is_ascii_control() {
            line.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // A String takes whatever is written to it.
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
