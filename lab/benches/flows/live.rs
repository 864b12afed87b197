//! Flows of an interface at a rate of packets, as [`super`] measures those of a file.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tapline_lab::{Host, Net};

use super::kernel_table::KernelTable;
use super::{Bench, FLOWS, generated, name_of};
use crate::harness::{Column, Report, Running, column, has_packet_socket, on_cpu, pause};

const PACKETS: u64 = 5_000_000;

/// How long a program may take for what is left in its buffers when the last packet was sent.
const REST: Duration = Duration::from_secs(1);

const TITLE: &str = "Flows of an interface, 1 Mpps asked";

/// What a table in the kernel would take.
const KERNEL: &str = "sums by 5-tuple in the kernel, no flows";

const LOST: &str = "packets lost, %";
const COLUMNS: [Column; 3] = [
    column("CPU, ns/packet", 1e-9, 0),
    column(LOST, 1.0, 2),
    column("thousands of packets/s that were sent", 1e3, 0),
];

/// How many packets a program counted: by what it printed, or by its file, whose path follows.
enum Counted {
    /// The number behind these words, the last time that they are printed.
    Printed(&'static str),
    /// The last column but one of lines of CSV.
    Csv(&'static str),
    /// A client's count of the file.
    Racount(&'static str),
    /// The summary of `tapline flows`: so many packets "in flows".
    Summary,
    /// It does not say.
    Unknown,
}

pub fn measure(bench: &Bench, report: &mut Report) {
    let [sender, receiver] = Net::new().pair();
    let link = receiver.interface().name.to_string();
    let folder = bench.folder.display();
    let settings = format!("pcap_interface: {link}\n{}", bench.pmacct_settings());
    fs::write(bench.folder.join("live.conf"), settings).expect("a file");
    fs::create_dir(bench.folder.join("live")).expect("a folder");
    let peers = [
        (
            "bin/nfpcapd",
            format!("-i {link} -w {folder}/live"),
            Counted::Printed("Processed: "),
        ),
        (
            "sbin/softflowd",
            format!("-d -i {link} -m 200000 -n 127.0.0.1:9 -p {folder}/pid -c none"),
            Counted::Unknown,
        ),
        (
            "sbin/pmacctd",
            format!("-f {folder}/live.conf"),
            Counted::Csv("pmacct.csv"),
        ),
        (
            "sbin/argus",
            format!("-i {link} -w {folder}/argus"),
            Counted::Racount("argus"),
        ),
    ];
    // What it prints has its account.
    let own = format!("flows -i {link} -w {folder}/live.parquet");
    report.note(format!(
        "Flows of an interface: `tapline flows -i … -w flows.parquet` and the peers with `-i` on CPU 0, while `tapline send` sends {PACKETS} packets \
         of {FLOWS} flows from CPU 1, where the kernel receives them, too. The CPU time is that of the process from its start to its exit, \
         for each packet that it counted. softflowd does not say how many it counted: its time is for each packet that was sent"
    ));
    report.note(format!(
        "{KERNEL}: a tc program adds packets and bytes to an entry of a per-CPU hash table for each 5-tuple. It has no directions, no state of TCP, no \
         round trips, and no flow ends. Its CPU time is what the kernel measures of its runs (kernel.bpf_stats_enabled), without that of an empty program, \
         and that of reading the table once. `tapline flows` also has the packets read from the ring, decoded and written as Parquet"
    ));
    let run = |command: Command, counted: &Counted, report: &mut Report| {
        let name = name_of(command.get_program()).to_owned();
        let figures = run(bench, [&sender, &receiver], command, counted);
        report.table(TITLE, &COLUMNS).add(&name, &figures);
    };
    for _ in report.rounds("flows of an interface") {
        for (program, words, counted) in &peers {
            let mut command = Bench::peer_on(&receiver, program);
            command.args(words.split(' '));
            run(command, counted, report);
        }
        for program in &bench.own {
            let mut command = receiver.command(program.to_str().expect("UTF-8"));
            command.args(own.split(' '));
            run(command, &Counted::Summary, report);
        }
        let figures = in_kernel(bench, [&sender, &receiver]);
        report.table(TITLE, &COLUMNS).add(KERNEL, &figures);
    }
    let own = name_of(&bench.own[0]);
    let rivals = peers.iter().map(|(program, ..)| name_of(program));
    bench.compare(
        report,
        TITLE,
        rivals,
        "CPU time for each packet of an interface",
    );
    report.at_most(
        "tapline flows, 1 Mpps: packets lost, %",
        &report.of(TITLE, own, LOST),
        0.0,
    );
}

/// Sends the packets, and returns how long that took.
fn send(bench: &Bench, [sender, receiver]: [&Host; 2]) -> f64 {
    let tapline = bench.own[0].to_str().expect("UTF-8");
    let (link, mac) = (sender.interface().name, receiver.interface().mac);
    let mut sending = sender.command(tapline);
    let words = format!(
        "send --json -q {} --dst-mac {mac} -i {link}",
        generated(PACKETS, 64)
    );
    sending.args(words.split(' '));
    let sent = on_cpu(1, || Running::start(sending)).finish();
    assert!(sent.status.success(), "{}", sent.text);
    let summary: Value =
        serde_json::from_str(sent.text.lines().last().expect("a summary")).expect("JSON");
    summary["duration_ns"].as_f64().expect("a duration") / 1e9
}

/// Runs a program while packets arrive.
fn run(bench: &Bench, hosts: [&Host; 2], command: Command, counted: &Counted) -> [f64; 3] {
    let [_, receiver] = hosts;
    let before = receiver.counters().rx_packets;
    let mut program = on_cpu(0, || Running::start(command));
    let index = receiver.interface().index.0;
    let process = program.id();
    program.wait_until(|_| has_packet_socket(process, index));
    let seconds = send(bench, hosts);
    pause(REST);
    program.interrupt();
    let ended = program.finish();
    let arrived = (receiver.counters().rx_packets - before) as f64;

    let handled = counted
        .packets(bench, &ended.text)
        .map(|packets| packets as f64);
    let cpu_s = ended.used.cpu.as_secs_f64();
    [
        cpu_s / handled.unwrap_or(arrived),
        handled.map_or(f64::NAN, |handled| 100.0 * (arrived - handled) / arrived),
        arrived / seconds,
    ]
}

/// Counts in the kernel while packets arrive.
fn in_kernel(bench: &Bench, hosts: [&Host; 2]) -> [f64; 3] {
    let [_, receiver] = hosts;
    let before = receiver.counters().rx_packets;
    let mut table = KernelTable::attach(receiver);
    let seconds = send(bench, hosts);
    let arrived = (receiver.counters().rx_packets - before) as f64;
    let counted = table.counted();
    assert_eq!(counted.flows, FLOWS);
    [
        counted.cpu_s,
        100.0 * (arrived - counted.packets as f64) / arrived,
        arrived / seconds,
    ]
}

impl Counted {
    fn packets(&self, bench: &Bench, printed: &str) -> Option<u64> {
        let file = |name: &str| bench.folder.join(name);
        Some(match self {
            Self::Unknown => return None,
            Self::Printed(words) => {
                let (_, rest) = printed.rsplit_once(words).expect("its count");
                let digits = rest.split(|letter: char| !letter.is_ascii_digit());
                let digits = digits.into_iter().next();
                digits
                    .and_then(|digits| digits.parse().ok())
                    .expect("a number")
            }
            Self::Csv(name) => csv_packets(&file(name)),
            Self::Racount(name) => bench.racount(&file(name))[1],
            Self::Summary => {
                let (before, _) = printed.split_once(" in flows").expect("a summary");
                let number = before.rsplit('=').next().expect("a number");
                let digits: String = number.chars().filter(char::is_ascii_digit).collect();
                digits.parse().expect("a number")
            }
        })
    }
}

/// The sum of a file of pmacctd, which is removed.
fn csv_packets(path: &Path) -> u64 {
    let text = fs::read_to_string(path).expect("its file");
    fs::remove_file(path).expect("removed");
    let lines = text.lines().skip(1);
    let packets = lines.map(|line| line.rsplit(',').nth(1)?.parse::<u64>().ok());
    packets.sum::<Option<u64>>().expect("numbers")
}
