//! Compares tcpdump over libpcap with the same tcpdump over `libtapline_pcap`, at default settings.
//!
//! ```text
//! CPU 0: sender ─▶ veth ┃ veth ─▶ stack, packet socket        CPU 1: tcpdump
//! ```
//!
//! The delay is from before a packet is sent until `tcpdump -l` has written its line. `make pcap-library` builds the library.

#[path = "../harness/mod.rs"]
mod harness;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use tapline_lab::generator::{Generator, GeneratorOptions, udp_frame};
use tapline_lab::{Host, Net};

use harness::{
    BenchOptions, Capturer, Column, Report, Running, column, on_cpu, pause, ratios, repository,
    wait_for_capture,
};

const FRAME_BYTES: usize = 60;

/// Packets of one delay measurement, and the pause before each.
const SPARSE: usize = 10;
const PAUSE: Duration = Duration::from_millis(20);

/// Packets of one measurement of CPU time.
const PACKETS: u64 = 1_000_000;
const RATE_PPS: u64 = 500_000;

/// Largest part of libpcap's delay.
const DELAY_LIMIT: f64 = 0.1;

const LIBPCAP: &str = "libpcap";
const TAPLINE: &str = "tapline";

const DELAY: &str = "delay, us";
const CPU: &str = "CPU, ns per packet";
const CAPTURED: &str = "captured, %";

const DELAYS: [Column; 1] = [column(DELAY, 1.0, 0)];
const COSTS: [Column; 2] = [column(CPU, 1.0, 0), column(CAPTURED, 1.0, 2)];

fn main() -> ExitCode {
    harness::run(10, &["delay", "cpu"], measure)
}

fn measure(options: &BenchOptions, report: &mut Report) {
    let library = repository().join("target/c-library/libtapline_pcap.so");
    assert!(
        library.exists(),
        "make pcap-library builds {}",
        library.display()
    );
    let bench = Bench::new(library);
    if options.has("delay") {
        delays(&bench, report);
    }
    if options.has("cpu") {
        costs(&bench, report, "500 kpps", Some(RATE_PPS));
        costs(&bench, report, "full speed", None);
    }
}

fn delays(bench: &Bench, report: &mut Report) {
    let title = format!(
        "Delay of a line of tcpdump -l, {SPARSE} packets {} ms apart",
        PAUSE.as_millis()
    );
    for _ in report.rounds("delay") {
        for name in [LIBPCAP, TAPLINE] {
            let delay = bench.delay_us(name);
            report.table(&title, &DELAYS).add(name, &[delay]);
        }
    }
    let ratios = ratios(
        &report.of(&title, TAPLINE, DELAY),
        &report.of(&title, LIBPCAP, DELAY),
    );
    report.at_most("delay, tapline / libpcap", &ratios, DELAY_LIMIT);
}

fn costs(bench: &Bench, report: &mut Report, speed: &str, rate_pps: Option<u64>) {
    let title = format!("tcpdump -w, {PACKETS} packets of 64 bytes at {speed}");
    for round in report.rounds(speed) {
        // The two take turns to go first.
        let names = if round % 2 == 0 {
            [LIBPCAP, TAPLINE]
        } else {
            [TAPLINE, LIBPCAP]
        };
        for name in names {
            let figures = bench.cost(name, rate_pps);
            report.table(&title, &COSTS).add(name, &figures);
        }
    }
    let compared = |report: &Report, head| {
        ratios(
            &report.of(&title, TAPLINE, head),
            &report.of(&title, LIBPCAP, head),
        )
    };
    let (cpu, captured) = (compared(report, CPU), compared(report, CAPTURED));
    report.at_most(&format!("CPU at {speed}, tapline / libpcap"), &cpu, 1.0);
    report.at_least(
        &format!("captured at {speed}, tapline / libpcap"),
        &captured,
        1.0,
    );
}

struct Bench {
    sender: Host,
    receiver: Host,
    library: PathBuf,
}

impl Bench {
    fn new(library: PathBuf) -> Self {
        let [sender, receiver] = Net::new().pair();
        Self {
            sender,
            receiver,
            library,
        }
    }

    fn tcpdump(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = self.receiver.command("tcpdump");
        let interface = self.receiver.interface().name.to_string();
        command.args(["-nn", "-i", &interface]).args(arguments);
        if name == TAPLINE {
            command.env("LD_PRELOAD", &self.library);
        }
        command
    }

    fn wait_for(&self, tcpdump: &mut Running) {
        let index = self.receiver.interface().index;
        wait_for_capture(tcpdump, index.0, Some("listening on"));
    }

    /// Mean delay of sparse packets, microseconds.
    fn delay_us(&self, name: &str) -> f64 {
        let command = self.tcpdump(name, &["-l", "udp"]);
        let (mut tcpdump, output) = on_cpu(1, || Running::start_piped(command));
        self.wait_for(&mut tcpdump);
        let mut lines = BufReader::new(output).lines();
        let mut sum = Duration::ZERO;
        for _ in 0..SPARSE {
            pause(PAUSE);
            let start = Instant::now();
            self.sender.send([udp_frame(FRAME_BYTES)]);
            let line = lines.next().expect("a line").expect("text");
            sum += start.elapsed();
            assert!(line.contains("UDP"), "{line}");
        }
        tcpdump.interrupt();
        tcpdump.finish();
        sum.as_secs_f64() * 1e6 / SPARSE as f64
    }

    /// CPU nanoseconds per captured packet, and the percentage of packets captured.
    fn cost(&self, name: &str, rate_pps: Option<u64>) -> [f64; 2] {
        let out = self.sender.interface().index;
        let options = GeneratorOptions::new(out, udp_frame(FRAME_BYTES));
        let mut generator = self.sender.run(|| Generator::new(options));
        let peer = self.receiver.interface().index;
        self.receiver.run(|| generator.attach_peer(peer));
        let command = self.tcpdump(name, &["-w", "/dev/null"]);
        let mut tcpdump = on_cpu(1, || Running::start(command));
        self.wait_for(&mut tcpdump);
        let before = tcpdump.used();
        let sent = on_cpu(0, || self.sender.run(|| generator.send(PACKETS, rate_pps)));
        // What the kernel holds back is delivered before the end.
        pause(2 * Capturer::Tcpdump.block_timeout());
        let used = tcpdump.used().since(before);
        tcpdump.interrupt();
        let ended = tcpdump.finish();
        let counted = Capturer::Tcpdump
            .counted(&ended.text)
            .expect("tcpdump counts");
        assert!(counted.captured > 0, "{}", ended.text);
        let captured = counted.captured as f64;
        let delivered = sent.delivered as f64;
        [
            used.cpu.as_nanos() as f64 / captured,
            captured / delivered * 100.0,
        ]
    }
}
