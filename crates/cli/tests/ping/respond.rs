//! `tapline ping --respond`, beside the kernel's counters and ping(8).

use rustix::process::Signal;
use serde_json::json;

use crate::support::ping::{echoes_answered, iputils, ping};
use crate::support::run::{Running, spawn};
use crate::support::{Scene, assert_has, assert_refused, ip_json, number};

/// Starts the responder at right.
fn respond(scene: &Scene, line: &str) -> Running {
    let line = format!("ping --respond -I right0 --rate max {line}");
    spawn(scene.command(&line))
}

/// Whether an XDP program is on right's interface.
fn is_attached(scene: &Scene) -> bool {
    let links = ip_json(&scene.right, "link show right0");
    links[0].get("xdp").is_some()
}

#[test]
fn ping_and_tapline_are_answered_and_the_kernel_sees_nothing() {
    let scene = Scene::new();
    let mut responder = respond(&scene, "--json");
    let start = responder.ready();
    // Without a program at left, the driver would drop the answers.
    assert_has(
        &start,
        &json!({ "interface": "right0", "mode": "generic", "rate_pps": null }),
    );
    assert!(is_attached(&scene));
    for target in ["10.1.0.2", "fd00:1::2"] {
        iputils(&scene, &format!("-c 3 -i 0.01 {target}")).exit(0);
        let ended = ping(
            &scene,
            &format!("--json -q -c 500 -i 0 --rate max {target}"),
        );
        ended.exit(0);
        let summary = ended.events().pop().expect("a summary");
        assert_has(
            &summary,
            &json!({ "sent": 500, "received": 500, "corrupt": 0, "forged": 0 }),
        );
    }
    responder.event(|event| event["event"] == "status" && number(event, "answered") == 1006);
    let ended = responder.stop();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let summary = ended.events().pop().expect("a summary");
    assert_has(
        &summary,
        &json!({ "event": "summary", "answered": 1006, "limited": 0, "damaged": 0, "interface": "right0" }),
    );
    assert_eq!(echoes_answered(&scene.right), 0);
    assert!(!is_attached(&scene));
}

#[test]
fn nothing_stays_attached_after_kill() {
    let scene = Scene::new();
    let mut responder = respond(&scene, "--json");
    responder.ready();
    assert!(is_attached(&scene));
    responder.signal(Signal::KILL);
    responder.finish();
    lab::wait::until("the program is detached", || !is_attached(&scene));
    iputils(&scene, "-c 1 10.1.0.2").exit(0);
    assert_eq!(echoes_answered(&scene.right), 1);
}

#[test]
fn the_text_says_what_happens() {
    let scene = Scene::new();
    let mut responder = spawn(scene.command("ping --respond -I right0 --rate 5kpps"));
    let start =
        "answering echo requests on right0, at most 5 000 per second (generic XDP), Ctrl-C ends";
    while responder.error_line() != start {}
    iputils(&scene, "-c 2 -i 0.01 10.1.0.2").exit(0);
    responder.signal(Signal::QUIT);
    while responder.error_line() != "2 answered, 0 above the limit, 0 damaged, 0 passed on" {}
    let ended = responder.stop();
    assert_eq!(ended.status.code(), Some(0));
    ended.assert_mentions("2 echo requests answered on right0 in ");
    ended.assert_mentions("use --xdp native if its other end has an XDP program");
}

/// The account is printed, and then why it ended.
#[test]
fn a_removed_interface_ends_it() {
    let scene = Scene::new();
    let mut responder = respond(&scene, "--json");
    responder.ready();
    iputils(&scene, "-c 3 -i 0.01 10.1.0.2").exit(0);
    scene.right.ip("link delete right0");
    let ended = responder.finish();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    ended.assert_mentions("interface right0 was removed");
    let summary = ended.events().pop().expect("a summary");
    assert_has(&summary, &json!({ "event": "summary", "answered": 3 }));
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let scene = Scene::new();
    assert_refused(
        |line| scene.run(line),
        &[
            (
                "ping --respond -I nope",
                1,
                "'ip link' lists the interfaces",
            ),
            ("ping --respond -I 10.1.0.2", 2, "use -I IF"),
            ("ping --respond", 2, "--interface"),
            (
                "ping --respond -I right0 10.1.0.1",
                2,
                "cannot be used with",
            ),
            (
                "ping --respond -I right0 --prefix-rate 5",
                2,
                "cannot be used with",
            ),
            (
                "ping --respond -I right0 --exclude 10.1.0.1",
                2,
                "cannot be used with",
            ),
            ("ping --respond -I right0 -4", 2, "cannot be used with"),
            ("ping --respond -I lo", 4, "lo is not an Ethernet interface"),
        ],
    );
    let ended = spawn(scene.privileged_by("", "ping --respond -I right0")).finish();
    let line = ended.refusal(3);
    assert!(line.contains("CAP_BPF"), "{line}");
}
