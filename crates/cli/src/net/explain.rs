//! `tapline explain`: a netlink message, byte by byte.

use std::fs::File;
use std::io::{self, Read, Write};

use netlink::explain::{Explanation, explain};
use serde_json::json;

use crate::args::ExplainArgs;
use crate::failure::{Exit, Failure};
use crate::json;
use crate::output::is_stdout;

/// More digits than the longest datagram has.
const MOST_TEXT: u64 = 64 * 1024 * 1024;

/// Runs `tapline explain`.
pub fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let name = args.file.display();
    let cannot = |error: io::Error| Failure::job_on(format!("cannot read {name}"), &error);
    let mut text = String::new();
    if is_stdout(&args.file) {
        io::stdin().lock().take(MOST_TEXT).read_to_string(&mut text)
    } else {
        File::open(&args.file).and_then(|file| file.take(MOST_TEXT).read_to_string(&mut text))
    }
    .map_err(cannot)?;
    let datagram = bytes(&text).map_err(|place| {
        let line = format!("{name} holds no hexadecimal bytes: {place:?}");
        Failure::new(Exit::Usage, line)
    })?;
    if datagram.is_empty() {
        let line = format!("{name} holds no message: there are no hexadecimal bytes in it");
        return Err(Failure::new(Exit::Usage, line));
    }
    let mut told = Explanation::default();
    let end = explain(&datagram, &mut told);
    let mut out = io::stdout().lock();
    for line in &told.lines {
        if args.json {
            writeln!(out, "{}", json::line(&json!(line)))?;
        } else {
            writeln!(out, "{line}")?;
        }
    }
    if args.json {
        let summary = json!({ "event": "summary", "bytes": datagram.len() });
        writeln!(out, "{}", json::line(&summary))?;
    }
    end.map_err(|malformed| {
        Failure::job_on(format!("{name} cannot be read to its end"), &malformed)
    })?;
    Ok(Exit::Done)
}

/// The bytes that `text` has the digits of; what is no digit is returned as an error.
fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let text = text.replace("\\x", " ").replace("0x", " ");
    let mut bytes = Vec::with_capacity(text.len() / 2);
    for word in text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | '"')) {
        for pair in word.as_bytes().chunks(2) {
            let pair = std::str::from_utf8(pair).unwrap_or_default();
            let byte = (pair.len() == 2)
                .then(|| u8::from_str_radix(pair, 16).ok())
                .flatten();
            bytes.push(byte.ok_or_else(|| word.chars().take(20).collect::<String>())?);
        }
    }
    Ok(bytes)
}
