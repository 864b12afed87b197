//! Experiment 1: send as fast as possible.

use std::path::Path;

use crate::harness::Report;
use crate::sending::{FarEnd, Rig, Sender, refusal, run, tapline_paths};
use crate::{BySize, SIZES, add_rates};

const TITLE: &str = "Experiment 1: send, thousands of packets/s that arrive";
const PACKETS: u64 = 8 << 16;

pub fn measure(tapline: &Path, report: &mut Report) {
    let mut rig = Rig::build(FarEnd::Xdp);
    let traffic = SIZES.map(|bytes| rig.traffic(bytes));
    let paths = tapline_paths(tapline);
    let mut senders: Vec<_> = paths
        .iter()
        .map(|path| Sender::tapline(tapline, Some(path)))
        .collect();
    if senders.is_empty() {
        senders.push(Sender::tapline(tapline, None));
    }
    senders.extend([Sender::tcpreplay(true), Sender::trafgen()]);
    for sender in &senders {
        report.note(sender.description(&rig, &traffic[0]));
    }
    senders.retain(|sender| sender.program.is_some());
    for _ in report.rounds("send") {
        for sender in &senders {
            let mut pps: BySize = [f64::NAN; SIZES.len()];
            for (pps, traffic) in pps.iter_mut().zip(&traffic) {
                match run(&mut rig, sender, traffic, PACKETS) {
                    Ok(trial) => *pps = trial.delivered.pps(),
                    Err(text) => {
                        report.note(format!("{}: {}", sender.name, refusal(&text)));
                        break;
                    }
                }
            }
            add_rates(report, TITLE, &sender.name, &pps);
        }
    }
}
