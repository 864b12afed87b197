//! Filters that match every packet: each back end captures all packets.

use crate::support::frames::frames;
use crate::support::{RINGBUF, Scene};

#[test]
fn a_filter_that_takes_all_takes_all() {
    let scene = Scene::new();
    for way in ["--mode drop", "--mode drop -s 96", RINGBUF] {
        for filter in [
            "inbound",
            "not outbound",
            "len >= 0",
            "tcp or not tcp",
            "1=1",
        ] {
            let mut running = scene.capture(&format!("{way} '{filter}'"));
            scene.send(&frames(10, 100));
            running.received(10);
            let summary = running.stop().done();
            assert!(summary.number("delivered") >= 10, "{way} {filter}");
            assert_eq!(summary.number("filtered"), 0, "{way} {filter}");
        }
    }
}
