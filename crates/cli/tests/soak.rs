//! Commands of every kind at once, for TAPLINE_SOAK_MINUTES: their memory and descriptors stay as they are once the commands
//! are warm, and each account adds up.
//!
//! `make soak` runs it for an hour, `make test` for a few rounds.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::run::{Running, spawn};
use crate::support::{Scene, tapline};

/// Rounds without TAPLINE_SOAK_MINUTES.
const ROUNDS: usize = 6;

/// Packets of a round, from the left host: to the port that the drop mode takes, and another.
const LOAD: [&str; 2] = [
    "send -i left0 --udp --dst 10.1.0.2 --dport 4242 -c 5000 --rate 100000pps --path qdisc",
    "send -i left0 --udp --dst 10.1.0.2 --dport 4000-4200 -c 5000 --rate 100000pps --path qdisc",
];

/// Memory that a process may gain in the second half of the run: what the allocator keeps.
const MAX_GROWTH_KIB: u64 = 1024;

/// Commands that run all the time, at the right host.
const LASTING: [&str; 7] = [
    "capture -i right0 --json --name soak -w a.pcapng --rotate-packets 15000 --keep 2 --metrics 127.0.0.1:0",
    "capture -i right0 --json --mode drop -s 96 -w b.pcapng --rotate-size 1M --keep 2 udp dst port 4242",
    "capture -i right0 --json --record 4MiB --trigger 'udp dst port 4243' --after 1ms -w c.pcapng",
    "count -i right0 --json --interval 100ms --ingress tc udp=udp tcp=tcp",
    "count -i right0 --json --interval 100ms --by src --ingress tc",
    "ping --json -i 0.05 10.1.0.1 fd00:1::1",
    "latency -i right0 --json",
];

/// Commands that run in turns, one a round.
const SHORT: [&str; 8] = [
    "ctl stats -n soak",
    "ctl filter -n soak udp",
    "ctl filter -n soak greater 1",
    "capture -i right0 -q --duration 20ms -w d.pcapng",
    "read --summary d.pcapng",
    "link add soak type bridge",
    "link del soak",
    "send -i right0 --udp --dst 10.1.0.1 -c 1000",
];

/// Resident memory in KiB, and open descriptors.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    memory_kib: u64,
    descriptors: usize,
}

impl Use {
    fn of(running: &Running) -> Self {
        let process = format!("/proc/{}", running.pid().as_raw_nonzero());
        let status = fs::read_to_string(format!("{process}/status")).expect("it runs");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"));
        let memory = line.and_then(|line| line.split_whitespace().next());
        let descriptors = fs::read_dir(format!("{process}/fd")).expect("it runs");
        Self {
            memory_kib: memory
                .and_then(|number| number.parse().ok())
                .expect("a number"),
            descriptors: descriptors.count(),
        }
    }

    /// The larger of each.
    fn max(self, other: Self) -> Self {
        Self {
            memory_kib: self.memory_kib.max(other.memory_kib),
            descriptors: self.descriptors.max(other.descriptors),
        }
    }
}

#[test]
fn memory_and_descriptors_stay_flat_under_mixed_load() {
    let minutes = std::env::var("TAPLINE_SOAK_MINUTES").ok();
    let minutes: Option<u64> = minutes.map(|text| text.parse().expect("a number"));
    let scene = Scene::new();
    let mut lasting: Vec<_> = LASTING.map(|line| spawn(scene.command(line))).into();
    for running in &mut lasting {
        running.ready();
    }
    let begin = Instant::now();
    let length = minutes.map(|minutes| Duration::from_secs(60 * minutes));
    // The largest use in the first and in the second half.
    let mut halves = [[Use::default(); LASTING.len()]; 2];
    let (mut round, mut failed) = (0, Vec::new());
    loop {
        let done = match length {
            Some(length) => begin.elapsed().as_secs_f64() / length.as_secs_f64(),
            None => round as f64 / ROUNDS as f64,
        };
        if done >= 1.0 {
            break;
        }
        let short = (&scene.right, SHORT[round % SHORT.len()]);
        for (host, line) in LOAD
            .map(|line| (&scene.left, line))
            .into_iter()
            .chain([short])
        {
            let mut command = tapline(host, line);
            command.current_dir(scene.folder.path());
            let ended = spawn(command).finish();
            if ended.status.code() != Some(0) {
                failed.push(format!("{line}: {:?} {:?}", ended.status, ended.stderr));
            }
        }
        for (at, running) in lasting.iter_mut().enumerate() {
            while running.line_now().is_some() {}
            let half = &mut halves[usize::from(done >= 0.5)][at];
            *half = half.max(Use::of(running));
        }
        round += 1;
    }
    assert!(failed.is_empty(), "{failed:#?}");
    println!(
        "{round} rounds of 10 000 packets in {:.0?}",
        begin.elapsed()
    );
    for ((line, running), at) in LASTING.iter().zip(lasting).zip(0..) {
        let [first, second] = [halves[0][at], halves[1][at]];
        println!("{line}\n  first half {first:?}, second {second:?}");
        running.signal(Signal::INT);
        let ended = running.finish();
        ended.exit(0);
        let summary = ended.summary().0;
        if line.starts_with("capture") {
            let number = |key: &str| summary[key].as_u64().expect("a number");
            let lost = summary["lost"].as_object().expect("places");
            let lost: u64 = lost.values().filter_map(serde_json::Value::as_u64).sum();
            let known = number("delivered") + number("filtered") + lost;
            assert_eq!(number("received"), known, "{line}: {summary}");
        }
        assert!(
            second.descriptors <= first.descriptors,
            "{line}: {first:?} {second:?}"
        );
        // What has run for seconds is not warm.
        let is_flat = second.memory_kib <= first.memory_kib + MAX_GROWTH_KIB;
        assert!(minutes.is_none() || is_flat, "{line}: {first:?} {second:?}");
    }
}
