//! `tapline send` on an interface that accepts no more packets, or changes. The account is compared with the counters
//! of the far end.

use serde_json::json;

use crate::support::files::{bytes, pcap};
use crate::support::frames::frames;
use crate::support::run::{Running, spawn};
use crate::support::{Scene, arrived, ip, name, tapline};

const ENOBUFS: &str = "No buffer space available (os error 105)";
const EMSGSIZE: &str = "Message too long (os error 90)";

/// `tapline send -i left0 -r FILE LINE --json` at left; the file has `count` frames of `length` bytes.
fn start(scene: &Scene, (count, length): (u32, usize), line: &str) -> Running {
    let mut content = pcap(&[]);
    for frame in frames(count, length) {
        let length = u32::try_from(frame.len()).expect("short");
        content.extend([0, 0, length, length].map(u32::to_le_bytes).as_flattened());
        content.extend(frame);
    }
    let file = scene.write("frames.pcap", content);
    let line = format!("send -i left0 -r {file} {line} --json");
    spawn(tapline(&scene.left, &line))
}

/// Gives left0 a token bucket that sends `rate` and queues one packet more than its burst.
fn throttle(scene: &Scene, rate: &str) {
    let dev = name(&scene.left);
    let line = format!("qdisc replace dev {dev} root tbf rate {rate} burst 2000 limit 2000");
    let status = scene.left.command("tc").args(line.split(' ')).status();
    assert!(status.expect("tc runs").success(), "{line}");
}

#[test]
fn packets_for_which_a_queue_has_no_room_are_sent_again_in_order() {
    let scene = Scene::new();
    throttle(&scene, "100mbit");
    let mut capture = scene.capture("--direction in -w got.pcapng");
    let ended = start(&scene, (300, 1000), "--path qdisc").finish();
    let summary = ended.done();
    summary.has(&json!({ "submitted": 300, "accepted": 300, "delivered": 300, "failed": {} }));
    // Each was an ENOBUFS of the kernel.
    assert!(summary.number("retries") > 0);
    capture.received(300);
    capture.stop().done();
    assert_eq!(bytes(&scene.file("got.pcapng")), frames(300, 1000));
}

#[test]
fn a_queue_that_stays_full_ends_the_job_with_a_true_account() {
    let scene = Scene::new();
    // A packet in eight seconds, behind the burst.
    throttle(&scene, "1kbit");
    let ended = start(&scene, (300, 1000), "--path qdisc").finish();
    let line = "interface left0 accepts no more packets: its queue stays full, or it drops them ('ip link' shows NO-CARRIER if its other end is down)";
    assert_eq!(ended.exit(1), line);
    let summary = ended.summary();
    let accepted = summary.number("accepted");
    summary.has(&json!({ "submitted": accepted + 5, "failed": { ENOBUFS: 5 } }));
    // What the queue holds is accepted and not delivered.
    let delivered = summary.number("delivered");
    assert_eq!(delivered, arrived(&scene.right));
    assert!(delivered <= accepted, "{accepted}");
}

#[test]
fn an_interface_that_is_deleted_ends_the_job_with_a_true_account() {
    for path in ["bypass", "qdisc", "xdp", "live-frames"] {
        let scene = Scene::new();
        // Its XDP program makes the veth interface take XDP frames.
        let mut count = spawn(tapline(&scene.right, "count -i right0 --json"));
        count.ready();
        let line = format!("--path {path} --rate 2kpps --loop 1000");
        let running = start(&scene, (1000, 60), &line);
        lab::wait::until("packets arrive", || arrived(&scene.right) > 0);
        let before = arrived(&scene.right);
        ip(&scene.left, "link del left0");
        let ended = running.finish();
        let said = ended.exit(1);
        // While the kernel removes it, it may drop packets for a moment.
        let is_dropping = said
            == "interface left0 accepts no more packets: its queue stays full, or it drops them";
        let is_gone = said.starts_with("cannot send on left0 by ");
        assert!(is_gone || is_dropping, "{said}");
        let summary = ended.summary();
        let accepted = summary.number("accepted");
        assert!(accepted >= before, "{accepted}");
        let failed = summary.0["failed"].as_object().expect("errors");
        let failed: u64 = failed.values().filter_map(serde_json::Value::as_u64).sum();
        assert!(failed > 0);
        assert_eq!(summary.number("submitted"), accepted + failed);
        // Its counters went with it.
        summary.has(&json!({ "delivered": null }));
    }
}

#[test]
fn an_mtu_that_shrinks_meanwhile_is_reported_for_each_frame() {
    let scene = Scene::new();
    let line = "--path bypass --rate 2kpps -c 1000 --loop 10";
    let running = start(&scene, (100, 1000), line);
    lab::wait::until("packets arrive", || arrived(&scene.right) > 0);
    ip(&scene.left, "link set left0 mtu 500");
    let ended = running.finish();
    let summary = ended.summary();
    let accepted = summary.number("accepted");
    assert!(accepted < 1000, "the MTU was lowered too late");
    let failed = 1000 - accepted;
    summary.has(&json!({ "submitted": 1000, "failed": { EMSGSIZE: failed } }));
    assert_eq!(arrived(&scene.right), accepted);
    assert_eq!(
        ended.exit(1),
        format!("the kernel refused {failed} packets")
    );
}
