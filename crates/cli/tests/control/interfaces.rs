//! `tapline ctl add`, `remove` and `set`: interfaces that join and leave a running capture, and other modes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lab::generator::send_frames;
use serde_json::{Value, json};

use crate::support::files::column;
use crate::support::frames::frames;
use crate::support::run::{Running, events, run, spawn};
use crate::support::{Scene, ip};

/// A name that no other test has.
fn name(of: &str) -> String {
    format!("interfaces-{of}-{}", std::process::id())
}

#[track_caller]
fn ctl(name: &str, line: &str) {
    events(&format!("ctl --name {name} {line}"));
}

/// A scene whose right host has a second link, `x0`, which receives what is sent through `x1`.
fn scene() -> Scene {
    let scene = Scene::new();
    for line in [
        "link add x0 type veth peer name x1",
        "link set x0 up",
        "link set x1 up",
    ] {
        ip(&scene.right, line);
    }
    scene
}

/// Sends `count` frames to `x0`.
#[track_caller]
fn send_to_second(scene: &Scene, count: u32) {
    let link = scene.right.netlink().link_named("x1").expect("a link");
    let sent = scene
        .right
        .run(|| send_frames(link.ifindex(), frames(count, 100)));
    assert_eq!(sent.expect("sent"), u64::from(count));
}

fn capture(scene: &Scene, name: &str, line: &str) -> Running {
    scene.capture(&format!("--name {name} --direction in {line}"))
}

pub fn notes(file: &str) -> Vec<String> {
    let summary = events(&format!("read --summary {file}")).remove(0);
    let notes = summary["interfaces"][0]["notes"].as_array().expect("notes");
    let text = |note: &Value| note["comment"].as_str().expect("text").to_owned();
    let words = notes.iter().map(text);
    words
        .map(|note| note.split(" by uid ").next().unwrap_or_default().to_owned())
        .collect()
}

/// Ends the sender when the changes end, also by a panic.
pub struct Over<'o>(pub &'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn interfaces_join_and_leave() {
    let scene = scene();
    let name = name("join");
    let mut running = capture(&scene, &name, "-w file.pcapng");
    scene.send(&frames(10, 100));
    running.received(10);
    ctl(&name, "add x0");
    scene.send(&frames(10, 100));
    send_to_second(&scene, 7);
    running.received(27);
    ctl(&name, "remove x0");
    send_to_second(&scene, 5);
    scene.send(&frames(10, 100));
    running.received(37);
    // The first one leaves, too, and the second one comes back.
    ctl(&name, "add x0");
    ctl(&name, "remove right0");
    scene.send(&frames(10, 100));
    send_to_second(&scene, 3);
    running.received(40);
    ctl(&name, "filter ether proto 0x1234");
    send_to_second(&scene, 2);
    ctl(&name, "stop");
    let summary = running.done();
    summary.conserves(42);
    summary.has(&json!({"delivered": 40, "filtered": 2}));
    let interfaces = summary.0["interfaces"].as_array().expect("interfaces");
    let delivered: Vec<_> = interfaces
        .iter()
        .map(|one| (one["name"].as_str(), one["delivered"].as_u64()))
        .collect();
    let expected = [("right0", 30), ("x0", 7), ("x0", 3)];
    assert_eq!(delivered, expected.map(|(name, n)| (Some(name), Some(n))));
    let file = scene.file("file.pcapng");
    let mut counts = [0; 3];
    for number in column::<usize>(&file, "frame.interface_id") {
        counts[number] += 1;
    }
    assert_eq!(counts, [30, 7, 3]);
    let expected = [
        "add x0",
        "remove x0",
        "add x0",
        "remove right0",
        "filter \"ether proto 0x1234\"",
        "stop",
    ];
    assert_eq!(notes(&file), expected);
}

/// While another interface joins and leaves, and changes its mode, no packet of the first one is lost.
#[test]
fn changes_of_other_interfaces_lose_nothing() {
    let scene = scene();
    let name = name("load");
    let mut running = capture(&scene, &name, "-w file.pcapng");
    let (mut sent, is_over) = (0, AtomicBool::new(false));
    thread::scope(|scope| {
        let changes = scope.spawn(|| {
            let _over = Over(&is_over);
            for round in 0..10 {
                ctl(&name, "add x0");
                // Once: the kernel takes its time to free the queue of a socket that is closed.
                if round == 0 {
                    ctl(&name, "set dev x0 mode drop");
                }
                ctl(&name, "remove x0");
            }
        });
        let frames = frames(100, 100);
        while !is_over.load(Ordering::Relaxed) {
            scene.send(&frames);
            sent += 100;
        }
        changes.join().expect("changed");
    });
    running.received(sent);
    ctl(&name, "stop");
    let summary = running.done();
    summary.conserves(sent);
    summary.has(&json!({"delivered": sent}));
    assert_eq!(notes(&scene.file("file.pcapng")).len(), 22);
}

