//! As fast as possible, by size of the frames.

use std::collections::HashMap;
use std::time::Duration;

use crate::Programs;
use crate::harness::{Column, Report, column};
use crate::sending::{FarEnd, Kind, Rig, Sender, Traffic, Trial, refusal, run, tapline_paths};

/// Lengths of the frames, without FCS.
const SIZES: [usize; 6] = [64, 128, 256, 512, 1024, 1514];

const HEADS: [&str; 6] = ["64 B", "128 B", "256 B", "512 B", "1024 B", "1514 B"];

/// Packets of the trial that shows how fast a sender is, which is not recorded.
const FIRST_PACKETS: u64 = 1 << 16;
/// How long a trial lasts.
const TRIAL: Duration = Duration::from_millis(400);
const MOST_PACKETS: u64 = 4_000_000;

/// The least that tapline should send, relative to the best other tool.
const TO_BEST_PEER: f64 = 1.1;
/// The least that live frames should send, relative to the programs in C.
const TO_LIVE_FRAMES: f64 = 0.9;
const TO_SENDMMSG: f64 = 2.0;

/// Titles of the tables at one far end.
struct Titles {
    rate: &'static str,
    cpu: &'static str,
}

const AT_XDP: Titles = Titles {
    rate: "Sent to an XDP program, thousands of packets/s by frame size",
    cpu: "Sent to an XDP program, ns of CPU per packet by frame size",
};
const AT_STACK: Titles = Titles {
    rate: "Sent to the stack, thousands of packets/s by frame size",
    cpu: "Sent to the stack, ns of CPU per packet by frame size",
};

/// A trial that is to come: the place of its sender, its size, and how many packets it sends.
type Counts = HashMap<(usize, usize), u64>;

pub fn measure(programs: &Programs, report: &mut Report) {
    let paths = tapline_paths(&programs.tapline);
    let tapline = programs.tapline.as_path();
    let mut senders: Vec<_> = paths
        .iter()
        .map(|path| Sender::tapline(tapline, Some(path)))
        .collect();
    if senders.is_empty() {
        senders.push(Sender::tapline(tapline, None));
    }
    let peers = &programs.peers;
    senders.extend([
        Sender::tcpreplay(false),
        Sender::tcpreplay(true),
        Sender::trafgen(),
        Sender::sendmmsg(peers, false),
        Sender::sendmmsg(peers, true),
        Sender::live_frames(peers),
    ]);
    for (end, titles) in [(FarEnd::Xdp, AT_XDP), (FarEnd::Stack, AT_STACK)] {
        let mut rig = Rig::build(end);
        let traffic = SIZES.map(|bytes| rig.traffic(bytes));
        if end == FarEnd::Xdp {
            for sender in &senders {
                report.note(sender.description(&rig, &traffic[0]));
            }
        }
        senders.retain(|sender| sender.program.is_some());
        let counts = first_trials(&mut rig, &senders, &traffic, report);
        for _ in report.rounds(titles.rate) {
            round(&mut rig, &senders, &traffic, &counts, &titles, report);
        }
        compare(&senders, &titles, report);
    }
    note(report);
}

/// How many packets each sender sends in the time of a trial. One that fails, or of which nothing arrives, has none.
fn first_trials(
    rig: &mut Rig,
    senders: &[Sender],
    traffic: &[Traffic],
    report: &mut Report,
) -> Counts {
    let mut counts = Counts::new();
    let end = rig.end();
    for (place, sender) in senders.iter().enumerate() {
        for (size, traffic) in traffic.iter().enumerate() {
            let name = &sender.name;
            match run(rig, sender, traffic, FIRST_PACKETS) {
                Ok(Trial { delivered, .. }) if delivered.packets == 0 => {
                    report.note(format!("{name}, far end {end:?}: no packet arrives"));
                    break;
                }
                Ok(trial) => {
                    // `None` after a trial of a millisecond.
                    let count = trial.delivered.in_time(TRIAL).unwrap_or(MOST_PACKETS);
                    let count = count.clamp(FIRST_PACKETS, MOST_PACKETS);
                    counts.insert((place, size), count);
                }
                Err(text) => {
                    let reason = refusal(&text);
                    report.note(format!("{name}, far end {end:?}: {reason}"));
                    break;
                }
            }
        }
    }
    counts
}

fn columns(decimals: usize, unit: f64) -> [Column; 6] {
    HEADS.map(|head| column(head, unit, decimals))
}

