//! Counters of probes for Prometheus.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::support::Scene;
use crate::support::ping::{ask_for_neighbours, echoes_answered, start};
use crate::support::scrape::{address, ask};

/// The samples, by their names and labels as they are written.
pub fn scrape(scene: &Scene, to: SocketAddr) -> BTreeMap<String, f64> {
    let request = b"GET /metrics HTTP/1.1\r\n\r\n";
    let answer = ask(&scene.left, to, request).expect("an answer");
    assert_eq!(answer.status, 200);
    assert!(answer.body.ends_with("# EOF\n"));
    let samples = answer.body.lines().filter(|line| !line.starts_with('#'));
    let samples = samples.map(|line| line.rsplit_once(' ').expect("a sample"));
    samples
        .map(|(name, value)| (name.to_owned(), value.parse().expect("a number")))
        .collect()
}

/// The labels of a target, with `more` before and behind them.
pub fn labels(before: &str, target: &str, more: &str) -> String {
    format!("{{{before}target=\"{target}\",address=\"{target}\"{more}}}")
}

#[test]
fn counters_are_those_of_the_kernel_once_they_have_been_posted() {
    let scene = Scene::new();
    let mut running = start(&scene, "--json -v --metrics 0 -i 300ms 10.1.0.2 192.0.2.1");
    let to = address(&running.ready());
    let (peer, silent) = (labels("", "10.1.0.2", ""), labels("", "192.0.2.1", ""));
    let sent = format!("tapline_ping_sent_probes_total{peer}");
    let samples = loop {
        let samples = scrape(&scene, to);
        if samples[&sent] > 2.0 {
            break samples;
        }
        // The next answer of the peer is what may have changed them.
        running.event(|event| event["event"] == "reply");
    };
    let asked = echoes_answered(&scene.right) as f64;
    let state = |state: &str| {
        let labels = labels("", "10.1.0.2", &format!(",state=\"{state}\""));
        samples[&format!("tapline_ping_answered_probes_total{labels}")]
    };
    let received = state("received");
    assert!(
        samples[&sent] <= asked && received > 0.0 && received <= asked,
        "{samples:#?}"
    );
    let bucket = |le: &str| {
        format!(
            "rtt_seconds_bucket{}",
            labels(&format!("le=\"{le}\","), "10.1.0.2", "")
        )
    };
    for (name, expected) in [
        (format!("lost_probes{peer}"), 0.0),
        (
            "stray_answers_total{state=\"wrong_source\"}".to_owned(),
            0.0,
        ),
        ("stray_answers_total{state=\"forged\"}".to_owned(), 0.0),
        ("stray_answers_total{state=\"foreign\"}".to_owned(), 0.0),
        ("stray_answers_total{state=\"stale\"}".to_owned(), 0.0),
        ("overruns_total{}".to_owned(), 0.0),
        (format!("rtt_seconds_count{peer}"), received),
        (bucket("+Inf"), received),
        (bucket("1.0"), received),
        (format!("rtt_seconds_count{silent}"), 0.0),
    ] {
        let value = samples.get(&format!("tapline_ping_{name}"));
        assert_eq!(value, Some(&expected), "{name} in {samples:#?}");
    }
    assert_eq!((state("late"), state("error")), (0.0, 0.0));
    assert!(
        samples[&format!("tapline_ping_unsent_probes_total{silent}")] > 0.0,
        "{samples:#?}"
    );
    assert!(samples[&format!("tapline_ping_rtt_seconds_sum{peer}")] > 0.0);
    running.stop();
}

/// The kernel reports an absent neighbour only after three seconds. By then its probes have been counted as lost.
#[test]
fn what_counts_never_becomes_less() {
    let scene = Scene::new();
    ask_for_neighbours(&scene);
    let mut running = start(
        &scene,
        "--json -v --metrics 0 -i 200ms -W 100ms 10.1.0.2 10.1.0.77",
    );
    let to = address(&running.ready());
    let lost = format!("tapline_ping_lost_probes{}", labels("", "10.1.0.77", ""));
    // Samples that may only grow, as their types say.
    let grows = |name: &str| {
        let family = name.split('{').next().expect("a name");
        ["_total", "_count", "_bucket"]
            .iter()
            .any(|end| family.ends_with(end))
    };
    let (mut before, mut most_lost) = (BTreeMap::<String, f64>::new(), 0.0);
    // Ten times as long as that takes.
    for _ in 0..150 {
        let now = scrape(&scene, to);
        assert!(
            now.keys().filter(|name| grows(name)).count() > 10,
            "{now:?}"
        );
        for (name, value) in before.iter().filter(|(name, _)| grows(name)) {
            assert!(now[name] >= *value, "{name}: {value}, then {}", now[name]);
        }
        if now[&lost] < most_lost {
            running.stop();
            return;
        }
        most_lost = now[&lost];
        before = now;
        running.event(|event| event["event"] == "reply");
    }
    panic!("no probe was taken away from the lost ones: {before:?}");
}
