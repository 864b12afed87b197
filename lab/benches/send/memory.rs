//! Memory while a large file is replayed.

use std::fs;
use std::process::Command;

use crate::Programs;
use crate::harness::{BenchOptions, Column, Report, Running, column};
use crate::pacing::paced_command;
use crate::sending::{FarEnd, Rig, Sender, has_generator, refusal, watch};
use crate::trace;

/// Packets of a GB.
const PACKETS_PER_GB: u64 = 1_800_000;

const FLOWS: u64 = 10_000_000;

const PEAK: &str = "peak memory, MiB";
const COLUMNS: [Column; 3] = [
    column(PEAK, 1.0, 0),
    column("thousands of packets/s", 1e3, 0),
    column("ns of CPU per packet", 1.0, 0),
];
const MOST_MIB: f64 = 64.0;

pub fn measure(programs: &Programs, options: &BenchOptions, report: &mut Report) {
    let packets = options.file_gb * PACKETS_PER_GB;
    let folder = tempfile::tempdir_in(&options.trace_in).expect("a folder for the trace");
    let mut rig = Rig::build(FarEnd::Xdp);
    let mut traffic = rig.traffic(64);
    traffic.pcap = folder.path().join("trace.pcapng");
    eprintln!("bench: writing {packets} packets");
    let bytes = trace::write(&traffic.pcap, packets).expect("room for the trace");
    let title = format!("Replay of a file of {:.1} GB", bytes as f64 / 1e9);
    let senders = [
        (Sender::tapline(&programs.tapline, None), ""),
        (Sender::tcpreplay(false), "--topspeed"),
        (Sender::tcpreplay(true), "--topspeed --preload-pcap"),
    ];
    for (sender, flags) in &senders {
        if sender.program.is_none() {
            continue;
        }
        let flags: Vec<_> = flags.split_whitespace().map(Into::into).collect();
        let command = paced_command(sender, &rig, &traffic, &flags);
        let what = Replay {
            title: &title,
            name: &sender.name,
            packets,
        };
        what.measure(&mut rig, command, report);
    }
    if has_generator(&programs.tapline) {
        generate(programs, &mut rig, report);
    }
    let peaks = report.of(&title, "tapline", PEAK);
    report.at_most(
        &format!("{title}: peak memory of tapline, MiB"),
        &peaks,
        MOST_MIB,
    );
    report.note(format!(
        "{title}: {packets} packets of 66 to 1434 bytes to an XDP program, measured once. Memory is `VmHWM`, which is \
         read every millisecond."
    ));
}

/// The generator, with ten million flows.
fn generate(programs: &Programs, rig: &mut Rig, report: &mut Report) {
    let title = "Generator with 10 million flows";
    let interface = rig.interface();
    let flags = format!(
        "send -i {interface} --json --udp --src 198.18.0.0/24 --dst 198.19.0.1 --sport 1024-65535 --size 64 \
         --dst-mac 02:00:00:00:00:02 --flows {FLOWS} -c {FLOWS}"
    );
    report.note(format!("{title}: `tapline {flags}`"));
    let sender = Sender::tapline(&programs.tapline, None);
    let mut command = sender.bare(rig);
    command.args(flags.split(' '));
    let what = Replay {
        title,
        name: &sender.name,
        packets: FLOWS,
    };
    what.measure(rig, command, report);
    let peaks = report.of(title, &sender.name, PEAK);
    report.at_most(&format!("{title}: peak memory, MiB"), &peaks, MOST_MIB);
}

/// A row: what is sent, by whom.
struct Replay<'r> {
    title: &'r str,
    name: &'r str,
    packets: u64,
}

impl Replay<'_> {
    fn measure(&self, rig: &mut Rig, command: Command, report: &mut Report) {
        let Self {
            title,
            name,
            packets,
        } = self;
        eprintln!("bench: {title}, {name}");
        let mut peak_kib = f64::NAN;
        let look = |running: &Running| peak_kib = peak_kib.max(peak(running.id()));
        match watch(rig, command, look) {
            Ok((trial, _)) => {
                let arrived = trial.delivered.packets;
                if arrived != *packets {
                    report.note(format!(
                        "{title}, {name}: {arrived} of {packets} packets arrived"
                    ));
                }
                let figures = [
                    peak_kib / 1024.0,
                    trial.delivered.pps(),
                    trial.ns_per_packet(),
                ];
                report.table(title, &COLUMNS).add(name, &figures);
            }
            Err(text) => report.note(format!("{title}, {name}: {}", refusal(&text))),
        }
    }
}

/// The most resident memory of a process so far, KiB; NaN if it has ended.
fn peak(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or(f64::NAN)
}
