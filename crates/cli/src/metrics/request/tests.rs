use proptest::prelude::*;

use super::*;

/// As Prometheus 2 sends it.
const SCRAPE: &str = "GET /metrics HTTP/1.1\r\nHost: localhost:9000\r\n\
User-Agent: Prometheus/2.53.0\r\nAccept: application/openmetrics-text;version=1.0.0,\
text/plain;version=0.0.4;q=0.5,*/*;q=0.1\r\nAccept-Encoding: gzip\r\n\
X-Prometheus-Scrape-Timeout-Seconds: 10\r\n\r\n";

#[test]
fn requests_are_told_apart() {
    for (text, expected) in [
        (SCRAPE, Request::Counters),
        ("GET /metrics HTTP/1.0\r\n\r\n", Request::Counters),
        ("GET /metrics?name=x HTTP/1.1\n\n", Request::Counters),
        (
            "\r\n\r\nGET /metrics HTTP/1.1\r\nA:\r\n\r\n",
            Request::Counters,
        ),
        ("HEAD /metrics HTTP/1.1\r\nA: b\r\n\r\n", Request::Headers),
        ("GET / HTTP/1.1\r\n\r\n", Request::Elsewhere),
        ("GET /metrics/ HTTP/1.1\r\n\r\n", Request::Elsewhere),
        ("GET /../etc/passwd HTTP/1.1\r\n\r\n", Request::Elsewhere),
        ("POST /metrics HTTP/1.1\r\n\r\n", Request::OtherMethod),
        ("OPTIONS * HTTP/1.1\r\n\r\n", Request::OtherMethod),
        ("get /metrics HTTP/1.1\r\n\r\n", Request::OtherMethod),
        ("GET /metrics\r\n\r\n", Request::Garbage),
        ("GET  /metrics HTTP/1.1\r\n\r\n", Request::Garbage),
        ("GET /metrics HTTP/2.0\r\n\r\n", Request::Garbage),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Request::Garbage),
        ("GET http://a/metrics HTTP/1.1\r\n\r\n", Request::Garbage),
        (
            "GET /metrics HTTP/1.1\r\nno colon\r\n\r\n",
            Request::Garbage,
        ),
        (
            "GET /metrics HTTP/1.1\r\n folded: x\r\n\r\n",
            Request::Garbage,
        ),
        ("GET /metrics HTTP/1.1\r\na : x\r\n\r\n", Request::Garbage),
        ("GET /metrics HTTP/1.1\r\na: \0\r\n\r\n", Request::Garbage),
        ("GET /\u{1b}[2J HTTP/1.1\r\n\r\n", Request::Garbage),
        ("quit\n", Request::Garbage),
        // The beginning of TLS.
        ("\u{16}\u{3}\u{1}", Request::Garbage),
    ] {
        assert_eq!(read(text.as_bytes()), Some(expected), "{text:?}");
    }
}

#[test]
fn a_request_is_not_read_before_its_end() {
    for end in 0..SCRAPE.len() {
        assert_eq!(read(&SCRAPE.as_bytes()[..end]), None, "{}", &SCRAPE[..end]);
    }
}

/// Fewer of them than the maximum of lines fill a request.
const LONG: &str =
    "A: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n";

#[test]
fn too_many_headers_are_refused() {
    let headers = "A:\n".repeat(MOST_HEADERS);
    let request = format!("GET /metrics HTTP/1.1\n{headers}\n");
    assert_eq!(read(request.as_bytes()), Some(Request::Counters));
    let request = format!("GET /metrics HTTP/1.1\n{headers}A:\n");
    assert_eq!(read(request.as_bytes()), Some(Request::Garbage));
}

#[test]
fn an_endless_request_is_ended() {
    for (begin, filler) in [
        ("", "x"),
        ("", "\r\n"),
        ("GET /metrics HTTP/1.1\r\n", LONG),
        ("GET /metrics HTTP/1.1\r\nA: ", "x"),
    ] {
        let mut bytes = begin.as_bytes().to_vec();
        while bytes.len() < MOST_BYTES {
            assert_eq!(read(&bytes), None, "{begin:?} {filler:?} {}", bytes.len());
            bytes.extend(filler.bytes());
        }
        assert_eq!(read(&bytes), Some(Request::Garbage), "{begin:?} {filler:?}");
    }
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let words = prop::sample::select(vec![
        "GET ",
        "HEAD ",
        "/metrics",
        " HTTP/1.1",
        "\r\n",
        "\n",
        "\r",
        ": ",
        "A",
        " ",
        "\0",
        "é",
    ]);
    let like_it = prop::collection::vec(words, 0..20).prop_map(|words| words.concat().into_bytes());
    prop_oneof![like_it, prop::collection::vec(any::<u8>(), 0..300)]
}

proptest! {
    /// What is read of a request does not change when more of it comes.
    #[test]
    fn any_bytes_are_read_and_more_of_them_change_nothing(bytes in bytes()) {
        let mut first = None;
        for end in 0..=bytes.len() {
            let request = read(&bytes[..end]);
            if first.is_some() {
                prop_assert_eq!(request, first);
            }
            first = request;
        }
    }
}

#[test]
fn an_answer_says_how_long_it_is() {
    let all = [
        (Request::Counters, "200", "# EOF\n"),
        (Request::Headers, "200", ""),
        (Request::Elsewhere, "404", "the counters are at /metrics\n"),
        (
            Request::OtherMethod,
            "405",
            "only GET and HEAD are supported\n",
        ),
        (Request::Garbage, "400", "this is not an HTTP/1 request\n"),
    ];
    for (request, status, expected) in all {
        let answer = answer(request, || Some("# EOF\n".into()));
        let answer = String::from_utf8(answer).expect("text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("an empty line");
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        assert_eq!(body, expected);
        let length = if request == Request::Headers {
            6
        } else {
            body.len()
        };
        assert!(
            head.contains(&format!("\r\nContent-Length: {length}\r\n")),
            "{head}"
        );
    }
}
