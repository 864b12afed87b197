//! `tapline latency`: its report of packets whose number and time the test knows.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::frames::frames;
use crate::support::run::{Running, spawn};
use crate::support::terminal::Terminal;
use crate::support::{PROGRAM, Scene, assert_has, number};

fn start(scene: &Scene, line: &str) -> Running {
    let mut running = spawn(scene.command(&format!("latency -i right0 --json {line}")));
    running.ready();
    running
}

fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("a date").as_nanos() as u64
}

#[test]
fn the_summary_has_every_packet_in_its_percentiles_and_its_histogram() {
    let scene = Scene::new();
    for (flags, backend, setting) in [
        ("", "packet-v2", "adaptive"),
        ("-s 0", "packet-v3", "adaptive"),
        ("--delivery immediate", "packet-v2", "immediate"),
        ("--delivery batch --timeout 1ms", "packet-v2", "batch"),
        ("--spin 50us", "packet-v2", "adaptive"),
        ("--backend xdp", "xdp", "adaptive"),
        ("--backend xdp-ringbuf", "xdp-ringbuf", "adaptive"),
    ] {
        let running = start(&scene, &format!("-c 500 {flags}"));
        if backend.starts_with("xdp") {
            // The generator would put an XDP program of its own at right.
            scene.send(&frames(500, 128));
        } else {
            scene.generate(500, None);
        }
        let summary = running.done();
        summary.has(&json!({
            "packets": 500, "delivered": 500, "backend": backend, "setting": setting,
            // A veth's driver does not stamp.
            "nic_to_kernel": null,
            "nic_to_kernel_missing": "the driver does not stamp received packets",
        }));
        assert_eq!(summary.all_lost(), 0);
        let ordered = ["min", "p50", "p90", "p99", "p999", "max"];
        let delays = ordered.map(|part| summary.number(&format!("delay_{part}_ns")));
        assert!(delays.is_sorted() && delays[0] > 0, "{delays:?}");
        let buckets = summary.0["histogram"].as_array().expect("buckets");
        let packets = buckets.iter().map(|bucket| number(bucket, "packets"));
        assert_eq!(packets.sum::<u64>(), 500);
        for delay in [delays[0], delays[5]] {
            let holds = |bucket: &Value| {
                (number(bucket, "from_ns")..=number(bucket, "to_ns")).contains(&delay)
            };
            assert!(buckets.iter().any(holds), "{delay} in {buckets:?}");
        }
    }
}

#[test]
fn each_packet_is_reported_with_both_moments() {
    let scene = Scene::new();
    let before_ns = now_ns();
    let running = start(&scene, "--each -c 20 udp");
    scene.send(&frames(1, 60));
    scene.generate(20, None);
    let ended = running.finish();
    assert_eq!(ended.done().number("filtered"), 1);
    let packets = ended.events_of("packet");
    assert_eq!(packets.len(), 20);
    for packet in packets {
        let [stamp_ns, program_ns] = ["timestamp_ns", "program_ns"].map(|key| number(&packet, key));
        assert!(before_ns <= stamp_ns && program_ns <= now_ns());
        assert_has(
            &packet,
            &json!({"delay_ns": program_ns - stamp_ns, "original_len": 128}),
        );
    }
}

#[test]
fn settings_are_compared_on_the_same_packets() {
    let scene = Scene::new();
    let running = start(&scene, "--compare -c 30");
    scene.generate(30, None);
    let ended = running.finish();
    ended.exit(0);
    let names = [
        "immediate",
        "adaptive",
        "batch",
        "v3 1 ms",
        "v3 8 ms",
        "libpcap",
        "libpcap immediate",
    ];
    let settings = ended.events_of("setting");
    assert_eq!(settings.len(), names.len());
    for (row, name) in settings.iter().zip(names) {
        assert_has(
            row,
            &json!({"setting": name, "packets": 30, "packets_lost": 0}),
        );
        assert!(number(row, "reader_cpu_ns") > 0, "{row}");
    }
    assert_eq!(ended.summary().number("settings"), 7);
}

#[test]
fn text_is_a_line_of_percentiles_bars_and_a_table() {
    let scene = Scene::new();
    let said = |line: &str, start: &str, packets: u64| {
        let mut running = spawn(scene.command(&format!("latency -i right0 {line}")));
        assert!(running.error_line().starts_with(start));
        scene.generate(packets, None);
        let ended = running.finish();
        ended.exit(0);
        ended.stdout
    };
    let lines = said("-c 100", "measuring on ", 100);
    assert!(lines[0].starts_with("100 packets in "), "{lines:?}");
    assert!(
        lines[0].ends_with("adaptive delivery over packet-v2, time stamps by kernel, 0 lost"),
        "{lines:?}"
    );
    assert!(
        lines[1].contains("  p50 ") && lines[1].contains("  p99.9 "),
        "{lines:?}"
    );
    assert!(lines[2].contains('#'), "{lines:?}");

    let table = said("--compare -c 5", "comparing 7 delivery settings on ", 5);
    assert!(
        table[0].starts_with("setting") && table.len() == 8,
        "{table:?}"
    );
    assert!(
        table.iter().all(|line| line.len() == table[0].len()),
        "{table:?}"
    );
}

