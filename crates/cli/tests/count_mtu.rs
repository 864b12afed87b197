//! Counting where packets are longer than XDP takes them in the driver.

use crate::support::count::{counted, run, start, tally, totals};
use crate::support::frames::frame;
use crate::support::run::{Ended, spawn};
use crate::support::{PROGRAM, Scene, ip, name};
use serde_json::Value;

/// Both ends of the link, for frames of 9014 bytes.
fn jumbo() -> Scene {
    let scene = Scene::new();
    for host in [&scene.left, &scene.right] {
        ip(host, &["link", "set", &name(host), "mtu", "9000"]);
    }
    scene
}

/// The driver of a veth looks at the MTU of the other end.
#[test]
fn an_mtu_too_large_for_the_driver_is_named_with_a_command_that_helps() {
    let scene = jumbo();
    let (right, left) = (name(&scene.right), name(&scene.left));
    ip(&scene.right, &["link", "set", &right, "mtu", "1500"]);
    let remedy = format!("ip link set {left} mtu 3498");
    let reason = format!(
        "the MTU of its other end {left}, 9000, is too large for XDP in the driver: '{remedy}' \
         where that is"
    );
    let native = ["--ingress", "xdp", "--duration", "1ms"];
    let ended = run(&scene.right, &native);
    assert_eq!(
        ended.refusal(4),
        format!(
            "cannot count on {right}: cannot attach native XDP program to {right} ({reason}): \
             Numerical result out of range"
        )
    );
    let told = format!("{right}: in by tcx (XDP refused: {reason}), out by tcx");
    assert_places(&run(&scene.right, &["--duration", "1ms"]), &told);
    ip(&scene.left, &remedy.split(' ').skip(1).collect::<Vec<_>>());
    run(&scene.right, &native).exit(0);
}

/// Checks that a count begins and ends with where it counted.
#[track_caller]
fn assert_places(ended: &Ended, told: &str) {
    ended.exit(0);
    assert_eq!(ended.stderr, [format!("counting on {told}")]);
    let last = ended.stdout.last().map(String::as_str);
    assert_eq!(last, Some(&*format!("counted on {told}")));
}

#[test]
fn a_place_that_counts_super_packets_once_says_so() {
    let scene = Scene::new();
    let right = name(&scene.right);
    let generic = ["--ingress", "xdp-generic", "--duration", "1ms"];
    let told = format!(
        "{right}: in by xdp-generic, where a super-packet counts as one packet, out by tcx"
    );
    assert_places(&run(&scene.right, &generic), &told);
    let ended = run(&scene.right, &[&generic[..], &["--json"]].concat());
    let places = &ended.summary().0["interfaces"];
    let once = [0, 1].map(|place: usize| places[place]["super_packets_count_once"].as_bool());
    assert_eq!(once, [Some(true), Some(false)]);
}

/// XDP in the stack is not what anybody gets who asked for XDP: it counts otherwise.
#[test]
fn xdp_is_in_the_driver_or_refused_with_a_way_out() {
    let scene = Scene::new();
    let mut command = scene.right.command(PROGRAM);
    command.args(["count", "-i", "lo", "--ingress", "xdp"]);
    assert_eq!(
        spawn(command).finish().refusal(4),
        "cannot count on lo: cannot attach native XDP program to lo: Operation not supported (use \
         --ingress auto)"
    );
}

#[test]
fn long_frames_of_the_wire_count_right_wherever_the_program_runs() {
    let scene = jumbo();
    for (ingress, hook) in [
        ("auto", "tcx"),
        ("xdp-generic", "xdp-generic"),
        ("tc", "tcx"),
    ] {
        let classes = ["all=", "long=greater 4000", "deep=ether[8000] = 0xa5"];
        let arguments = [&["--ingress", ingress, "--direction", "in"], &classes[..]].concat();
        let mut running = start(&scene.right, &arguments);
        let mut deep = frame(1, 9014);
        deep[8000] = 0xa5;
        let mut other = frame(2, 9014);
        other[8000] = 0x5a;
        let frames = [deep, other, frame(3, 60), frame(4, 1514), frame(5, 4000)];
        scene.send(&frames);
        counted(&mut running, "all", 5);
        let ended = running.stop();
        ended.exit(0);
        for (class, packets, bytes) in [
            ("all", 5, 2 * 9014 + 60 + 1514 + 4000),
            ("long", 3, 2 * 9014 + 4000),
            ("deep", 1, 9014),
        ] {
            let counted = tally(&totals(&ended, class));
            assert_eq!(counted, (packets, bytes), "{class} by {hook}");
        }
        let place: &Value = &ended.summary().0["interfaces"][0];
        assert_eq!(place["hook"], hook);
    }
}
