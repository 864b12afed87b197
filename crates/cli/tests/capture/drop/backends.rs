//! The back ends of drop mode: which one is selected and why, and that nothing remains in the kernel when the process
//! is killed.

use std::fs;

use lab::resources::Objects;
use lab::wait;
use rustix::process::Signal;
use serde_json::json;

use crate::support::files::{bytes, count};
use crate::support::frames::frames;
use crate::support::run::{Running, spawn};
use crate::support::{RINGBUF, Scene, arrived, assert_has, ip_json};

const SHORT: &str = "--mode drop -s 96";

#[test]
fn a_busy_reader_takes_every_packet_and_says_how() {
    let scene = Scene::new();
    for (flag, budget) in [("--busy-poll", 64), ("--busy-poll=8", 8)] {
        // A short snaplen would go another way.
        for more in ["", "--delivery immediate --spin 10ms"] {
            let (mut running, begun) =
                scene.capture_begun(&format!("{SHORT} {flag} -w busy.pcapng {more}"));
            let how = json!({"backend": "xdp", "busy_poll_budget": budget});
            assert_has(&begun, &json!({"interfaces": [how]}));
            for number in 1..=20 {
                scene.send(&frames(50, 100));
                running.received(number * 50);
            }
            let summary = running.stop().done();
            summary.conserves(1000);
            assert_eq!((summary.number("written"), summary.all_lost()), (1000, 0));
            summary.has(&how);
            let file = scene.file("busy.pcapng");
            assert_eq!((count(&file), bytes(&file)[0].len()), (1000, 96));
        }
    }
    let ended = scene
        .capture_text("--mode drop --busy-poll=8 -w text.pcapng")
        .stop();
    ended.assert_mentions("native, copy mode, need-wakeup, busy polling up to 8 packets");
}

#[test]
fn a_missing_privilege_for_the_fast_way_is_reported() {
    let scene = Scene::new();
    fs::set_permissions(
        scene.folder.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o777),
    )
    .expect("a folder");
    let without_perfmon = |line: &str| {
        let line = format!("capture -i right0 {SHORT} {line}");
        spawn(scene.privileged_by(",+net_raw,+ipc_lock,+bpf,+net_admin", &line))
    };
    let mut running = without_perfmon("-w slow.pcapng --stats-interval 5ms --json");
    let begun = running.ready();
    scene.send(&frames(40, 100));
    let summary = running.stop_after(40).summary();
    let told = json!({"fall_back": "needs CAP_PERFMON"});
    assert_has(&begun, &json!({"interfaces": [told]}));
    summary.has(&told);
    summary.has(&json!({"backend": "xdp", "written": 40, "interfaces": [told]}));
    assert_eq!(count(&scene.file("slow.pcapng")), 40);

    let ended = without_perfmon("-w slow.pcapng --duration 1ms").finish();
    ended.exit(0);
    ended.assert_mentions("; not xdp-ringbuf: needs CAP_PERFMON)");
    ended.assert_says("backend xdp instead of the cheaper xdp-ringbuf: needs CAP_PERFMON");
}

/// The reader is stopped while ten times as many packets come as its memory holds.
#[test]
fn losses_of_a_stopped_reader_are_reported() {
    let scene = Scene::new();
    let running = scene.capture_text(&format!("{SHORT} --buffer 64k -w lost.pcapng"));
    running.signal(Signal::STOP);
    let status = format!("/proc/{}/stat", running.pid().as_raw_nonzero());
    wait::until("the reader is stopped", || {
        fs::read_to_string(&status).is_ok_and(|text| text.contains(") T "))
    });
    scene.send(&frames(5000, 100));
    wait::until("all packets are at the interface", || {
        arrived(&scene.right) >= 5000
    });
    running.signal(Signal::CONT);
    let ended = running.stop();
    ended.exit(0);
    assert!(ended.stdout[0].contains("(program "), "{ended:?}");
    ended.assert_mentions("the reader ran for ");
    ended.assert_mentions("waited for a CPU for ");
}

/// Kills it, and waits until the kernel has freed what it held.
#[track_caller]
fn kill(running: Running) {
    let process = running.pid().as_raw_nonzero().get().cast_unsigned();
    let held = Objects::of_process(process);
    let all = [held.programs(), held.maps()];
    assert!(!all.contains(&0), "{held:?}");
    assert_eq!(held.left(), all);
    running.signal(Signal::KILL);
    assert_eq!(running.finish().status.code(), None);
    held.until_gone();
}

#[test]
fn nothing_of_a_killed_capture_stays_in_the_kernel() {
    for flags in [
        SHORT,
        "--mode drop -s 96 --sample 1/2",
        "--mode drop",
        RINGBUF,
    ] {
        let scene = Scene::new();
        let line = format!("{flags} ether proto 0x88b5");
        let mut running = scene.capture(&line);
        scene.send(&frames(10, 100));
        running.received(10);
        kill(running);
        let shown = ip_json(&scene.right, "-details link");
        let links = shown.as_array().expect("a list");
        assert!(links.iter().all(|link| link["xdp"].is_null()), "{shown}");
        // And the next one can begin.
        scene.capture(&line).stop().exit(0);
    }
}
