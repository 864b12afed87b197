//! `tapline latency`: what it tells of packets whose number and moment the test knows.

use crate::support;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::support::run::{Ended, Running, spawn};
use crate::support::terminal::Terminal;
use crate::support::{PROGRAM, Scene, name};
use lab::Host;
use rustix::process::Signal;

fn command(host: &Host, arguments: &[&str]) -> Command {
    let mut command = host.command(PROGRAM);
    command.args(["latency", "-i", &name(host)]).args(arguments);
    command
}

fn start(host: &Host, arguments: &[&str]) -> Running {
    let mut running = spawn(command(host, arguments));
    running.ready();
    running
}

fn run(host: &Host, arguments: &[&str]) -> Ended {
    spawn(command(host, arguments)).finish()
}

fn now_ns() -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a date");
    now.as_nanos() as u64
}

#[test]
fn the_summary_has_every_packet_in_its_percentiles_and_its_histogram() {
    let scene = Scene::new();
    for (flags, backend, setting) in [
        (&[][..], "packet-v2", "adaptive"),
        (&["-s", "0"], "packet-v3", "adaptive"),
        (&["--delivery", "immediate"], "packet-v2", "immediate"),
        (
            &["--delivery", "batch", "--timeout", "1ms"],
            "packet-v3",
            "batch",
        ),
        (&["--spin", "50us"], "packet-v2", "adaptive"),
    ] {
        let running = start(&scene.right, &[&["--json", "-c", "500"], flags].concat());
        scene.generate(500, None);
        let ended = running.finish();
        ended.exit(0);
        let summary = ended.summary();
        assert_eq!(
            (summary.number("packets"), summary.number("delivered")),
            (500, 500)
        );
        // A veth's driver does not stamp.
        assert!(summary.0["nic_to_kernel"].is_null());
        let missing = "the driver does not stamp received packets";
        assert_eq!(summary.0["nic_to_kernel_missing"], missing);
        assert_eq!(summary.all_lost(), 0);
        assert_eq!(
            (&summary.0["backend"], &summary.0["setting"]),
            (&backend.into(), &setting.into())
        );
        let ordered = ["min", "p50", "p90", "p99", "p999", "max"];
        let delays = ordered.map(|part| summary.number(&format!("delay_{part}_ns")));
        assert!(delays.is_sorted() && delays[0] > 0, "{delays:?}");
        let buckets = summary.0["histogram"].as_array().expect("buckets");
        let packets = buckets
            .iter()
            .map(|bucket| bucket["packets"].as_u64().expect("a number"));
        assert_eq!(packets.sum::<u64>(), 500);
        let covered = |ns: u64| {
            let holds = |bucket: &serde_json::Value| {
                bucket["from_ns"].as_u64() <= Some(ns) && bucket["to_ns"].as_u64() >= Some(ns)
            };
            buckets.iter().any(holds)
        };
        assert!(covered(delays[0]) && covered(delays[5]));
    }
}

#[test]
fn each_packet_is_told_with_both_moments() {
    let scene = Scene::new();
    let before_ns = now_ns();
    let running = start(&scene.right, &["--json", "--each", "-c", "20", "udp"]);
    scene.send(&support::frames::frames(1, 60));
    scene.generate(20, None);
    let ended = running.finish();
    ended.exit(0);
    let events = ended.events();
    let packets: Vec<_> = events
        .iter()
        .filter(|event| event["event"] == "packet")
        .collect();
    assert_eq!(packets.len(), 20);
    for packet in packets {
        let number = |key: &str| packet[key].as_u64().expect("a number");
        let (kernel_ns, program_ns) = (number("kernel_ns"), number("program_ns"));
        assert_eq!(number("delay_ns"), program_ns - kernel_ns);
        assert!(before_ns <= kernel_ns && program_ns <= now_ns());
        assert_eq!(number("original_len"), 128);
    }
    assert_eq!(ended.summary().number("filtered"), 1);
}

#[test]
fn settings_are_compared_on_the_same_packets() {
    let scene = Scene::new();
    let running = start(&scene.right, &["--json", "--compare", "-c", "30"]);
    scene.generate(30, None);
    let ended = running.finish();
    ended.exit(0);
    let events = ended.events();
    let settings: Vec<_> = events
        .iter()
        .filter(|event| event["event"] == "setting")
        .collect();
    let names: Vec<_> = settings
        .iter()
        .map(|row| row["setting"].as_str().expect("a name"))
        .collect();
    assert_eq!(
        names,
        [
            "immediate",
            "adaptive",
            "batch",
            "v3 1 ms",
            "v3 8 ms",
            "libpcap",
            "libpcap immediate"
        ]
    );
    for row in settings {
        assert_eq!(
            (&row["packets"], &row["packets_lost"]),
            (&30.into(), &0.into()),
            "{row}"
        );
        assert!(row["reader_cpu_ns"].as_u64() > Some(0), "{row}");
    }
    assert_eq!(events.last().expect("a summary")["settings"], 7);
}

