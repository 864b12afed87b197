//! Limits and ends of a run: replies, memory, signals.

use std::net::Ipv4Addr;

use rustix::process::Signal;
use serde_json::json;

use crate::support::ping::{dead_ends, ping, start, with_files};
use crate::support::run::Running;
use crate::support::{Scene, ending, number};

/// As ping does: who waits for a host to come up gives the time and the number of answers.
#[test]
fn with_a_time_one_target_is_asked_until_it_has_answered_so_often() {
    let scene = Scene::new();
    scene.right.set_sysctl("ipv4/icmp_echo_ignore_all", "1");
    let mut running = start(&scene, "--json -v -c 2 -w 60 -i 20ms -W 20ms 10.1.0.2");
    for _ in 0..5 {
        running.event(|event| event["event"] == "lost");
    }
    scene.right.set_sysctl("ipv4/icmp_echo_ignore_all", "0");
    let summary = running.done();
    assert!(summary.number("lost") >= 5, "{summary:?}");
    summary.has(&json!({"received": 2, "ended": "count"}));

    // An error is an answer, too, though none that was wanted.
    dead_ends(&scene);
    let refused = ping(&scene, "--json -c 2 -w 60 -i 20ms 10.9.0.1");
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    refused.summary().has(&json!({"received": 0, "errors": 1}));
}

/// A run that has no room is refused before it takes any.
#[test]
fn a_run_that_finds_no_memory_is_refused() {
    let scene = Scene::new();
    let text =
        "MemTotal:        2097152 kB\nMemFree:           65536 kB\nMemAvailable:     524288 kB\n";
    let memory = scene.write("meminfo", text);
    let files = [[&*memory, "/proc/meminfo"]];
    let refused = with_files(&scene, &files, "-q -c 1 -w 1ms 127.0.0.0/8");
    assert_eq!(
        refused.refusal(1),
        "the statistics of 16 777 214 targets take 1.6 GB of memory, and 537 MB are available"
    );
    with_files(&scene, &files, "-q -c 1 10.1.0.2 127.0.0.1").exit(0);
}

#[test]
fn a_signal_ends_the_run_with_its_summary() {
    let scene = Scene::new();
    for signal in ending() {
        let mut running = start(&scene, "--json -i 10ms 10.1.0.2");
        running.event(|event| event["seq"] == 3);
        running.signal(signal);
        let summary = running.done();
        assert_eq!(summary.0["ended"], "stopped");
        let [sent, received, pending] =
            ["sent", "received", "pending"].map(|key| summary.number(key));
        assert!(received >= 3 && sent == received + pending, "{summary:?}");
    }
}

#[test]
fn sigquit_asks_for_a_short_status_and_ends_nothing() {
    let scene = Scene::new();
    let mut running = start(&scene, "-i 50ms 10.1.0.2");
    while !running.line().contains("icmp_seq=2 ") {}
    running.signal(Signal::QUIT);
    let status = running.error_line();
    let (counts, times) = status
        .split_once(", min/avg/ewma/max = ")
        .expect("a status");
    assert!(
        counts.starts_with('\r') && counts.contains(" packets, 0% loss"),
        "{status:?}"
    );
    let times = times.strip_suffix(" ms").expect("milliseconds").split('/');
    assert_eq!(times.flat_map(str::parse::<f64>).count(), 4);
    running.line();
    let ended = running.stop();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    ended.assert_says("--- 10.1.0.2 ping statistics ---");
}

#[test]
fn loss_beyond_what_is_tolerated_fails_the_run() {
    let scene = Scene::new();
    for (limit, code) in [("1", 0), ("50%", 0), ("0", 1), ("49.9%", 1)] {
        ping(
            &scene,
            &format!("--fail-loss {limit} -q -c 1 10.1.0.2 192.0.2.1"),
        )
        .exit(code);
    }
}

/// A file of a process in /proc.
fn proc_file(running: &Running, name: &str) -> String {
    let path = format!("/proc/{}/{name}", running.pid().as_raw_nonzero());
    std::fs::read_to_string(path).expect("it runs")
}

