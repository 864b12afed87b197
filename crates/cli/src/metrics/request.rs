//! HTTP/1 requests for the metrics, and the answers.

use super::family::MEDIA_TYPE;

/// Maximum request length, including the empty line at its end.
pub const MOST_BYTES: usize = 8 << 10;

/// Path of the metrics.
const PATH: &str = "/metrics";

/// A parsed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// GET of the metrics.
    Counters,
    /// HEAD of the metrics.
    Headers,
    /// Another path.
    Elsewhere,
    /// Another method.
    OtherMethod,
    /// Malformed or too long.
    Garbage,
}

/// Parses the `bytes` received so far; `None` if the request is incomplete.
///
/// # Source
/// RFC 9112 sections 2.2, 3 and 5: an empty line may come before a request, a line may end without
/// CR, a header begins with its name and has a colon.
pub fn read(bytes: &[u8]) -> Option<Request> {
    let mut lines = bytes.split(|&byte| byte == b'\n');
    // The part after the last line end is incomplete.
    let unfinished = lines.next_back();
    let mut lines = lines
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .skip_while(|line| line.is_empty());
    let request = lines.next().map(first_line);
    let is_garbage = |line: &[u8]| !line.is_empty() && !is_header(line);
    if request == Some(Request::Garbage) || lines.clone().any(is_garbage) {
        return Some(Request::Garbage);
    }
    if request.is_some() && lines.any(<[u8]>::is_empty) {
        return request;
    }
    let is_text = unfinished.is_none_or(|part| part.iter().all(|&byte| is_printable(byte)));
    (bytes.len() >= MOST_BYTES || !is_text).then_some(Request::Garbage)
}

/// `GET /metrics HTTP/1.1`.
fn first_line(line: &[u8]) -> Request {
    let mut words = line.split(|&byte| byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Request::Garbage;
    };
    let is_version = matches!(version, b"HTTP/1.0" | b"HTTP/1.1");
    let is_target = target.first() == Some(&b'/') || target == b"*";
    if !is_name(method) || !is_target || !is_version || !target.iter().all(u8::is_ascii_graphic) {
        return Request::Garbage;
    }
    let path = target.split(|&byte| byte == b'?').next();
    match (method, path == Some(PATH.as_bytes())) {
        (b"GET", true) => Request::Counters,
        (b"HEAD", true) => Request::Headers,
        (b"GET" | b"HEAD", false) => Request::Elsewhere,
        _ => Request::OtherMethod,
    }
}

fn is_header(line: &[u8]) -> bool {
    let colon = line.iter().position(|&byte| byte == b':');
    colon.is_some_and(|colon| is_name(&line[..colon]))
        && line.iter().all(|&byte| is_printable(byte))
}

/// A token of RFC 9110 section 5.6.2.
fn is_name(word: &[u8]) -> bool {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !word.is_empty() && word.iter().all(is_token)
}

/// Bytes allowed in a line; bytes above ASCII are allowed and ignored.
fn is_printable(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\r' | 0x20..=0x7e | 0x80..)
}

/// The answer to `request`. Calls `counters` only if the request is for the metrics.
pub fn answer(request: Request, counters: impl FnOnce() -> Option<String>) -> Vec<u8> {
    let say = |status: &str, extra: &str, text: &str| {
        whole(
            status,
            &format!("Content-Type: text/plain\r\n{extra}"),
            text,
            true,
        )
    };
    match request {
        Request::Counters | Request::Headers => match counters() {
            Some(text) => {
                let kind = format!("Content-Type: {MEDIA_TYPE}\r\n");
                whole("200 OK", &kind, &text, request == Request::Counters)
            }
            None => say(
                "500 Internal Server Error",
                "",
                "the counters cannot be told\n",
            ),
        },
        Request::Elsewhere => say("404 Not Found", "", "the counters are at /metrics\n"),
        Request::OtherMethod => say(
            "405 Method Not Allowed",
            "Allow: GET, HEAD\r\n",
            "the counters can be read, with GET\n",
        ),
        Request::Garbage => say("400 Bad Request", "", "this is no request of HTTP/1\n"),
    }
}

fn whole(status: &str, headers: &str, body: &str, with_body: bool) -> Vec<u8> {
    let length = body.len();
    let body = if with_body { body } else { "" };
    format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests;
