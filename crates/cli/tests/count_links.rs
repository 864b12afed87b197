//! An interface that is down, or goes down, or has no carrier, while it is counted.

use crate::support::count::{OFTEN, command, counted, start_text, tally, totals};
use crate::support::frames::frames;
use crate::support::run::{Running, spawn};
use crate::support::{Scene, ip, name};
use lab::Host;

fn set(host: &Host, state: &str) {
    ip(host, &["link", "set", &name(host), state]);
}

/// Waits for the next event about an interface.
fn state(running: &mut Running) -> String {
    let event = running.event(|event| event["event"] == "link");
    event["state"].as_str().expect("a state").to_owned()
}

#[test]
fn an_interface_that_is_down_is_told_and_counted_when_it_comes_up() {
    let scene = Scene::new();
    let link = name(&scene.right);
    set(&scene.right, "down");
    let mut json = command(&scene.right, &OFTEN);
    json.args(["--json", "test=ether proto 0x88b5"]);
    let mut running = spawn(json);
    running.ready();
    assert_eq!(state(&mut running), "down");
    set(&scene.right, "up");
    assert_eq!(state(&mut running), "up");
    scene.send(&frames(30, 100));
    counted(&mut running, "test", 30);
    let ended = running.stop();
    ended.exit(0);
    assert_eq!(tally(&totals(&ended, "test")), (30, 3000));
    let summary = ended.summary();
    let place = &summary.0["interfaces"][0];
    assert_eq!(
        (&place["name"], &place["state"]),
        (&link.into(), &"up".into())
    );
    let down = place["down_ns"].as_u64().expect("a time");
    assert!(
        (1..summary.number("duration_ns")).contains(&down),
        "{place}"
    );
}

#[test]
fn each_change_of_an_interface_is_told_once() {
    let scene = Scene::new();
    let mut json = command(&scene.right, &["--interval", "1h", "--json"]);
    json.args(["-i", "lo"]);
    let mut running = spawn(json);
    running.ready();
    for (host, change, expected) in [
        (&scene.right, "down", "down"),
        (&scene.right, "up", "up"),
        (&scene.left, "down", "no-carrier"),
        (&scene.left, "up", "up"),
    ] {
        set(host, change);
        assert_eq!(state(&mut running), expected);
    }
    let link = name(&scene.right);
    ip(&scene.right, &["link", "set", &link, "mtu", "1400"]);
    let ended = running.stop();
    ended.exit(0);
    let events = ended.events();
    let of_links = events.iter().filter(|event| event["event"] == "link");
    assert_eq!(of_links.count(), 4, "{events:?}");
}

#[test]
fn people_are_told_on_standard_error() {
    let scene = Scene::new();
    let link = name(&scene.right);
    let mut running = start_text(&scene.right, &["--interval", "1h"]);
    set(&scene.right, "down");
    assert_eq!(
        running.error_line(),
        format!("warning: {link} is down: nothing to count (use 'ip link set {link} up')")
    );
    set(&scene.right, "up");
    assert_eq!(running.error_line(), format!("{link} is up again"));
    set(&scene.left, "down");
    let line = running.error_line();
    assert!(
        line.starts_with(&format!("warning: {link} has no carrier: ")),
        "{line}"
    );
    let ended = running.stop();
    ended.exit(0);
    let last = ended.stdout.last().expect("a line");
    let told = format!("counted on {link}: in by xdp-native, out by tcx; down or without carrier ");
    assert!(last.starts_with(&told), "{last}");
}

/// The zeros of values need an explanation too.
#[test]
fn quiet_counts_and_values_are_no_exception() {
    let scene = Scene::new();
    set(&scene.right, "down");
    for flags in [&["-q"][..], &["--csv", "-q"]] {
        let arguments = [flags, &["--interval", "1h"]].concat();
        let mut running = spawn(command(&scene.right, &arguments));
        let line = running.error_line();
        assert!(line.contains("is down: nothing to count"), "{line}");
        running.stop().exit(0);
    }
}