#[test]
fn text_is_a_line_of_percentiles_bars_and_a_table() {
    let scene = Scene::new();
    let mut running = spawn(command(&scene.right, &["-c", "100"]));
    assert!(running.error_line().starts_with("measuring on "));
    scene.generate(100, None);
    let ended = running.finish();
    ended.exit(0);
    assert!(ended.stdout[0].starts_with("100 packets in "), "{ended:?}");
    assert!(ended.stdout[0].ends_with("adaptive delivery over packet-v2, 0 lost"));
    assert!(ended.stdout[1].contains("  p50 ") && ended.stdout[1].contains("  p99.9 "));
    assert!(ended.stdout[2].contains('#'));

    let mut running = spawn(command(&scene.right, &["--compare", "-c", "5"]));
    assert!(
        running
            .error_line()
            .starts_with("comparing 7 delivery settings on ")
    );
    scene.generate(5, None);
    let ended = running.finish();
    ended.exit(0);
    assert!(ended.stdout[0].starts_with("setting"), "{ended:?}");
    assert_eq!(ended.stdout.len(), 8);
    let width = ended.stdout[0].len();
    assert!(
        ended.stdout.iter().all(|line| line.len() == width),
        "{ended:?}"
    );
}

#[test]
fn a_terminal_has_percentiles_and_bars_that_are_drawn_over_themselves() {
    let scene = Scene::new();
    let (mut terminal, running) = Terminal::start(command(&scene.right, &[]), 40, 24);
    terminal.wait_for("0 packets  min -  p50 -  p90 -  p99 -");
    scene.generate(100, None);
    terminal.wait_for("100 packets  min ");
    // Where the lines of the first drawing were.
    assert!(
        terminal.seen.contains("\r\x1b[2A\x1b[J"),
        "{:?}",
        terminal.seen
    );
    terminal.wait_for(" #");
    let drawn = terminal.seen.rsplit("\x1b[J").next().expect("a drawing");
    let widest = drawn.lines().map(|line| line.chars().count()).max();
    assert!(widest < Some(40), "{drawn:?}");
    running.signal(Signal::INT);
    terminal.wait_for("adaptive delivery over packet-v2, 0 lost");
    running.finish().exit(0);
}

#[test]
fn a_terminal_on_standard_error_has_a_line_that_fits() {
    let scene = Scene::new();
    let (mut terminal, running) = Terminal::start_errors(command(&scene.right, &[]), 30, 24);
    terminal.wait_for("\r\x1b[K0 packets  min -  p50 -  p90~");
    running.signal(Signal::INT);
    running.finish().exit(0);
}

/// A terminal that takes nothing but lines gets nothing else.
#[test]
fn a_plain_terminal_gets_no_live_line() {
    let scene = Scene::new();
    let folder = scene.file("packets.pcapng");
    let of = |arguments: &[&str]| {
        let mut command = scene.right.command(PROGRAM);
        command.env("TERM", "dumb").args(arguments);
        command.args(["-i", &name(&scene.right), "--duration", "1500ms"]);
        command
    };
    for command in [of(&["latency"]), of(&["capture", "-w", &folder])] {
        let (mut terminal, running) = Terminal::start_errors(command, 80, 24);
        terminal.wait_for("ing on ");
        running.finish().exit(0);
        terminal.read_to_end();
        assert!(!terminal.seen.contains('\x1b'), "{:?}", terminal.seen);
    }
}

#[test]
fn what_contradicts_is_refused() {
    let scene = Scene::new();
    for (arguments, words) in [
        (&["--latency-target", "0s"][..], "must not be 0"),
        (&["--min-bytes", "1k"], "--min-bytes needs --delivery batch"),
        (
            &["--delivery", "batch", "--spin", "1us"],
            "--spin needs --delivery adaptive or immediate",
        ),
        (&["--compare", "--each"], "cannot be used with"),
        (&["--compare", "--delivery", "batch"], "cannot be used with"),
        (&["--compare", "--min-bytes", "4k"], "cannot be used with"),
        (&["--compare", "--timeout", "3s"], "cannot be used with"),
        (&["--backend", "xdp"], "use packet-v2, packet-v3 or auto"),
        (
            &["--backend", "xdp-ringbuf"],
            "use packet-v2, packet-v3 or auto",
        ),
        (&["ip6 and and"], "filter"),
    ] {
        let ended = run(&scene.right, arguments);
        let complaint = ended.exit(2);
        assert!(complaint.contains(words), "{complaint}");
    }
    let mut command = scene.right.command(PROGRAM);
    command.args(["latency", "-i", "nowhere0"]);
    let ended = spawn(command).finish();
    assert!(ended.exit(1).contains("ip link"), "{ended:?}");
}