#[test]
fn the_mode_changes_for_one_interface_and_for_all() {
    let scene = scene();
    let name = name("mode");
    let mut running = capture(&scene, &name, "-w file.pcapng");
    ctl(&name, "add x0");
    let both = || {
        scene.send(&frames(10, 100));
        send_to_second(&scene, 10);
    };
    both();
    running.received(20);
    for (line, total) in [
        ("set dev right0 mode drop", 40),
        ("set mode drop", 60),
        ("set dev x0 mode mirror", 80),
        ("set mode mirror", 100),
        ("set mode mirror", 120),
    ] {
        ctl(&name, line);
        both();
        running.received(total);
    }
    ctl(&name, "stop");
    let summary = running.done();
    summary.conserves(120);
    summary.has(&json!({"delivered": 120, "filtered": 0}));
    let interfaces = summary.0["interfaces"].as_array().expect("interfaces");
    let delivered: Vec<_> = interfaces
        .iter()
        .map(|one| one["delivered"].as_u64())
        .collect();
    assert_eq!(delivered, [Some(60), Some(60)]);
    let numbers = column::<usize>(&scene.file("file.pcapng"), "frame.interface_id");
    assert_eq!(numbers.iter().filter(|&&number| number == 1).count(), 60);
}

/// The interfaces before the one that refuses a mode have changed.
#[test]
fn a_mode_that_changes_in_part_is_noted() {
    let scene = scene();
    let name = name("part");
    let mut running = capture(&scene, &name, "-w file.pcapng");
    ctl(&name, "add x0");
    // Its program keeps others from the interface.
    let mut other = spawn(scene.command("capture -i x0 --json --mode drop -w other.pcapng"));
    other.ready();
    run(&format!("ctl --name {name} set mode drop")).exit(1);
    scene.send(&frames(10, 100));
    running.received(10);
    other.stop().done().conserves(0);
    running.stop().done().conserves(10);
    let expected = ["add x0", "set mode drop, not of all interfaces"];
    assert_eq!(notes(&scene.file("file.pcapng")), expected);
}

/// In drop mode the stack does not see the packets.
#[test]
fn drop_mode_takes_the_packets_from_the_stack() {
    let scene = scene();
    let name = name("stack");
    let observer = scene.capture("--name observer-of-stack --direction in -w stack.pcapng");
    let mut running = capture(&scene, &name, "-w file.pcapng");
    scene.send(&frames(10, 100));
    running.received(10);
    ctl(&name, "set dev right0 mode drop");
    scene.send(&frames(10, 100));
    running.received(20);
    ctl(&name, "set dev right0 mode mirror");
    scene.send(&frames(10, 100));
    running.received(30);
    running.stop().done().conserves(30);
    observer.stop().done().conserves(20);
}

#[test]
fn impossible_interfaces_and_modes_are_refused() {
    let scene = scene();
    let name = name("refused");
    let running = capture(&scene, &name, "-w file.pcapng");
    ip(&scene.right, "link add down0 type veth peer name down1");
    for (line, status, text) in [
        ("add right0", 1, "right0 is already captured"),
        ("add nothing0", 1, "nothing0"),
        ("add down0", 1, "interface down0 is down"),
        ("remove nothing0", 1, "nothing0 is not captured"),
        ("remove right0", 1, "right0 is the last interface"),
        ("set dev x0 mode drop", 1, "x0 is not captured"),
        ("set dev right0 mode sideways", 1, "use mirror or drop"),
        ("set right0 mode drop", 2, "'ctl set' takes"),
    ] {
        let ended = run(&format!("ctl --name {name} {line}"));
        let shown = ended.exit(status);
        assert!(shown.contains(text), "{line}: {shown}");
    }
    running.stop().done().conserves(0);
    let running = capture(&scene, &name, "-w file.pcap");
    let ended = run(&format!("ctl --name {name} add x0"));
    assert!(ended.exit(1).contains("a pcap file"), "{ended:?}");
    running.stop().done().conserves(0);
}
