//! Requests the counters and parses the response strictly as OpenMetrics.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use lab::Host;
use serde_json::Value;

/// Time limit for a response before the test fails.
const DEADLINE: Duration = Duration::from_mins(1);

/// The counters' address in a start event.
#[track_caller]
pub fn address(start: &Value) -> SocketAddr {
    let url = start["metrics"].as_str().expect("a URL");
    let address = url.strip_prefix("http://").expect("HTTP");
    let address = address.strip_suffix("/metrics").expect("the path");
    address.parse().expect("an address")
}

/// A connection from `host` itself.
#[track_caller]
pub fn connect(host: &Host, to: SocketAddr) -> TcpStream {
    let stream = host.run(|| TcpStream::connect(to)).expect("a connection");
    stream.set_read_timeout(Some(DEADLINE)).expect("a time");
    stream.set_write_timeout(Some(DEADLINE)).expect("a time");
    stream
}

/// An HTTP response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

/// Sends `request` and reads to the end; `None` if there is no response.
pub fn ask(host: &Host, to: SocketAddr, request: &[u8]) -> Option<Answer> {
    let mut stream = connect(host, to);
    // Who is refused while he is talking may find the connection closed.
    let _ = stream.write_all(request);
    answer(&mut stream)
}

/// Reads a response to the end of the connection.
#[track_caller]
pub fn answer(stream: &mut TcpStream) -> Option<Answer> {
    let mut bytes = Vec::new();
    if let Err(error) = stream.read_to_end(&mut bytes) {
        // Who says too much is not heard to the end; what came before that is the answer.
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
    }
    let text = String::from_utf8(bytes).expect("an answer in UTF-8");
    if text.is_empty() {
        return None;
    }
    let (head, body) = text.split_once("\r\n\r\n").expect("an empty line");
    let mut lines = head.split("\r\n");
    let status = lines.next().expect("a status");
    let status = status.strip_prefix("HTTP/1.1 ").expect("HTTP/1.1");
    let header = |line: &str| {
        let (name, value) = line.split_once(": ").expect("a header");
        (name.to_ascii_lowercase(), value.to_owned())
    };
    Some(Answer {
        status: status[..3].parse().expect("a number"),
        headers: lines.map(header).collect(),
        body: body.to_owned(),
    })
}

/// The counters by `name{label="value",…}`, as Prometheus would store them.
#[track_caller]
pub fn scrape(host: &Host, to: SocketAddr) -> BTreeMap<String, u64> {
    let request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let answer = ask(host, to, request).expect("an answer");
    assert_eq!(answer.status, 200, "{answer:?}");
    let kind = &answer.headers["content-type"];
    assert!(
        kind.starts_with("application/openmetrics-text; version=1.0.0"),
        "{kind}"
    );
    let length = answer.body.len().to_string();
    assert_eq!(answer.headers["content-length"], length);
    samples(&answer.body)
}

/// Parses the text format of OpenMetrics 1.0: HELP, TYPE and UNIT of each family come once and directly before its
/// samples, and `# EOF` ends it. The sums of histograms, which are fractions, are left out.
#[track_caller]
fn samples(text: &str) -> BTreeMap<String, u64> {
    let text = text.strip_suffix("# EOF\n").expect("the end");
    let mut families: Vec<&str> = Vec::new();
    let mut samples = BTreeMap::new();
    let mut suffixes: &[&str] = &[];
    for line in text.lines() {
        let family = families.last().copied().unwrap_or("");
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, _) = help.split_once(' ').expect("a help");
            assert!(!families.contains(&name), "{name} comes twice");
            assert!(
                name.starts_with("tapline_") && !name.ends_with("_total"),
                "{name}"
            );
            families.push(name);
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            suffixes = match kind.strip_prefix(family) {
                Some(" counter") => &["_total"],
                Some(" gauge") => &[""],
                Some(" histogram") => &["_sum", "_count", "_bucket"],
                _ => panic!("{kind}"),
            };
        } else if let Some(unit) = line.strip_prefix("# UNIT ") {
            let is_histogram = suffixes.len() > 1;
            let wanted = if is_histogram { "seconds" } else { "bytes" };
            assert_eq!(unit, format!("{family} {wanted}"));
            assert!(family.ends_with(&format!("_{wanted}")), "{family}");
        } else {
            let (sample, value) = line.rsplit_once(' ').expect("a sample");
            let name = sample.split('{').next().expect("a name");
            let suffix = name.strip_prefix(family);
            assert!(suffix.is_some_and(|one| suffixes.contains(&one)), "{line}");
            if suffix == Some("_sum") {
                continue;
            }
            let value = value.parse().expect("a number");
            let before = samples.insert(sample.to_owned(), value);
            assert_eq!(before, None, "{sample} comes twice");
        }
    }
    samples
}
