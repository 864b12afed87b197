//! `tapline ethtool` and `capture --ethtool`, beside ethtool(8).

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::doctor::doctor;
use crate::support::frames::frames;
use crate::support::{Scene, assert_refused, name, output};

/// Whether ethtool(8) says that packets are merged on the captured interface.
fn merges(scene: &Scene) -> bool {
    let shown = output(
        &scene.right,
        "ethtool",
        &format!("-k {}", name(&scene.right)),
    );
    let line = shown
        .lines()
        .find(|line| line.starts_with("generic-receive-offload:"));
    line.expect("a feature").ends_with("on")
}

#[test]
fn settings_are_shown_and_changed_as_by_ethtool() {
    let scene = Scene::new();
    let link = name(&scene.right);
    let set = |words: &str| {
        scene.run(&format!("ethtool set {link} {words}")).exit(0);
    };
    for is_on in [true, false] {
        let state = if is_on { "on" } else { "off" };
        set(&format!(
            "features rx-gro {state} tx-tcp-segmentation {state}"
        ));
        assert_eq!(merges(&scene), is_on);
        let shown = scene.run(&format!("ethtool show {link} features"));
        shown.exit(0);
        let wanted = format!("features rx-gro {state}");
        assert!(shown.stdout.contains(&wanted), "{:?}", shown.stdout);
    }
    let shown = scene.run(&format!("ethtool show {link} channels --json"));
    shown.exit(0);
    let queues = output(&scene.right, "ethtool", &format!("-l {link}"));
    let most = queues
        .lines()
        .find_map(|line| line.strip_prefix("RX:"))
        .expect("a number");
    let most: u32 = most.trim().parse().expect("a number");
    let event: Value = serde_json::from_str(&shown.stdout[0]).expect("JSON");
    assert_eq!(event["interface"], json!(link));
    assert_eq!(event["channels"]["receive_max"], json!(most));
    let first = |line: &str| scene.run(&format!("ethtool {line}"));
    assert_refused(
        first,
        &[
            (&format!("set {link} rss equal 2"), 4, "the driver of"),
            (&format!("show {link} rss"), 4, "has no rss"),
            (&format!("set {link} rss equal"), 2, "rss is written as"),
            (
                &format!("set {link} colour red"),
                2,
                "is not a setting of a device",
            ),
            (
                &format!("set {link} features no-such on"),
                4,
                "bit name not found",
            ),
            ("show nowhere", 1, "'ip link' lists the interfaces"),
        ],
    );
}

#[test]
fn a_capture_restores_settings_at_its_end_and_doctor_those_of_a_killed_one() {
    let scene = Scene::new();
    let former = merges(&scene);
    let state = if former { "off" } else { "on" };
    let flags = format!("--ethtool 'features rx-gro {state}' -w file.pcapng");
    let mut running = scene.capture(&flags);
    assert_eq!(merges(&scene), !former);
    scene.send(&frames(10, 100));
    running.received(10);
    running.signal(Signal::INT);
    running.done().conserves(10);
    assert_eq!(merges(&scene), former);

    let running = scene.capture(&flags);
    running.signal(Signal::KILL);
    running.finish();
    assert_eq!(merges(&scene), !former);
    let undone = doctor(&scene, "--undo");
    undone.exit(0);
    assert_eq!(undone.stdout.last().expect("a line"), "1 undone");
    assert_eq!(merges(&scene), former);
}
