//! Rate limits: how exact they are over ten seconds.

use crate::Programs;
use crate::harness::{Column, Report, column};
use crate::pacing::paced_command;
use crate::sending::{FarEnd, Rig, Sender, refusal, watch};

const TITLE: &str = "Rate limits over 10 s";
const SECONDS: u64 = 10;
const FRAME_BYTES: u64 = 512;
const PPS: u64 = 50_000;
const MBPS: u64 = 100;

const HEADS: [&str; 2] = [
    "error at 50 000 packets/s, %",
    "error at 100 Mbit/s (frames of 512 B without FCS), %",
];
const COLUMNS: [Column; 2] = [column(HEADS[0], 1.0, 3), column(HEADS[1], 1.0, 3)];

/// The most that tapline's rates may differ from the limit, percent.
const MOST_ERROR: f64 = 0.1;

/// A sender, and its flags for both limits. `COUNT` stands for the number of packets.
type Limited = (Sender, [&'static str; 2]);

pub fn measure(programs: &Programs, report: &mut Report) {
    let mut rig = Rig::build(FarEnd::Xdp);
    let traffic = rig.traffic(FRAME_BYTES as usize);
    let mut senders: [Limited; 3] = [
        (
            Sender::tapline(&programs.tapline, None),
            [
                "--rate 50kpps --loop 100 -c COUNT",
                "--rate 100Mbps --loop 100 -c COUNT",
            ],
        ),
        (
            Sender::tcpreplay(true),
            [
                "--pps 50000 --loop 100 --limit COUNT --preload-pcap",
                "--mbps 100 --loop 100 --limit COUNT --preload-pcap",
            ],
        ),
        (
            Sender::trafgen(),
            ["--rate 50000pps --num COUNT", "--rate 100Mbit --num COUNT"],
        ),
    ];
    // Packets in all, and per second.
    let bits = MBPS * 1_000_000;
    let plans = [PPS * SECONDS, bits * SECONDS / (FRAME_BYTES * 8)];
    let rates = [PPS as f64, bits as f64 / (FRAME_BYTES * 8) as f64];
    // Once is enough: an average over ten seconds varies little.
    for (sender, flags) in &mut senders {
        if sender.program.is_none() {
            continue;
        }
        eprintln!("bench: {TITLE}, {}", sender.name);
        let mut figures = Vec::new();
        for (place, flags) in flags.iter().enumerate() {
            let (count, pps) = (plans[place], rates[place]);
            let flags = flags.replace("COUNT", &count.to_string());
            report.note(format!("{TITLE}, {}: `{flags}`", sender.name));
            let flags: Vec<_> = flags.split(' ').map(Into::into).collect();
            let command = paced_command(sender, &rig, &traffic, &flags);
            figures.push(match watch(&mut rig, command, |_| {}) {
                Ok((trial, _)) => (trial.delivered.pps() / pps - 1.0) * 100.0,
                Err(text) => {
                    report.note(format!("{TITLE}, {}: {}", sender.name, refusal(&text)));
                    f64::NAN
                }
            });
        }
        report.table(TITLE, &COLUMNS).add(&sender.name, &figures);
    }
    for head in HEADS {
        let errors = report.of(TITLE, "tapline", head);
        let errors: Vec<_> = errors.iter().map(|error| error.abs()).collect();
        report.at_most(&format!("tapline, {head}"), &errors, MOST_ERROR);
    }
    report.note(format!(
        "{TITLE}: packets that arrived at an XDP program by the time between the first and the last look at its counter \
         that saw more, one look per millisecond: exact to 0.02 %. Measured once."
    ));
}