/// Bytes of memory of a process by the kernel's names for them.
fn memory_bytes<const KINDS: usize>(running: &Running, names: [&str; KINDS]) -> [u64; KINDS] {
    let text = proc_file(running, "status");
    names.map(|name| {
        let mut rows = text.lines().filter_map(|row| row.strip_prefix(name));
        let kib = rows.next().expect("a row").trim().trim_end_matches(" kB");
        1024 * kib.parse::<u64>().expect("a number")
    })
}

/// Bytes of memory that a process takes, and has taken at most.
fn resident_bytes(running: &Running) -> [u64; 2] {
    memory_bytes(running, ["VmRSS:", "VmHWM:"])
}

/// Bytes of private memory, written or not, and of the maps of programs.
fn allocated_bytes(running: &Running) -> [u64; 1] {
    let [private] = memory_bytes(running, ["VmData:"]);
    let text = proc_file(running, "maps");
    let maps = text
        .lines()
        .filter(|line| line.ends_with("anon_inode:bpf-map"));
    let sizes = maps.map(|line| {
        let (range, _) = line.split_once(' ').expect("a range");
        let (start, end) = range.split_once('-').expect("start and end");
        let [start, end] = [start, end].map(|address| u64::from_str_radix(address, 16));
        end.expect("a number") - start.expect("a number")
    });
    [private + sizes.sum::<u64>()]
}

/// Compared with what the kernel counts. Most of the addresses are in different networks.
#[test]
fn a_list_of_single_addresses_takes_little_memory() {
    const FEW: u32 = 20_000;
    const MANY: u32 = 420_000;
    // Address, hop and answer in the programs take 16 bytes, the address in the list 4, and whether it was sent 1. While the
    // list is read, its text is in memory too.
    const MOST_BYTES: u64 = 24;
    const MOST_AT_A_TIME: u64 = 32;
    let scene = Scene::new();
    scene.left.ip("route add 32.0.0.0/3 via 10.1.0.2");
    // Far from each other.
    let address = |number: u32| Ipv4Addr::from(1 << 29 | number.wrapping_mul(0x9e37_79b1) >> 3);
    let [each, peak] = bytes_per_target(&scene, resident_bytes, [FEW, MANY], |count| {
        let addresses = (0..count).map(|number| format!("{}\n", address(number)));
        let list = scene.write("list", addresses.collect::<String>());
        format!("-f {list}")
    });
    assert!(each <= MOST_BYTES, "{each} bytes a target");
    assert!(peak <= MOST_AT_A_TIME, "{peak} bytes a target");
}

/// The memory of the programs counts too: it is mapped. The bytes that record which addresses were sent to are allocated but
/// not yet written, so they are not part of the resident memory.
#[test]
fn an_address_of_a_prefix_takes_17_bytes() {
    let scene = Scene::new();
    scene.left.ip("route add 32.0.0.0/3 via 10.1.0.2");
    let targets = |length: u32| format!("32.0.0.0/{length}");
    let [each] = bytes_per_target(&scene, allocated_bytes, [14, 10], targets);
    // Address, hop and answer take 16, and whether it was sent 1.
    assert_eq!(each, 17);
}

/// What each target takes of a sweep of more targets, compared with one of fewer, to the nearest byte: `targets` names both.
fn bytes_per_target<const KINDS: usize>(
    scene: &Scene,
    measure: impl Fn(&Running) -> [u64; KINDS],
    sizes: [u32; 2],
    targets: impl Fn(u32) -> String,
) -> [u64; KINDS] {
    let memory = |size: u32| {
        let targets = targets(size);
        let line = format!("--backend xdp -I left0 -c 1 -W 60 -q --json --rate 1pps {targets}");
        let mut running = start(scene, &line);
        let started = running.ready();
        let bytes = measure(&running);
        running.stop();
        (number(&started, "targets"), bytes)
    };
    let [(few, little), (many, much)] = sizes.map(memory);
    let added = many - few;
    std::array::from_fn(|kind| (much[kind] - little[kind] + added / 2) / added)
}
