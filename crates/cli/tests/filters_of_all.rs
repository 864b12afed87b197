//! Filters that take every packet there is: each way of capturing has them all.

use crate::support::Scene;
use crate::support::frames::frames;
use crate::support::run::start;

const WAYS: [&[&str]; 3] = [
    &["--mode", "drop"],
    &["--mode", "drop", "-s", "96"],
    &["--backend", "xdp-ringbuf", "--direction", "in", "-s", "96"],
];
const FILTERS: [&str; 5] = [
    "inbound",
    "not outbound",
    "len >= 0",
    "tcp or not tcp",
    "1=1",
];

#[test]
fn a_filter_that_takes_all_takes_all() {
    let scene = Scene::new();
    for way in WAYS {
        for filter in FILTERS {
            let often = ["--stats-interval", "5ms", filter];
            let mut running = start(&scene.right, &[way, &often].concat());
            scene.send(&frames(10, 100));
            running.received(10);
            let ended = running.stop();
            ended.exit(0);
            let summary = ended.summary();
            assert!(summary.number("delivered") >= 10, "{way:?} {filter}");
            assert_eq!(summary.number("filtered"), 0, "{way:?} {filter}");
        }
    }
}
