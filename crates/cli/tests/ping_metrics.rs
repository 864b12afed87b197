//! Counters of probes for Prometheus.

mod support;

use std::str::FromStr;

use support::Scene;
use support::ping::{command, echoes_answered};
use support::run::spawn;
use support::scrape::{address, ask};

/// The value of a sample by its name and labels as they are written.
#[track_caller]
fn value<T: FromStr>(text: &str, sample: &str) -> T {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    let value = line.unwrap_or_else(|| panic!("{sample} in {text}"));
    value.parse().ok().expect("a number")
}

#[test]
fn counters_are_those_of_the_kernel_once_they_have_been_posted() {
    let scene = Scene::new();
    let arguments = [
        "--json",
        "-v",
        "--metrics",
        "0",
        "-i",
        "300ms",
        "10.1.0.2",
        "192.0.2.1",
    ];
    let mut running = spawn(command(&scene.left, &arguments));
    let to = address(&running.ready());
    let request = b"GET /metrics HTTP/1.1\r\n\r\n";
    let labels =
        |target: &str, state: &str| format!("{{target=\"{target}\",address=\"{target}\"{state}}}");
    let sent = format!("tapline_ping_sent_probes_total{}", labels("10.1.0.2", ""));
    let text = loop {
        let answer = ask(&scene.left, to, request).expect("an answer");
        assert_eq!(answer.status, 200);
        if value::<u64>(&answer.body, &sent) > 2 {
            break answer.body;
        }
        // The next answer of the peer is what may have changed them.
        running.event(|event| event["event"] == "reply");
    };
    let asked = echoes_answered(&scene.right);
    assert!(value::<u64>(&text, &sent) <= asked, "{text}");
    let state = |state: &str| {
        let labels = labels("10.1.0.2", &format!(",state=\"{state}\""));
        value::<u64>(&text, &format!("tapline_ping_ended_probes_total{labels}"))
    };
    let received = state("received");
    assert!(received > 0 && received <= asked, "{text}");
    assert_eq!(["lost", "late", "error"].map(state), [0; 3]);
    let unsent = format!(
        "tapline_ping_unsent_probes_total{}",
        labels("192.0.2.1", "")
    );
    assert!(value::<u64>(&text, &unsent) > 0, "{text}");
    assert_eq!(
        value::<u64>(&text, "tapline_ping_rtt_seconds_count"),
        received
    );
    assert_eq!(
        value::<u64>(&text, "tapline_ping_rtt_seconds_bucket{le=\"+Inf\"}"),
        received
    );
    assert!(value::<f64>(&text, "tapline_ping_rtt_seconds_sum") > 0.0);
    assert!(text.ends_with("# EOF\n"));
    running.stop();
}
