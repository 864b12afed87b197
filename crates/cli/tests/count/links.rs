//! Counting on an interface that is down, goes down, has no carrier or is removed, and on one whose MTU is too large
//! for native XDP.

use lab::{Host, wait};
use rustix::process::Signal;
use serde_json::json;

use crate::support::count::{run, start, start_text, tally, totals};
use crate::support::frames::{frame, frames};
use crate::support::run::{Ended, Running};
use crate::support::{Scene, assert_refused, ip, ip_json, name, number, output};

fn set(host: &Host, state: &str) {
    ip(host, &format!("link set {} {state}", name(host)));
}

/// Waits for the next event about an interface.
fn state(running: &mut Running) -> String {
    let event = running.event(|event| event["event"] == "link");
    event["state"].as_str().expect("a state").to_owned()
}

#[test]
fn an_interface_that_is_down_is_reported_and_counted_when_it_comes_up() {
    let scene = Scene::new();
    set(&scene.right, "down");
    let mut running = start(&scene, "'test=ether proto 0x88b5'");
    assert_eq!(state(&mut running), "down");
    set(&scene.right, "up");
    assert_eq!(state(&mut running), "up");
    scene.send(&frames(30, 100));
    let ended = running.stop_counted("test", 30);
    assert_eq!(tally(&totals(&ended, "test")), (30, 3000));
    let summary = ended.summary();
    summary.has(&json!({"interfaces": [{"name": "right0", "state": "up"}, {}]}));
    let down = number(&summary.0["interfaces"][0], "down_ns");
    assert!(
        (1..summary.number("duration_ns")).contains(&down),
        "{summary:?}"
    );
}

#[test]
fn each_change_of_an_interface_is_reported_once() {
    let scene = Scene::new();
    let mut running = start(&scene, "-i lo --interval 1h");
    for (host, change, expected) in [
        (&scene.right, "down", "down"),
        (&scene.right, "up", "up"),
        (&scene.left, "down", "no-carrier"),
        (&scene.left, "up", "up"),
    ] {
        set(host, change);
        assert_eq!(state(&mut running), expected);
    }
    set(&scene.right, "mtu 1400");
    let ended = running.stop();
    ended.exit(0);
    assert_eq!(ended.events_of("link").len(), 4, "{ended:?}");
}

/// The zeros of values, and of a quiet count, need an explanation too.
#[test]
fn changes_are_reported_on_standard_error() {
    let scene = Scene::new();
    let mut running = start_text(&scene, "--interval 1h");
    let warning = "warning: right0 is down: nothing to count (use 'ip link set right0 up')";
    set(&scene.right, "down");
    assert_eq!(running.error_line(), warning);
    set(&scene.right, "up");
    assert_eq!(running.error_line(), "right0 is up again");
    set(&scene.left, "down");
    let line = running.error_line();
    assert!(
        line.starts_with("warning: right0 has no carrier: "),
        "{line}"
    );
    let ended = running.stop();
    ended.exit(0);
    let last = ended.stdout.last().expect("a line");
    let told = "counted on right0: in by xdp-native, out by tcx; down or without carrier ";
    assert!(last.starts_with(told), "{last}");

    set(&scene.right, "down");
    for flags in ["-q", "--csv -q"] {
        let line = format!("count -i right0 --interval 1h {flags}");
        let mut running = crate::support::run::spawn(scene.command(&line));
        assert_eq!(running.error_line(), warning);
        running.stop().exit(0);
    }
}

#[test]
fn an_interface_that_is_removed_ends_the_count_in_order() {
    let scene = Scene::new();
    let mut running = start(&scene, "all=");
    scene.send(&frames(40, 100));
    running.counted("all", 40);
    ip(&scene.right, "link delete right0");
    let ended = running.finish();
    assert_eq!(ended.exit(1), "interface right0 was removed");
    ended.summary().has(&json!({"classes": [{"packets": 40}]}));
    // That it goes down first is nothing to do anything about.
    assert!(ended.events_of("link").is_empty());
    let scene = Scene::new();
    let running = start_text(&scene, "all=");
    ip(&scene.right, "link delete right0");
    let ended = running.finish();
    ended.exit(1);
    assert!(ended.stderr.iter().all(|line| !line.contains("warning")));
    assert!(ended.stdout.iter().all(|line| !line.contains("down")));
}

