//! How many probes a second a run makes between two test hosts, and how long they take:
//! `ping_rate BACKEND COUNT RATE LINK TARGET…`, with `raw`, `ring`, `ping-socket` or `auto`, a rate of 0 for
//! as fast as can be and a link of `-` for any; hosts are 10.1.0.2, fd00:1::2, and of this one 10.1.0.1, the
//! loopbacks and fd77::/64. `ping_rate bare COUNT` sends so many requests to 10.1.0.2 as bare frames and takes
//! no answers: what the rig allows. Needs root.

use std::env;
use std::time::{Duration, Instant};

use lab::generator::send_frames;
use lab::{Host, Net};
use rustix::time::{ClockId, clock_gettime};
use tapline::ping::targets::{NoResolver, TargetsBuilder};
use tapline::ping::{Backend, PingOptions};
use wire::MacAddress;
use wire::build::Frame;

/// Seconds that this thread has spent, those of the kernel's answers to its probes included.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Sends `count` requests as fast as can be; the neighbour answers each.
fn bare(left: &Host, right: &Host, count: usize) {
    let [near, far] = [left, right].map(|host| host.interface());
    let [source, destination] = [near, far].map(|end| MacAddress(end.mac.0));
    let frame = Frame::ethernet(source, destination).ipv4(near.v4, far.v4);
    let frame = frame.echo_request(7, 1).payload(&[0; 16]);
    let (spent, seconds) = left.run(|| {
        let (before, start) = (processor_time(), Instant::now());
        send_frames(near.index, std::iter::repeat_n(frame, count)).expect("they are sent");
        (processor_time() - before, start.elapsed().as_secs_f64())
    });
    println!(
        "bare {:.3} s, {:.0} probes/s",
        seconds,
        count as f64 / seconds
    );
    println!(
        "{spent:.3} s of processor time, {:.0} probes for a second of it",
        count as f64 / spent
    );
}

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    if let [word, count] = &words[..]
        && word == "bare"
    {
        let [left, right] = Net::new().pair();
        return bare(&left, &right, count.parse().expect("a count"));
    }
    let [backend, count, rate, link, targets @ ..] = &words[..] else {
        panic!("ping_rate BACKEND COUNT RATE LINK TARGET…");
    };
    let [left, _right] = Net::new().pair();
    let range = "/proc/sys/net/ipv4/ping_group_range";
    left.run(|| std::fs::write(range, "0 2147483647"))
        .expect("root");
    let mut ip = left.command("ip");
    let status = ip
        .args("-6 route add local fd77::/64 dev lo".split(' '))
        .status();
    assert!(status.expect("ip runs").success());
    let mut builder = TargetsBuilder::default();
    for word in targets {
        builder.add(word, &mut NoResolver).expect("a target");
    }
    let backends = [Backend::Raw, Backend::Ring, Backend::PingSocket];
    let mut options = PingOptions::default();
    options.count = Some(count.parse().expect("a count"));
    options.interval = Duration::ZERO;
    options.rate_pps = Some(rate.parse().expect("a rate")).filter(|rate| *rate > 0);
    options.backend = backends.into_iter().find(|known| known.name() == backend);
    options.interface = Some(link.clone()).filter(|link| link != "-");
    options.payload_bytes = 16;
    let targets = builder.build().expect("not too many");
    let mut ping = left
        .run(|| tapline::ping(targets).options(options).open())
        .expect("it opens");
    let before = processor_time();
    ping.run(|_, _| ()).expect("it can wait");
    let summary = ping.finish().expect("a summary");
    let total = summary.statistics.total();
    let seconds = summary.duration.as_secs_f64();
    println!(
        "{} {:.3} s, {:.0} probes/s",
        summary.backend.name(),
        seconds,
        total.sent as f64 / seconds
    );
    let spent = processor_time() - before;
    println!(
        "{spent:.3} s of processor time, {:.0} probes for a second of it",
        total.sent as f64 / spent
    );
    println!("{total:?}\n{:?}", summary.statistics.other_counts());
    println!("overruns {:?}, {:?}", summary.overruns, summary.local_drops);
    println!(
        "probes stamped by the kernel {}, by the program {}",
        summary.tx_timestamps.kernel, summary.tx_timestamps.user
    );
    let histogram = summary.statistics.histogram();
    for quantile in [0.0, 0.5, 0.99, 0.999, 1.0] {
        println!(
            "p{} {:?} ns",
            quantile * 100.0,
            histogram.quantile(quantile).unwrap_or(0)
        );
    }
}
