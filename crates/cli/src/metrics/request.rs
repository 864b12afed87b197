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

/// Maximum header lines of a request.
const MOST_HEADERS: usize = 128;

/// Parses the `bytes` received so far; `None` if the request is incomplete.
pub fn read(bytes: &[u8]) -> Option<Request> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => Some(wanted(&request)),
        Ok(httparse::Status::Partial) => (bytes.len() >= MOST_BYTES).then_some(Request::Garbage),
        Err(_) => Some(Request::Garbage),
    }
}

/// What a complete request asks for.
fn wanted(request: &httparse::Request<'_, '_>) -> Request {
    let target = request.path.unwrap_or_default();
    if !target.starts_with('/') && target != "*" {
        return Request::Garbage;
    }
    let is_counters = target.split('?').next() == Some(PATH);
    match (request.method, is_counters) {
        (Some("GET"), true) => Request::Counters,
        (Some("HEAD"), true) => Request::Headers,
        (Some("GET" | "HEAD"), false) => Request::Elsewhere,
        _ => Request::OtherMethod,
    }
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
                "the counters cannot be encoded\n",
            ),
        },
        Request::Elsewhere => say("404 Not Found", "", "the counters are at /metrics\n"),
        Request::OtherMethod => say(
            "405 Method Not Allowed",
            "Allow: GET, HEAD\r\n",
            "only GET and HEAD are supported\n",
        ),
        Request::Garbage => say("400 Bad Request", "", "this is not an HTTP/1 request\n"),
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
