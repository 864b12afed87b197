//! Machine-readable output of `tapline ping`: JSON Lines and comma-separated values.

use serde_json::{Value, json};

use crate::support::ping::{dead_ends, echoes_answered, ping};
use crate::support::{Scene, assert_has, keys, number};

const COUNTS: &str = "sent received lost late duplicate corrupt errors local_drops pending";
const TIMES: &str =
    "rtt_min_ns rtt_p50_ns rtt_mean_ns rtt_p99_ns rtt_max_ns rtt_stddev_ns jitter_ns";

/// Checks that an object has these keys in this order.
#[track_caller]
fn assert_keys(object: &Value, contract: &[&str]) {
    assert_eq!(keys(object).join(" "), contract.join(" "));
}

fn numbers(object: &Value, keys: &str) -> Vec<u64> {
    keys.split(' ').map(|key| number(object, key)).collect()
}

#[test]
fn targets_and_summary_have_the_keys_of_the_contract() {
    let scene = Scene::new();
    dead_ends(&scene);
    let targets = ["10.1.0.2", "10.9.0.1", "192.0.2.1"];
    let ended = ping(
        &scene,
        &format!("--json -c 3 -i 10ms {}", targets.join(" ")),
    );
    assert_eq!(ended.status.code(), Some(1));
    assert!(ended.stderr.is_empty(), "{ended:?}");
    let events = ended.events();
    let kinds: Vec<_> = events.iter().map(|event| event["event"].as_str()).collect();
    assert_eq!(
        kinds,
        ["start", "target", "target", "target", "summary"].map(Some)
    );
    let start = "event at_ns targets excluded repeated count interval_ns rate_pps timeout_ns payload_bytes tag_bytes \
                 backend metrics";
    assert_keys(&events[0], &[start]);
    for ((event, target), counts) in events[1..4].iter().zip(targets).zip([
        [3, 3, 0, 0, 0, 0, 0, 0, 0],
        [3, 0, 0, 0, 0, 0, 3, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 3, 0],
    ]) {
        assert_keys(
            event,
            &["event target address", COUNTS, TIMES, "longest_outage"],
        );
        assert_has(event, &json!({"target": target, "address": target}));
        assert_eq!(numbers(event, COUNTS), counts);
    }
    let summary = &events[4];
    assert_eq!(numbers(summary, COUNTS), [6, 3, 0, 0, 0, 0, 3, 3, 0]);
    assert_eq!(echoes_answered(&scene.right), 3);
    for event in [&events[1], summary] {
        let times = numbers(event, "rtt_min_ns rtt_p50_ns rtt_p99_ns rtt_max_ns");
        assert!(times[0] > 0 && times.is_sorted(), "{event}");
    }
    for event in &events[2..4] {
        assert!(TIMES.split(' ').all(|key| event[key].is_null()), "{event}");
    }
    let beside = "reordered wrong_source forged cut_short foreign stale untimed unproven_errors notices unsent \
                  overruns checksum_drops network_errors local_drop_reasons duration_ns ended backend \
                  timestamp_source departure_source departures clock_steps";
    assert_keys(
        summary,
        &["event targets answered unresolved", COUNTS, TIMES, beside],
    );
    let unreachable = json!({
        "router": "10.1.0.2", "type": 3, "code": 1, "words": "Destination Host Unreachable", "count": 3,
    });
    assert_has(
        summary,
        &json!({
            "targets": 3, "answered": 1, "network_errors": [unreachable], "ended": "count", "backend": "raw",
            "local_drop_reasons": [{ "error": "Network is unreachable", "count": 3 }],
            "timestamp_source": "kernel",
        }),
    );
}

#[test]
fn one_target_has_its_events_and_several_have_them_on_request() {
    let scene = Scene::new();
    dead_ends(&scene);
    let ended = ping(&scene, "--json -c 2 -i 10ms -t 9 fd00:1::2");
    let replies = ended.events_of("reply");
    for (event, sequence) in replies.iter().zip(1..=2) {
        assert_keys(
            event,
            &["event target address seq status rtt_ns source ttl payload_bytes at_ns"],
        );
        assert_has(
            event,
            &json!({
                "status": "received", "seq": sequence, "payload_bytes": 56, "source": "fd00:1::2", "ttl": 64,
            }),
        );
    }
    // The summary of two round trips is made of them.
    let mut times: Vec<u64> = replies
        .iter()
        .map(|event| number(event, "rtt_ns"))
        .collect();
    times.sort_unstable();
    let summary = ended.done();
    assert_eq!(
        ["rtt_min_ns", "rtt_max_ns"].map(|key| summary.number(key)),
        times[..]
    );
    assert!(
        summary
            .number("rtt_mean_ns")
            .abs_diff(times.iter().sum::<u64>() / 2)
            <= 1
    );

    let ended = ping(&scene, "--json -v -c 1 10.1.0.2 10.9.0.1 192.0.2.1");
    let mut kinds: Vec<_> = (ended.events().iter())
        .map(|event| (event["event"].clone(), event["target"].clone()))
        .filter(|(kind, _)| *kind != "target")
        .map(|(kind, target)| format!("{kind} {target}").replace('"', ""))
        .collect();
    kinds.sort();
    let expected = [
        "error 10.9.0.1",
        "local_drop 192.0.2.1",
        "reply 10.1.0.2",
        "start null",
        "summary null",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(ping(&scene, "--json -q -c 1 10.1.0.2").events().len(), 3);
}

#[test]
fn csv_has_the_same_keys_and_figures() {
    let scene = Scene::new();
    let ended = ping(&scene, "--csv -q -c 2 -i 10ms 10.1.0.2 192.0.2.1 localhost");
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let head = ["target address", COUNTS, TIMES, "longest_outage"].join(" ");
    assert_eq!(ended.stdout[0], head.replace(' ', ","));
    let [answered, unreachable, local] = &ended.stdout[1..] else {
        panic!("{ended:?}");
    };
    assert!(
        answered.starts_with("10.1.0.2,10.1.0.2,2,2,0,0,0,0,0,0,0,"),
        "{answered}"
    );
    assert_eq!(
        unreachable,
        "192.0.2.1,192.0.2.1,0,0,0,0,0,0,0,2,0,,,,,,,,2"
    );
    assert!(
        local.starts_with("localhost,127.0.0.1,") || local.starts_with("localhost,::1,"),
        "{local}"
    );
    for row in [answered, local] {
        let times = row.split(',').skip(11).take(7);
        assert_eq!(times.flat_map(str::parse::<u64>).count(), 7, "{row}");
    }
}

#[test]
fn a_histogram_has_every_answer() {
    let scene = Scene::new();
    let flags = "--histogram -c 4 -i 1ms 10.1.0.2 fd00:1::2";
    let summary = ping(&scene, &format!("--json {flags}")).summary();
    let buckets = summary.0["histogram"].as_array().expect("buckets");
    let sum: u64 = buckets.iter().map(|bucket| number(bucket, "count")).sum();
    assert_eq!((sum, summary.number("received")), (8, 8));
    let is_range = |bucket: &Value| number(bucket, "low_ns") <= number(bucket, "high_ns");
    assert!(buckets.iter().all(is_range));

    let ended = ping(&scene, &format!("-q {flags}"));
    ended.exit(0);
    let rows = ended
        .stdout
        .iter()
        .skip_while(|line| *line != "round trips up to:")
        .skip(1);
    let count = |row: &String| {
        row.rsplit(' ')
            .next()
            .and_then(|count| count.parse::<u64>().ok())
    };
    assert_eq!(rows.map(count).sum::<Option<u64>>(), Some(8));
}
