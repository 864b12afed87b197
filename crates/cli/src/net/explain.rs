//! `tapline explain`: decodes netlink messages byte by byte.

use std::fs::File;
use std::io::{self, Read, Write};

use serde_json::json;
use tapline::net::explain::{Explanation, explain};

use crate::args::ExplainArgs;
use crate::failure::{Exit, Failure};
use crate::output::{is_stdout, json};
use crate::sandbox::{self, Sandbox};

/// More digits than the longest datagram has.
const MAX_TEXT_BYTES: u64 = 64 * 1024 * 1024;

/// Runs `tapline explain`.
pub fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let name = args.file.display();
    let mut text = String::new();
    if is_stdout(&args.file) {
        io::stdin()
            .lock()
            .take(MAX_TEXT_BYTES)
            .read_to_string(&mut text)
    } else {
        File::open(&args.file).and_then(|file| file.take(MAX_TEXT_BYTES).read_to_string(&mut text))
    }
    .map_err(|error| Failure::job_on(format!("cannot read {name}"), &error))?;
    // Everything is read: it only prints from now on.
    Sandbox::new(&sandbox::EXPLAIN).enter(args.sandbox, false)?;
    let usage = |line| Failure::new(Exit::Usage, line);
    let datagram = parse_hex(&text)
        .map_err(|word| usage(format!("{name} has no hexadecimal bytes at {word:?}")))?;
    if datagram.is_empty() {
        let line = format!("{name} holds no message: it has no hexadecimal bytes");
        return Err(usage(line));
    }
    let mut explanation = Explanation::default();
    let end = explain(&datagram, &mut explanation);
    let mut out = io::stdout().lock();
    for line in &explanation.lines {
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
    end.map_err(|malformed| Failure::job_on(format!("{name} is malformed"), &malformed))?;
    Ok(Exit::Done)
}

/// The bytes of `text`; the error is the start of the first word without hexadecimal digits.
fn parse_hex(text: &str) -> Result<Vec<u8>, String> {
    let text = text.replace("\\x", " ").replace("0x", " ");
    let mut bytes = Vec::with_capacity(text.len() / 2);
    for word in text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | '"')) {
        for pair in word.as_bytes().chunks(2) {
            let digits = std::str::from_utf8(pair)
                .ok()
                .filter(|pair| pair.len() == 2);
            let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            bytes.push(byte.ok_or_else(|| word.chars().take(20).collect::<String>())?);
        }
    }
    Ok(bytes)
}
