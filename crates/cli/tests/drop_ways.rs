//! The ways by which drop mode takes packets: which was taken, why not the better one, and what is left of it
//! when the process is killed.

use crate::support;
use std::fs;

use crate::support::files::{bytes, count};
use crate::support::frames::frames;
use crate::support::run::{Running, command, run, spawn, start, start_text};
use crate::support::{PROGRAM, Scene, arrived, name};
use lab::held::Objects;
use lab::{Host, wait};
use rustix::process::Signal;

const SHORT: [&str; 4] = ["--mode", "drop", "-s", "96"];

#[test]
fn a_busy_reader_takes_every_packet_and_says_how() {
    let scene = Scene::new();
    for (flag, budget) in [("--busy-poll", 64), ("--busy-poll=8", 8)] {
        // A short snaplen would go another way.
        for more in [&[][..], &["--delivery", "immediate", "--spin", "10ms"]] {
            let file = scene.file("busy.pcapng");
            let flags = [
                &SHORT[..],
                &[flag, "-w", &file, "--stats-interval", "5ms"],
                more,
            ];
            let mut running = spawn({
                let mut command = command(&scene.right, &flags.concat());
                command.arg("--json");
                command
            });
            let begun = running.ready();
            assert_eq!(begun["interfaces"][0]["backend"], "xdp");
            assert_eq!(begun["interfaces"][0]["busy_poll_budget"], budget);
            for number in 1..=20 {
                scene.send(&frames(50, 100));
                running.received(number * 50);
            }
            let ended = running.stop();
            ended.exit(0);
            let summary = ended.summary();
            summary.conserves(1000);
            assert_eq!((summary.number("written"), summary.all_lost()), (1000, 0));
            assert_eq!(summary.0["busy_poll_budget"], budget);
            assert_eq!((count(&file), bytes(&file)[0].len()), (1000, 96));
        }
    }
    let file = scene.file("text.pcapng");
    let flags = ["--mode", "drop", "--busy-poll=8", "-w", &file];
    let ended = start_text(&scene.right, &flags).stop();
    let how = "(copy mode, need-wakeup, busy polling up to 8 packets)";
    assert!(ended.stdout[1].contains(how), "{ended:?}");
}

#[test]
fn busy_polling_is_refused_where_it_cannot_be() {
    let scene = Scene::new();
    for (arguments, said) in [
        (&["--busy-poll"][..], "--busy-poll needs --mode drop"),
        (
            &["--mode", "drop", "--busy-poll", "--delivery", "batch"],
            "--busy-poll needs --delivery adaptive or immediate",
        ),
    ] {
        assert_eq!(run(&scene.right, arguments).refusal(2), said);
    }
    let ended = run(&scene.right, &["--mode", "drop", "--busy-poll=0"]);
    assert!(ended.refusal(2).contains("--busy-poll"), "{ended:?}");
}

/// `tapline` with no capabilities but those that AF_XDP takes.
fn without_perfmon(host: &Host, arguments: &[&str]) -> std::process::Command {
    let mut command = host.command("setpriv");
    let kept = "-all,+net_raw,+ipc_lock,+bpf,+net_admin";
    command.args([
        "--bounding-set",
        kept,
        PROGRAM,
        "capture",
        "-i",
        &name(host),
    ]);
    command.args(arguments);
    command
}

#[test]
fn a_missing_privilege_for_the_fast_way_is_told() {
    let scene = Scene::new();
    let file = scene.file("slow.pcapng");
    let flags = [
        &SHORT[..],
        &["-w", &file, "--stats-interval", "5ms", "--json"],
    ]
    .concat();
    let mut running = spawn(without_perfmon(&scene.right, &flags));
    let begun = running.ready();
    scene.send(&frames(40, 100));
    running.received(40);
    let ended = running.stop();
    ended.exit(0);
    let summary = ended.summary();
    for told in [
        &begun["interfaces"][0],
        &summary.0,
        &summary.0["interfaces"][0],
    ] {
        assert_eq!(told["fall_back"], "needs CAP_PERFMON", "{told}");
    }
    assert_eq!(summary.0["backend"], "xdp");
    assert_eq!((summary.number("written"), count(&file)), (40, 40));

    let flags = [&SHORT[..], &["-w", &file, "--duration", "1ms"]].concat();
    let ended = spawn(without_perfmon(&scene.right, &flags)).finish();
    ended.exit(0);
    assert!(
        ended.stderr[0].ends_with("; not xdp-ringbuf: needs CAP_PERFMON)"),
        "{ended:?}"
    );
    let line = "packets came by AF_XDP, not by the cheaper xdp-ringbuf: needs CAP_PERFMON";
    assert!(ended.stdout.iter().any(|told| told == line), "{ended:?}");
}

/// The reader is stopped while ten times as many packets come as its memory holds.
#[test]
fn a_loss_is_told_with_what_the_reader_was_given() {
    let scene = Scene::new();
    let file = scene.file("lost.pcapng");
    let flags = [&SHORT[..], &["--buffer", "64k", "-w", &file]].concat();
    let running = start_text(&scene.right, &flags);
    let process = running.pid();
    running.signal(Signal::STOP);
    let status = format!("/proc/{}/stat", process.as_raw_nonzero());
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
    let told = |line: &String| {
        line.starts_with("the reader ran for ") && line.contains("waited for a processor for ")
    };
    assert!(ended.stdout.iter().any(told), "{ended:?}");
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
        &SHORT[..],
        &["--mode", "drop", "-s", "96", "--sample", "1/2"],
        &["--mode", "drop"],
        &["--backend", "xdp-ringbuf", "--direction", "in", "-s", "96"],
    ] {
        let scene = Scene::new();
        let arguments = [
            flags,
            &["--stats-interval", "5ms", "ether", "proto", "0x88b5"],
        ];
        let mut running = start(&scene.right, &arguments.concat());
        scene.send(&frames(10, 100));
        running.received(10);
        kill(running);
        let shown = support::ip_json(&scene.right, &["-details", "link"]);
        let links = shown.as_array().expect("a list");
        assert!(links.iter().all(|link| link["xdp"].is_null()), "{shown}");
        // And the next one can begin.
        start(&scene.right, &arguments.concat()).stop().exit(0);
    }
}
