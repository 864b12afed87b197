//! The first line of HTTP messages.

use std::fmt;

use crate::escaped::Escaped;

/// Most bytes of a first line that are looked at and printed.
const LINE_BYTES: usize = 256;

/// The methods of HTTP, with the blank that follows them.
const METHODS: [&[u8]; 9] = [
    b"GET ",
    b"POST ",
    b"PUT ",
    b"HEAD ",
    b"DELETE ",
    b"OPTIONS ",
    b"PATCH ",
    b"CONNECT ",
    b"TRACE ",
];

/// The first line of an HTTP/1 request or response. `Display` prints it escaped, at most 256 bytes of it.
///
/// # Source
/// RFC 9112, 3 and 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http<'a> {
    line: &'a [u8],
}

impl<'a> Http<'a> {
    /// Finds the line at the start of a TCP payload. `None` if it does not begin a request or a response.
    pub fn parse(payload: &'a [u8]) -> Option<Self> {
        let is_response = payload.starts_with(b"HTTP/1.");
        if !is_response && !METHODS.iter().any(|method| payload.starts_with(method)) {
            return None;
        }
        let looked_at = &payload[..payload.len().min(LINE_BYTES)];
        let end = looked_at
            .iter()
            .position(|&byte| matches!(byte, b'\r' | b'\n'));
        // A line without an end is longer than the packet or the limit: its version is not there.
        let line = &payload[..end.unwrap_or(payload.len())];
        let is_request = match end {
            Some(_) => line.windows(8).any(|window| window == b" HTTP/1."),
            None => payload.len() > LINE_BYTES,
        };
        (is_response || is_request).then_some(Self { line })
    }

    /// The line, without its line end.
    pub fn line(&self) -> &'a [u8] {
        self.line
    }
}

impl fmt::Display for Http<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Escaped::new(self.line, LINE_BYTES))
    }
}
