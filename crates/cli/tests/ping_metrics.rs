//! Counters of probes for Prometheus.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::support::Scene;
use crate::support::ping::{ask_for_neighbours, command, echoes_answered};
use crate::support::run::spawn;
use crate::support::scrape::{address, ask};

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
        value::<u64>(
            &text,
            &format!("tapline_ping_answered_probes_total{labels}"),
        )
    };
    let received = state("received");
    assert!(received > 0 && received <= asked, "{text}");
    assert_eq!(["late", "error"].map(state), [0; 2]);
    let lost = format!("tapline_ping_lost_probes{}", labels("10.1.0.2", ""));
    assert_eq!(value::<u64>(&text, &lost), 0, "{text}");
    for state in ["wrong_source", "forged", "foreign", "stale"] {
        let sample = format!("tapline_ping_stray_answers_total{{state=\"{state}\"}}");
        assert_eq!(value::<u64>(&text, &sample), 0, "{text}");
    }
    assert_eq!(value::<u64>(&text, "tapline_ping_overruns_total{}"), 0);
    let unsent = format!(
        "tapline_ping_unsent_probes_total{}",
        labels("192.0.2.1", "")
    );
    assert!(value::<u64>(&text, &unsent) > 0, "{text}");
    let of_peer = labels("10.1.0.2", "");
    let count = format!("tapline_ping_rtt_seconds_count{of_peer}");
    assert_eq!(value::<u64>(&text, &count), received);
    let bucket = format!(
        "tapline_ping_rtt_seconds_bucket{{le=\"+Inf\",{}",
        &of_peer[1..]
    );
    assert_eq!(value::<u64>(&text, &bucket), received);
    let sum = format!("tapline_ping_rtt_seconds_sum{of_peer}");
    let within_a_second = bucket.replace("+Inf", "1.0");
    assert_eq!(value::<u64>(&text, &within_a_second), received, "{text}");
    assert!(value::<f64>(&text, &sum) > 0.0);
    let silent = labels("192.0.2.1", "");
    let count = format!("tapline_ping_rtt_seconds_count{silent}");
    assert_eq!(value::<u64>(&text, &count), 0, "{text}");
    assert!(text.ends_with("# EOF\n"));
    running.stop();
}

/// Samples that may only grow, as their types say, with their values.
fn counters(text: &str) -> BTreeMap<&str, u64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let sample = |line: &'_ str| {
        let at = line.rfind(' ').expect("a sample");
        let (name, value) = (&line[..at], &line[at + 1..]);
        let suffix = name.split('{').next().expect("a name");
        let grows = ["_total", "_count", "_bucket"].map(|end| suffix.ends_with(end));
        grows
            .contains(&true)
            .then(|| (at, value.parse().expect("a number")))
    };
    let pairs = lines.filter_map(|line| sample(line).map(|(at, value)| (&line[..at], value)));
    pairs.collect()
}

/// The kernel tells of a host that is not there when it has asked for it in vain for three seconds: of probes
/// that have been counted as lost.
#[test]
fn what_counts_never_becomes_less() {
    let scene = Scene::new();
    ask_for_neighbours(&scene.left, &scene.right);
    let arguments = [
        "--json",
        "-v",
        "--metrics",
        "0",
        "-i",
        "200ms",
        "-W",
        "100ms",
        "10.1.0.2",
        "10.1.0.77",
    ];
    let mut running = spawn(command(&scene.left, &arguments));
    let to = address(&running.ready());
    let absent = "{target=\"10.1.0.77\",address=\"10.1.0.77\"}";
    let lost = format!("tapline_ping_lost_probes{absent}");
    let (mut before, mut most_lost) = (String::new(), 0);
    // Ten times as long as that takes.
    for _ in 0..150 {
        let answer = ask(&scene.left, to, b"GET /metrics HTTP/1.1\r\n\r\n").expect("an answer");
        let (old, new) = (counters(&before), counters(&answer.body));
        assert!(new.len() > 10, "{}", answer.body);
        for (name, value) in old {
            assert!(new[name] >= value, "{name}: {value}, then {}", new[name]);
        }
        let now_lost = value::<u64>(&answer.body, &lost);
        if now_lost < most_lost {
            running.stop();
            return;
        }
        (before, most_lost) = (answer.body, now_lost);
        running.event(|event| event["event"] == "reply");
    }
    panic!("no probe was taken away from the lost ones: {before}");
}
