//! A recorded trace is replayed with its gaps.

use std::time::Duration;

use tapline_lab::generator::udp_frame;

use crate::Programs;
use crate::arrivals::{Arrivals, gaps, quantile};
use crate::harness::{Column, Report, Running, column};
use crate::pacing::paced_command;
use crate::sending::{FarEnd, Rig, Sender, refusal, write_pcap};

const TITLE: &str = "A recorded trace: gaps at the far end minus recorded gaps, µs";
const FRAME_BYTES: usize = 128;
const PACKETS: usize = 10_000;
/// Mean of the gaps, in seconds.
const MEAN: f64 = 1e-4;

const COLUMNS: [Column; 6] = [
    column("p1", 1e3, 1),
    column("p50", 1e3, 1),
    column("p99", 1e3, 1),
    column("absolute, p50", 1e3, 1),
    column("absolute, p99", 1e3, 1),
    column("whole trace, µs too long", 1e3, 0),
];

pub fn measure(programs: &Programs, report: &mut Report) {
    let rig = Rig::build(FarEnd::Stack);
    let mut traffic = rig.traffic(FRAME_BYTES);
    traffic.pcap = rig.folder().join("recorded.pcap");
    let times = recorded();
    write_pcap(
        &traffic.pcap,
        &udp_frame(FRAME_BYTES),
        times.iter().copied(),
    );
    let recorded = gaps(&times);
    let senders = [
        (
            "tapline --rate recorded",
            Sender::tapline(&programs.tapline, None),
            "--rate recorded",
        ),
        (
            "tcpreplay --timer gtod",
            Sender::tcpreplay(true),
            "--timer gtod --preload-pcap",
        ),
        (
            "tcpreplay --timer nano",
            Sender::tcpreplay(true),
            "--timer nano --preload-pcap",
        ),
    ];
    for _ in report.rounds("recorded") {
        for (name, sender, flags) in &senders {
            if sender.program.is_none() {
                continue;
            }
            let flags: Vec<_> = flags.split(' ').map(Into::into).collect();
            let arrivals = Arrivals::at(&rig.far);
            let command = paced_command(sender, &rig, &traffic, &flags);
            let finished = Running::start(command).finish();
            let arrived = arrivals.times();
            if !finished.status.success() || arrived.len() != PACKETS {
                let reason = refusal(&finished.text);
                report.note(format!(
                    "{name}: {} packets arrived: {reason}",
                    arrived.len()
                ));
                continue;
            }
            let differences = gaps(&arrived).into_iter().zip(&recorded);
            let differences: Vec<_> = differences.map(|(gap, recorded)| gap - recorded).collect();
            let absolute: Vec<_> = differences
                .iter()
                .map(|difference| difference.abs())
                .collect();
            let figures = [
                quantile(&differences, 10),
                quantile(&differences, 500),
                quantile(&differences, 990),
                quantile(&absolute, 500),
                quantile(&absolute, 990),
                differences.iter().sum(),
            ];
            report.table(TITLE, &COLUMNS).add(name, &figures);
        }
    }
    report.note(format!(
        "The recorded trace has {PACKETS} packets of {FRAME_BYTES} bytes with exponential gaps of 100 µs on average, in \
         whole microseconds. A packet that is late makes one gap longer and the next shorter."
    ));
}

/// Times with exponential gaps, the same in every run, in whole microseconds.
fn recorded() -> Vec<u64> {
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut time = Duration::ZERO;
    let next = |_| {
        let planned_ns = time.as_micros() as u64 * 1000;
        // xorshift64, Marsaglia 2003.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let share = ((random >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
        time += Duration::from_secs_f64(-share.ln() * MEAN);
        planned_ns
    };
    (0..PACKETS).map(next).collect()
}