#[test]
fn nothing_is_left_at_the_interface() {
    let scene = Scene::new();
    let is_attached = || {
        let shown = ip_json(&scene.right, "link show right0");
        let filters = output(&scene.right, "tc", "qdisc show dev right0");
        !shown[0]["xdp"].is_null() || filters.contains("clsact")
    };
    for signal in [Signal::TERM, Signal::KILL] {
        let running = start_text(&scene, "all=");
        assert!(is_attached());
        running.signal(signal);
        running.finish();
        // It stays while another process that lists BPF links holds its link for a moment.
        wait::until("nothing is attached", || !is_attached());
    }
}

/// Both ends of the link, for frames of 9014 bytes.
fn jumbo() -> Scene {
    let scene = Scene::new();
    set(&scene.left, "mtu 9000");
    set(&scene.right, "mtu 9000");
    scene
}

/// Checks that a count begins and ends with where it counted.
#[track_caller]
fn assert_places(ended: &Ended, told: &str) {
    ended.exit(0);
    assert_eq!(ended.stderr, [format!("counting on {told}")]);
    let last = ended.stdout.last().map(String::as_str);
    assert_eq!(last, Some(&*format!("counted on {told}")));
}

/// The driver of a veth looks at the MTU of the other end. XDP in the stack is not what anybody gets who asked
/// for XDP: it counts otherwise, and says so.
#[test]
fn where_xdp_cannot_be_in_the_driver_it_is_refused_with_a_way_out() {
    let scene = jumbo();
    set(&scene.right, "mtu 1500");
    let remedy = "link set left0 mtu 3498";
    let reason = format!(
        "the MTU of its other end left0, 9000, is too large for XDP in the driver: 'ip {remedy}' where that is"
    );
    let native = "count -i right0 --ingress xdp --duration 1ms";
    let by_mtu = format!(
        "tapline: cannot count on right0: cannot attach native XDP program to right0 ({reason}): Numerical result \
         out of range"
    );
    let by_driver = "tapline: cannot count on lo: cannot attach native XDP program to lo (the driver does not \
                     support native XDP): Operation not supported (use --ingress auto)";
    let rows = [
        (native, 4, &*by_mtu),
        ("count -i lo --ingress xdp", 4, by_driver),
    ];
    assert_refused(|line| scene.run(line), &rows);
    let told = format!("right0: in by tcx (XDP refused: {reason}), out by tcx");
    assert_places(&run(&scene, "--duration 1ms"), &told);
    ip(&scene.left, remedy);
    scene.run(native).exit(0);

    let generic = "--ingress xdp-generic --duration 1ms";
    let told = "right0: in by xdp-generic, where a super-packet counts as one packet, out by tcx";
    assert_places(&run(&scene, generic), told);
    let once = [true, false].map(|is_once| json!({"super_packets_count_once": is_once}));
    run(&scene, &format!("{generic} --json"))
        .done()
        .has(&json!({"interfaces": once}));
}

#[test]
fn long_frames_of_the_wire_count_right_wherever_the_program_runs() {
    let scene = jumbo();
    for (ingress, hook) in [
        ("auto", "tcx"),
        ("xdp-generic", "xdp-generic"),
        ("tc", "tcx"),
    ] {
        let flags = format!("--ingress {ingress} --direction in");
        let running = start(
            &scene,
            &format!("{flags} all= 'long=greater 4000' 'deep=ether[8000] = 0xa5'"),
        );
        let mut frames = [(1, 9014), (2, 9014), (3, 60), (4, 1514), (5, 4000)]
            .map(|(n, length)| frame(n, length));
        frames[0][8000] = 0xa5;
        frames[1][8000] = 0x5a;
        scene.send(&frames);
        let ended = running.stop_counted("all", 5);
        for (class, packets, bytes) in [
            ("all", 5, 2 * 9014 + 60 + 1514 + 4000),
            ("long", 3, 2 * 9014 + 4000),
            ("deep", 1, 9014),
        ] {
            let counted = tally(&totals(&ended, class));
            assert_eq!(counted, (packets, bytes), "{class} by {hook}");
        }
        ended
            .summary()
            .has(&json!({"interfaces": [{"hook": hook}]}));
    }
}
