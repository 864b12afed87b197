//! `--backend xdp-ringbuf`: a known number sent is in the summary and in the file, and what it cannot do
//! is said with a way out.

use crate::support;
use std::net::UdpSocket;
use std::time::Duration;

use crate::support::files::{bytes, count};
use crate::support::frames::{frames, udp};
use crate::support::run::{command, run, spawn, start};
use crate::support::{Scene, ip};

const RINGBUF: [&str; 6] = ["--backend", "xdp-ringbuf", "--direction", "in", "-s", "96"];

#[test]
fn what_is_copied_is_accounted_for_and_the_stack_sees_it() {
    let scene = Scene::new();
    let to = (scene.right.interface().v4, 7001);
    let socket = scene.right.run(|| UdpSocket::bind(to).expect("a socket"));
    let deadline = Some(Duration::from_secs(10));
    socket.set_read_timeout(deadline).expect("a deadline");
    for place in ["native", "generic"] {
        let file = scene.file(&format!("{place}.pcapng"));
        let more = [
            "--xdp",
            place,
            "-w",
            &file,
            "--stats-interval",
            "5ms",
            "udp",
        ];
        let mut running = start(&scene.right, &[&RINGBUF[..], &more].concat());
        let datagrams = vec![udp(&[0x5a; 200]); 40];
        scene.send(&[frames(30, 60), datagrams].concat());
        running.received(70);
        let sender = scene
            .left
            .run(|| UdpSocket::bind("0.0.0.0:0").expect("a socket"));
        sender.send_to(b"whole", to).expect("it is sent");
        let mut received = [0; 9];
        assert_eq!(socket.recv(&mut received).expect("it arrives"), 5);
        running.delivered(41);
        let ended = running.stop();
        ended.exit(0);
        let summary = ended.summary();
        // Beside them come what the address resolution of the two hosts says.
        assert!(summary.number("filtered") >= 30);
        assert_eq!((summary.number("delivered"), summary.all_lost()), (41, 0));
        assert_eq!(summary.0["backend"], "xdp-ringbuf");
        assert_eq!(summary.0["mode"], "mirror");
        assert_eq!(summary.0["xdp_mode"], place);
        assert_eq!(count(&file), 41);
        let lengths = bytes(&file).iter().map(Vec::len).collect::<Vec<_>>();
        assert!(lengths[..40].iter().all(|&length| length == 96));
    }
}

#[test]
fn it_says_where_it_copies() {
    let scene = Scene::new();
    let mut running = spawn(command(&scene.right, &RINGBUF));
    let line = running.error_line();
    let start = "capturing on right0, incoming packets (native xdp-ringbuf, ";
    assert!(line.starts_with(start), "{line}");
    running.stop().exit(0);
}

#[test]
fn what_it_cannot_do_is_refused_with_a_way_out() {
    let scene = Scene::new();
    let short = &RINGBUF[..4];
    for (arguments, status, said) in [
        (
            &RINGBUF[..2],
            2,
            "backend xdp-ringbuf sees packets that come in only (use --direction in)",
        ),
        (
            short,
            2,
            "backend xdp-ringbuf copies 16384 bytes of a packet at most, not 262144 (use -s)",
        ),
        (
            &[&RINGBUF[..], &["--timestamp", "hardware"]].concat(),
            4,
            "backend xdp-ringbuf has no time stamps of the hardware (use --backend auto)",
        ),
        (
            &[&RINGBUF[..], &["--mode", "drop"]].concat(),
            2,
            "backend xdp-ringbuf is not for drop mode (use --backend xdp or auto)",
        ),
        (
            &["--xdp", "generic"],
            2,
            "--xdp needs --mode drop or --backend xdp-ringbuf",
        ),
    ] {
        assert_eq!(run(&scene.right, arguments).refusal(status), said);
    }
}

/// The loopback's driver has no XDP; the stack's first step has.
#[test]
fn an_interface_without_native_xdp_is_refused_or_copied_from_in_the_stack() {
    let scene = Scene::new();
    ip(&scene.right, &["link", "set", "lo", "up"]);
    let of_loopback = |more: &[&str]| {
        let mut command = scene.right.command(support::PROGRAM);
        command.args(["capture", "-i", "lo"]).args(RINGBUF);
        command.args(more);
        spawn(command)
    };
    let ended = of_loopback(&["--xdp", "native"]).finish();
    let refusal = ended.refusal(4);
    assert!(
        refusal.ends_with("(use --xdp auto or generic)"),
        "{refusal}"
    );
    let mut running = of_loopback(&[]);
    let line = running.error_line();
    let start = "capturing on lo, incoming packets (generic xdp-ringbuf, ";
    assert!(line.starts_with(start), "{line}");
    let why = "refused native XDP: Operation not supported";
    assert!(line.contains(why), "{line}");
    let ended = running.stop();
    ended.exit(0);
    let line = "XDP ran in the stack: the driver of lo refused it: Operation not supported";
    assert!(ended.stderr.iter().any(|told| told == line), "{ended:?}");
}

#[test]
fn another_program_on_the_interface_is_named_as_the_reason() {
    let scene = Scene::new();
    let running = start(&scene.right, &RINGBUF);
    let ended = run(&scene.right, &RINGBUF);
    let refusal = ended.refusal(1);
    assert!(
        refusal.contains("(tapline_mirror) is attached already by process "),
        "{refusal}"
    );
    running.stop().exit(0);
}

#[test]
fn each_missing_privilege_is_named() {
    let scene = Scene::new();
    let run_with = |kept: &str, filter: &[&str]| {
        let mut command = scene.right.command("setpriv");
        command.args(["--bounding-set", &format!("-all{kept}"), support::PROGRAM]);
        command.args(["capture", "-i", &support::name(&scene.right)]);
        command.args(RINGBUF).args(["--duration", "1ms"]);
        spawn({
            command.args(filter);
            command
        })
        .finish()
    };
    let link = support::name(&scene.right);
    for (kept, missing) in [
        ("", "CAP_NET_RAW, CAP_BPF and CAP_NET_ADMIN"),
        (",+bpf", "CAP_NET_RAW and CAP_NET_ADMIN"),
        (",+bpf,+net_admin", "CAP_NET_RAW"),
    ] {
        let ended = run_with(kept, &[]);
        let expected = format!(
            "cannot capture from {link} by XDP: Operation not permitted (needs {missing}; run with \
             sudo or setcap)"
        );
        assert_eq!(ended.refusal(3), expected, "{kept}");
    }
    let enough = ",+bpf,+net_admin,+net_raw";
    run_with(enough, &[]).exit(0);
    // The place of a port is computed.
    let ended = run_with(enough, &["port", "53"]);
    let complaint = ended.refusal(3);
    assert!(complaint.contains("needs CAP_PERFMON"), "{complaint}");
}