#[test]
fn a_terminal_has_percentiles_and_bars_that_are_drawn_over_themselves() {
    let scene = Scene::new();
    let (mut terminal, running) = Terminal::start(scene.command("latency -i right0"), 40, 24);
    terminal.wait_for("0 packets  min -  p50 -  p90 -  p99 -");
    scene.generate(100, None);
    terminal.wait_for("100 packets  min ");
    terminal.wait_for_shown(" #");
    terminal.wait_for_shown("percentiles so far  p50  p99");
    assert!(terminal.is_filled());
    running.signal(Signal::INT);
    terminal.wait_for("adaptive delivery over packet-v2, time stamps by kernel, 0 lost");
    running.finish().exit(0);
}

/// In windows of any width, whatever the terminal supports; the window changes its size during the run.
#[test]
fn it_fits_every_window_and_follows_its_changes() {
    let scene = Scene::new();
    for (columns, environment) in [
        (60, ("NO_COLOR", "1")),
        (80, ("NO_COLOR", "")),
        (200, ("LC_ALL", "C")),
    ] {
        let mut command = scene.right.command("setsid");
        command.args(["--ctty", PROGRAM, "latency", "-i", "right0"]);
        command.env(environment.0, environment.1);
        let (mut terminal, running) = Terminal::start_session(command, columns, 40);
        terminal.wait_for_shown("q: end, p: plot, arrows: scroll");
        scene.generate(100, None);
        terminal.wait_for_shown("100 packets  min ");
        terminal.wait_for_shown("percentiles so far  p50  p99");
        for wanted in [60, 200, 80] {
            terminal.resize(wanted, 40);
            // The axis of the plot ends at the right margin.
            terminal.wait_until("a drawing of this width", |terminal| {
                let shown = terminal.shown();
                let first = shown.lines().next().unwrap_or_default();
                let keys = shown.lines().nth(39).unwrap_or_default();
                let mut axis = shown.lines().filter(|line| line.ends_with("now"));
                keys.trim_end() == "q: end, p: plot, arrows: scroll"
                    && first.starts_with("100 packets  min ")
                    && axis.any(|line| line.chars().count() == usize::from(wanted))
            });
            terminal.wait_for_shown("percentiles so far  p50  p99");
        }
        terminal.press("p");
        terminal.wait_until("no plot", |terminal| {
            !terminal.shown().contains("percentiles so far")
        });
        let has_colors = terminal.seen.contains("\x1b[1m") || terminal.seen.contains("\x1b[2m");
        assert_eq!(has_colors, environment != ("NO_COLOR", "1"));
        if environment == ("LC_ALL", "C") {
            assert!(terminal.shown().is_ascii(), "{}", terminal.shown());
        }
        terminal.press("q");
        terminal.wait_for("adaptive delivery over packet-v2, time stamps by kernel, 0 lost");
        running.finish().exit(0);
        assert!(terminal.is_as_usual());
    }
}

#[test]
fn a_terminal_on_standard_error_has_a_line_that_fits() {
    let scene = Scene::new();
    let (mut terminal, running) =
        Terminal::start_errors(scene.command("latency -i right0"), 30, 24);
    terminal.wait_for_shown("0 packets  min -  p50 -  p90 -");
    running.signal(Signal::INT);
    running.finish().exit(0);
}

/// A terminal that takes nothing but lines gets nothing else.
#[test]
fn a_plain_terminal_gets_no_live_line() {
    let scene = Scene::new();
    for job in ["latency", "capture -w packets.pcapng"] {
        let mut command = scene.command(&format!("{job} -i right0 --duration 1500ms"));
        command.env("TERM", "dumb");
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
    for (line, code, words) in [
        ("-i right0 --latency-target 0s", 2, "must not be 0"),
        (
            "-i right0 --min-bytes 1k",
            2,
            "--min-bytes needs --delivery batch",
        ),
        (
            "-i right0 --delivery batch --spin 1us",
            2,
            "--spin needs --delivery adaptive or immediate",
        ),
        ("-i right0 --compare --each", 2, "cannot be used with"),
        (
            "-i right0 --compare --delivery batch",
            2,
            "cannot be used with",
        ),
        (
            "-i right0 --compare --min-bytes 4k",
            2,
            "cannot be used with",
        ),
        ("-i right0 --compare --timeout 3s", 2, "cannot be used with"),
        (
            "-i right0 --backend xdp --direction out",
            2,
            "received packets only",
        ),
        (
            "-i right0 --backend xdp-ringbuf --direction out",
            2,
            "received packets only",
        ),
        ("-i right0 'ip6 and and'", 2, "filter"),
        ("-i nowhere0", 1, "ip link"),
    ] {
        let ended = scene.run(&format!("latency {line}"));
        let complaint = ended.exit(code);
        assert!(complaint.contains(words), "{line}: {complaint}");
    }
}
