//! CPU time of indexing: afterwards, and while the packets are captured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tapline_lab::{Host, Net};

use crate::harness::{Column, Report, Running, column};
use crate::trace::{self, Traffic, Written};
use crate::{Used, length};

/// Share of a core for each Gbit/s that indexing may take.
const MOST: f64 = 0.1;

const WHOLE: &str = "capture, % of a core per Gbit/s";
const INDEXED: &str = "capture --index, % of a core per Gbit/s";
const LIVE: &str = "of it for the index";
const AFTERWARDS: &str = "tapline index, % of a core per Gbit/s";
const TITLE: &str = "CPU time of indexing";

const COLUMNS: [Column; 4] = [
    column(WHOLE, 1e-2, 2),
    column(INDEXED, 1e-2, 2),
    column(LIVE, 1e-2, 2),
    column(AFTERWARDS, 1e-2, 2),
];

/// Traffic to index.
struct Case {
    name: &'static str,
    traffic: Traffic,
    bytes: u64,
    rate: &'static str,
}

const CASES: [Case; 2] = [
    Case {
        name: "frames of 523 bytes on average, 500 flows at a time",
        traffic: trace::MIXED,
        bytes: 400_000_000,
        rate: "400Mbps",
    },
    Case {
        name: "frames of 66 bytes, 50 000 flows at a time",
        traffic: trace::SHORT,
        bytes: 150_000_000,
        rate: "100Mbps",
    },
];

/// What one case is measured with.
struct Rig<'r> {
    tapline: &'r Path,
    hosts: [Host; 2],
    trace: PathBuf,
    written: Written,
    rate: &'static str,
}

pub fn measure(tapline: &Path, folder: &Path, report: &mut Report) {
    report.note(
        "`tapline send -r trace.pcapng --preload --rate 400Mbps` (frames of 66 bytes: 100Mbps) over veth, and `tapline capture -w x.pcapng --rotate-size 100M --keep 2` \
         with and without `--index` in /dev/shm; the difference is that of a round. The bits are those of the frames. Every packet is captured, or the run is wrong",
    );
    for case in &CASES {
        let trace = folder.join("trace.pcapng");
        let written = trace::write(&trace, 1, case.traffic, case.bytes);
        let rig = Rig {
            tapline,
            hosts: Net::new().pair(),
            trace,
            written,
            rate: case.rate,
        };
        for _ in report.rounds(case.name) {
            let whole = rig.capture("", report);
            let indexed = rig.capture("--index", report);
            let figures = [whole, indexed, indexed - whole, rig.index()];
            report.table(TITLE, &COLUMNS).add(case.name, &figures);
        }
        for (what, head) in [("capture --index", LIVE), ("tapline index", AFTERWARDS)] {
            let shares = report.of(TITLE, case.name, head);
            let shares: Vec<f64> = shares.iter().map(|share| share / MOST).collect();
            let what = format!("Cost of {what}, {} / 10 % of a core per Gbit/s", case.name);
            report.at_most(&what, &shares, 1.0);
        }
        fs::remove_file(&rig.trace).expect("it was written");
    }
}

impl Rig<'_> {
    /// CPU seconds per 10^9 bits of the frames.
    fn per_gigabit(&self, cpu_s: f64) -> f64 {
        cpu_s / (self.written.frame_bytes as f64 * 8e-9)
    }

    fn at(&self, host: &Host) -> Command {
        host.command(self.tapline.to_str().expect("UTF-8"))
    }

    fn capture(&self, flag: &str, report: &mut Report) -> f64 {
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in /dev/shm");
        let [left, right] = &self.hosts;
        let mut command = self.at(right);
        command.args([
            "capture",
            "-i",
            "right0",
            "--json",
            "--no-control",
            "--buffer",
            "256M",
            "--rotate-size",
            "100M",
            "--keep",
            "2",
            "-w",
        ]);
        command.arg(folder.path().join("x.pcapng"));
        command.args((!flag.is_empty()).then_some(flag)).arg("tcp");
        let mut capture = Running::start(command);
        capture.wait_until(|text| text.contains("\"start\""));
        let mut send = self.at(left);
        send.args([
            "send",
            "-q",
            "-i",
            "left0",
            "--preload",
            "--rate",
            self.rate,
            "-r",
        ]);
        send.arg(&self.trace);
        Used::by(send);
        capture.interrupt();
        let ended = capture.finish();
        assert!(ended.status.success(), "{}", ended.text);
        let summary = ended.text.lines().last().expect("a summary");
        let summary: serde_json::Value = serde_json::from_str(summary).expect("JSON");
        if summary["delivered"] != self.written.packets {
            report.fail(format!("packets were lost: {summary}"));
        }
        self.per_gigabit(ended.used.cpu.as_secs_f64())
    }

    /// Indexes the file again.
    fn index(&self) -> f64 {
        let mut command = Command::new(self.tapline);
        command.args(["index", "-q", "--again"]).arg(&self.trace);
        let used = Used::by(command);
        assert!(used.read_bytes >= length(&self.trace) as f64);
        self.per_gigabit(used.cpu_s)
    }
}
