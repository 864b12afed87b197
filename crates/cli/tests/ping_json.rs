//! What `tapline ping` says to programs: JSON Lines and comma-separated values.

use crate::support::Scene;
use crate::support::ping::{dead_ends, echoes_answered, ping};
use serde_json::Value;

const COUNTS: [&str; 9] = [
    "sent",
    "received",
    "lost",
    "late",
    "duplicate",
    "corrupt",
    "errors",
    "local_drops",
    "pending",
];
const TIMES: [&str; 7] = [
    "rtt_min_ns",
    "rtt_p50_ns",
    "rtt_mean_ns",
    "rtt_p99_ns",
    "rtt_max_ns",
    "rtt_stddev_ns",
    "jitter_ns",
];

fn keys(value: &Value) -> Vec<&str> {
    let object = value.as_object().expect("an object");
    object.keys().map(String::as_str).collect()
}

#[track_caller]
fn number(value: &Value, key: &str) -> u64 {
    value[key]
        .as_u64()
        .unwrap_or_else(|| panic!("{key} in {value}"))
}

#[test]
fn targets_and_summary_have_the_keys_of_the_contract() {
    let scene = Scene::new();
    dead_ends(&scene.left, &scene.right);
    let targets = ["10.1.0.2", "10.9.0.1", "192.0.2.1"];
    let arguments = [&["--json", "-c", "3", "-i", "10ms"], &targets[..]].concat();
    let ended = ping(&scene.left, &arguments);
    assert_eq!(ended.status.code(), Some(1));
    assert!(ended.stderr.is_empty(), "{ended:?}");
    let events = ended.events();
    let kinds: Vec<_> = events.iter().map(|event| event["event"].as_str()).collect();
    assert_eq!(
        kinds,
        ["start", "target", "target", "target", "summary"].map(Some)
    );
    assert_eq!(
        keys(&events[0]),
        [
            "event",
            "at_ns",
            "targets",
            "excluded",
            "repeated",
            "count",
            "interval_ns",
            "rate_pps",
            "timeout_ns",
            "payload_bytes",
            "backend",
            "metrics"
        ]
    );
    let expected = [
        &["event", "target", "address"],
        &COUNTS[..],
        &TIMES,
        &["longest_outage"],
    ];
    for (event, target) in events[1..4].iter().zip(targets) {
        assert_eq!(keys(event), expected.concat());
        assert_eq!(
            (&event["target"], &event["address"]),
            (&target.into(), &target.into())
        );
    }
    let counts = |event: &Value| COUNTS.map(|key| number(event, key));
    assert_eq!(counts(&events[1]), [3, 3, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(counts(&events[2]), [3, 0, 0, 0, 0, 0, 3, 0, 0]);
    assert_eq!(counts(&events[3]), [0, 0, 0, 0, 0, 0, 0, 3, 0]);
    let summary = &events[4];
    assert_eq!(counts(summary), [6, 3, 0, 0, 0, 0, 3, 3, 0]);
    assert_eq!(echoes_answered(&scene.right), 3);
    for event in [&events[1], summary] {
        let times = ["rtt_min_ns", "rtt_p50_ns", "rtt_p99_ns", "rtt_max_ns"];
        let times = times.map(|key| number(event, key));
        assert!(times[0] > 0 && times.is_sorted(), "{event}");
    }
    for event in &events[2..4] {
        assert!(TIMES.iter().all(|key| event[*key].is_null()), "{event}");
    }
    account(summary);
}

/// What the summary has beside figures.
#[track_caller]
fn account(summary: &Value) {
    let expected = [
        &["event", "targets", "answered", "unresolved"],
        &COUNTS[..],
        &TIMES,
        &[
            "reordered",
            "wrong_source",
            "forged",
            "cut_short",
            "foreign",
            "stale",
            "untimed",
            "unproven_errors",
            "notices",
            "unsent",
            "overruns",
            "checksum_drops",
            "network_errors",
            "local_drop_reasons",
            "duration_ns",
            "ended",
            "backend",
            "timestamp_source",
            "departure_source",
            "departures",
            "clock_steps",
        ],
    ];
    assert_eq!(keys(summary), expected.concat());
    assert_eq!(
        (number(summary, "targets"), number(summary, "answered")),
        (3, 1)
    );
    assert_eq!(
        summary["network_errors"],
        serde_json::json!([{
            "router": "10.1.0.2", "type": 3, "code": 1, "words": "Destination Host Unreachable", "count": 3,
        }])
    );
    assert_eq!(
        summary["local_drop_reasons"],
        serde_json::json!([{ "error": "Network is unreachable", "count": 3 }])
    );
    assert_eq!(summary["ended"], "count");
    assert_eq!(
        (&summary["backend"], &summary["timestamp_source"]),
        (&"raw".into(), &"kernel".into())
    );
}

#[test]
fn one_target_has_its_events_and_several_have_them_on_request() {
    let scene = Scene::new();
    dead_ends(&scene.left, &scene.right);
    let ended = ping(
        &scene.left,
        &["--json", "-c", "2", "-i", "10ms", "-t", "9", "fd00:1::2"],
    );
    ended.exit(0);
    let events = ended.events();
    for (event, sequence) in events[1..3].iter().zip(1..) {
        assert_eq!(
            keys(event),
            [
                "event",
                "target",
                "address",
                "seq",
                "status",
                "rtt_ns",
                "source",
                "ttl",
                "payload_bytes",
                "at_ns"
            ]
        );
        assert_eq!(
            (&event["event"], &event["status"]),
            (&"reply".into(), &"received".into())
        );
        assert_eq!(
            (number(event, "seq"), number(event, "payload_bytes")),
            (sequence, 56)
        );
        assert_eq!(
            (&event["source"], number(event, "ttl")),
            (&"fd00:1::2".into(), 64)
        );
    }
    // The summary of two round trips is made of them.
    let times: Vec<u64> = events[1..3]
        .iter()
        .map(|event| number(event, "rtt_ns"))
        .collect();
    let summary = ended.summary();
    assert_eq!(Some(&summary.number("rtt_min_ns")), times.iter().min());
    assert_eq!(Some(&summary.number("rtt_max_ns")), times.iter().max());
    assert!(
        summary
            .number("rtt_mean_ns")
            .abs_diff(times.iter().sum::<u64>() / 2)
            <= 1
    );

    let arguments = [
        "--json",
        "-v",
        "-c",
        "1",
        "10.1.0.2",
        "10.9.0.1",
        "192.0.2.1",
    ];
    let ended = ping(&scene.left, &arguments);
    let mut kinds: Vec<_> = (ended.events().iter())
        .map(|event| (event["event"].clone(), event["target"].clone()))
        .filter(|(kind, _)| *kind != "target")
        .map(|(kind, target)| format!("{kind}{target}").replace('"', " "))
        .collect();
    kinds.sort();
    assert_eq!(
        kinds,
        [
            " error  10.9.0.1 ",
            " local_drop  192.0.2.1 ",
            " reply  10.1.0.2 ",
            " start null",
            " summary null"
        ]
    );
    let quiet = ping(&scene.left, &["--json", "-q", "-c", "1", "10.1.0.2"]);
    assert_eq!(quiet.events().len(), 3);
}

#[test]
fn csv_has_the_same_keys_and_figures() {
    let scene = Scene::new();
    let arguments = [
        "--csv",
        "-q",
        "-c",
        "2",
        "-i",
        "10ms",
        "10.1.0.2",
        "192.0.2.1",
        "localhost",
    ];
    let ended = ping(&scene.left, &arguments);
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let head = [
        &["target", "address"],
        &COUNTS[..],
        &TIMES,
        &["longest_outage"],
    ]
    .concat();
    assert_eq!(ended.stdout[0], head.join(","));
    let rows: Vec<Vec<&str>> = ended.stdout[1..]
        .iter()
        .map(|row| row.split(',').collect())
        .collect();
    assert_eq!(rows.len(), 3);
    assert_eq!(
        rows[0][..11],
        [
            "10.1.0.2", "10.1.0.2", "2", "2", "0", "0", "0", "0", "0", "0", "0"
        ]
    );
    assert_eq!(
        rows[1][2..],
        [
            "0", "0", "0", "0", "0", "0", "0", "2", "0", "", "", "", "", "", "", "", "2"
        ]
    );
    assert_eq!(rows[2][0], "localhost");
    assert!(["127.0.0.1", "::1"].contains(&rows[2][1]), "{rows:?}");
    for time in [&rows[0][11..18], &rows[2][11..18]].concat() {
        time.parse::<u64>().unwrap_or_else(|_| panic!("{rows:?}"));
    }
}

#[test]
fn a_histogram_in_json_has_every_answer() {
    let scene = Scene::new();
    let arguments = [
        "--json",
        "--histogram",
        "-c",
        "4",
        "-i",
        "1ms",
        "10.1.0.2",
        "fd00:1::2",
    ];
    let summary = ping(&scene.left, &arguments).summary();
    let buckets = summary.0["histogram"].as_array().expect("buckets");
    let sum: u64 = buckets.iter().map(|bucket| number(bucket, "count")).sum();
    assert_eq!((sum, summary.number("received")), (8, 8));
    assert!(
        buckets
            .iter()
            .all(|bucket| number(bucket, "low_ns") <= number(bucket, "high_ns"))
    );
}