fn round(
    rig: &mut Rig,
    senders: &[Sender],
    traffic: &[Traffic],
    counts: &Counts,
    titles: &Titles,
    report: &mut Report,
) {
    let mut figures = vec![[[f64::NAN; SIZES.len()]; 2]; senders.len()];
    for (size, traffic) in traffic.iter().enumerate() {
        for (place, sender) in senders.iter().enumerate() {
            let Some(&count) = counts.get(&(place, size)) else {
                continue;
            };
            match run(rig, sender, traffic, count) {
                Ok(trial) => {
                    let [rate, cpu] = &mut figures[place];
                    (rate[size], cpu[size]) = (trial.delivered.pps(), trial.ns_per_packet());
                }
                Err(text) => report.fail(format!("{}: {}", sender.name, refusal(&text))),
            }
        }
    }
    for (sender, [rate, cpu]) in senders.iter().zip(figures) {
        let table = report.table(titles.rate, &columns(0, 1e3));
        table.plot("frame, bytes without FCS", "thousands of packets/s");
        table.add(&sender.name, &rate);
        let table = report.table(titles.cpu, &columns(0, 1.0));
        table.add(&sender.name, &cpu);
    }
}

/// Compares the rates of each round.
fn compare(senders: &[Sender], titles: &Titles, report: &mut Report) {
    let title = titles.rate.replace(
        "thousands of packets/s",
        "ratio to the best of the other tools",
    );
    for head in HEADS {
        let rates = |report: &Report, sender: &Sender| report.of(titles.rate, &sender.name, head);
        let best = |report: &Report, is: &dyn Fn(&Sender) -> bool| {
            let all: Vec<_> = senders.iter().filter(|sender| is(sender)).collect();
            let all: Vec<_> = all.iter().map(|sender| rates(report, sender)).collect();
            highest(&all)
        };
        let peers = best(report, &Sender::is_peer);
        let own = best(report, &|sender| is_default(sender, senders));
        let is_live = |sender: &Sender| sender.name.ends_with("live-frames");
        let live = best(report, &is_live);
        let in_c = best(report, &|sender| sender.kind == Kind::LiveFrames);
        let mmsg = Kind::Sendmmsg { bypass: false };
        let mmsg = best(report, &|sender| sender.kind == mmsg);
        let what = format!(
            "{}: {head}",
            titles.rate.split(',').next().unwrap_or_default()
        );
        let ratio = |one: &[f64], other: &[f64]| crate::harness::ratios(one, other);
        report.at_least(
            &format!("{what}, tapline / best other tool"),
            &ratio(&own, &peers),
            TO_BEST_PEER,
        );
        if !live.is_empty() {
            report.at_least(
                &format!("{what}, live frames / the same in C"),
                &ratio(&live, &in_c),
                TO_LIVE_FRAMES,
            );
            report.at_least(
                &format!("{what}, live frames / sendmmsg in C"),
                &ratio(&live, &mmsg),
                TO_SENDMMSG,
            );
        }
    }
    for sender in senders {
        let ratios = HEADS.map(|head| {
            let peers = senders.iter().filter(|sender| sender.is_peer());
            let peers: Vec<_> = peers
                .map(|peer| report.of(titles.rate, &peer.name, head))
                .collect();
            let own = report.of(titles.rate, &sender.name, head);
            crate::harness::ratios(&own, &highest(&peers))
        });
        let rounds = ratios.iter().map(Vec::len).max().unwrap_or(0);
        for round in 0..rounds {
            let figures = ratios
                .each_ref()
                .map(|ratios| ratios.get(round).copied().unwrap_or(f64::NAN));
            report
                .table(&title, &columns(2, 1.0))
                .add(&sender.name, &figures);
        }
    }
}

/// Whether it is tapline with the path that it uses without a flag.
fn is_default(sender: &Sender, senders: &[Sender]) -> bool {
    let auto = Kind::Tapline(Some("auto".into()));
    let has_auto = senders.iter().any(|sender| sender.kind == auto);
    sender.kind == auto || (!has_auto && sender.is_tapline())
}

/// The highest rate of each round.
fn highest(rates: &[Vec<f64>]) -> Vec<f64> {
    let rounds = rates.iter().map(Vec::len).max().unwrap_or(0);
    let of_round = |round: usize| {
        let rates = rates.iter().filter_map(|rates| rates.get(round));
        rates.copied().fold(f64::NAN, f64::max)
    };
    (0..rounds).map(of_round).collect()
}

fn note(report: &mut Report) {
    report.note(
        "Rates are those of the far end: an XDP program that counts and drops, or the counter rx_packets of the far \
         interface, behind which the stack drops the packets. Each trial lasts about 0.4 s. A sender may use both CPUs, \
         with one sending thread; tapline reads the file on another thread.",
    );
    report.note(
        "CPU is user and system time of the sender with start and exit, and of the kernel's softirq threads, per packet \
         that arrived. The kernel delivers a packet within the sender's system call, and adds that time to the sender.",
    );
}
