//! As fast as possible, by size of the frames.

use std::collections::HashMap;
use std::time::Duration;

use crate::Programs;
use crate::harness::{Column, Report, column, ratios};
use crate::sending::{
    FarEnd, Kind, Rig, Sender, Traffic, Trial, has_generator, refusal, run, tapline_paths,
};

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
    if has_generator(tapline) {
        senders.extend([Sender::preload(tapline), Sender::generator(tapline)]);
    }
    let peers = &programs.peers;
    senders.extend([
        Sender::tcpreplay(false),
        Sender::tcpreplay(true),
        Sender::sendmmsg_file(peers),
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
    let best_of = |report: &Report, is: &dyn Fn(&Sender) -> bool| {
        HEADS.map(|head| {
            let chosen = senders.iter().filter(|sender| is(sender));
            let rates: Vec<_> = chosen
                .map(|sender| report.of(titles.rate, &sender.name, head))
                .collect();
            highest(&rates)
        })
    };
    let peers = best_of(report, &Sender::is_peer);
    let (end, unit) = titles.rate.split_once(", ").unwrap_or_default();
    let unit = unit.replace("thousands of packets/s", "ratio to the best other tool");
    for sender in senders {
        let own = best_of(report, &|other| other.name == sender.name);
        let ratios: Vec<_> = own
            .iter()
            .zip(&peers)
            .map(|(own, peers)| ratios(own, peers))
            .collect();
        let table = report.table(&format!("{end}, {unit}"), &columns(2, 1.0));
        for round in 0..ratios.iter().map(Vec::len).max().unwrap_or(0) {
            let figures = ratios
                .iter()
                .map(|ratios| ratios.get(round).copied().unwrap_or(f64::NAN));
            table.add(&sender.name, &figures.collect::<Vec<_>>());
        }
    }
    let own = best_of(report, &|sender| is_default(sender, senders));
    let files = best_of(report, &|sender| sender.is_peer() && sender.sends_file());
    let frames = best_of(report, &|sender| sender.is_peer() && !sender.sends_file());
    let generated = best_of(report, &|sender| sender.kind == Kind::Generator);
    let live = best_of(report, &|sender| sender.name.ends_with("live-frames"));
    let in_c = best_of(report, &|sender| sender.kind == Kind::LiveFrames);
    let sendmmsg = Kind::Sendmmsg { bypass: false };
    let sendmmsg = best_of(report, &|sender| sender.kind == sendmmsg);
    let sendmmsg_file = best_of(report, &|sender| sender.kind == Kind::SendmmsgFile);
    // Live frames are chosen at this far end only.
    let generated_live = best_of(report, &|sender| {
        sender.kind == Kind::Generator && end.ends_with("an XDP program")
    });
    // Each with what sends the same: the packets of a file, or one frame over and over.
    for (what, one, other, limit) in [
        (
            "tapline / best other tool, a file",
            &own,
            &files,
            TO_BEST_PEER,
        ),
        (
            "tapline --raw / best other tool, one frame",
            &generated,
            &frames,
            TO_BEST_PEER,
        ),
        (
            "tapline --raw / live frames in C, one frame",
            &generated,
            &in_c,
            TO_LIVE_FRAMES,
        ),
        (
            "live frames of tapline / sendmmsg in C, a file",
            &live,
            &sendmmsg_file,
            TO_SENDMMSG,
        ),
        (
            "tapline --raw / sendmmsg in C, one frame",
            &generated_live,
            &sendmmsg,
            TO_SENDMMSG,
        ),
    ] {
        let worst = worst_ratio(one, other);
        if !worst.is_empty() {
            report.at_least(&format!("{end}, the worst size: {what}"), &worst, limit);
        }
    }
}

/// The lowest ratio of all sizes, in each round.
fn worst_ratio(one: &[Vec<f64>; SIZES.len()], other: &[Vec<f64>; SIZES.len()]) -> Vec<f64> {
    let ratios = one.iter().zip(other).map(|(one, other)| ratios(one, other));
    ratios
        .reduce(|worst, ratios| {
            worst
                .iter()
                .zip(ratios)
                .map(|(worst, ratio)| worst.min(ratio))
                .collect()
        })
        .unwrap_or_default()
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
         with one sending thread; tapline reads the file on another thread. tapline, tcpreplay and \
         one program in C send the packets of a file of 65 536 packets; trafgen, the other programs in C and tapline --raw \
         send one frame over and over, which stays in the CPU's cache. The targets compare each with what sends the same.",
    );
    report.note(
        "CPU is user and system time of the sender with start and exit, and of the kernel's softirq threads, per packet \
         that arrived. The kernel delivers a packet within the sender's system call, and adds that time to the sender.",
    );
}
