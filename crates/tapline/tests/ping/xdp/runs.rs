//! The XDP back end: its requests agree with the counters of the other host's kernel or responder, and only genuine
//! replies count.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use lab::Host;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SocketType, ipproto, recv, socket};
use tapline::capture::{Capture, CaptureOptions};
use tapline::ping::{
    Backend, PingError, PingOperation, PingOptions, PingSummary, Prober, XdpAttachMode, XdpRefusal,
};

use tapline::send::SendPath;

use crate::send::paths::pass_all;
use crate::support::answering::{Answerer, FAMILIES, Family, hosts};
use crate::support::ping::{complete, echoes_answered, open, options, run, try_open};
use lab::Net;

/// Bytes of an ICMP header.
const HEADER: usize = 8;

/// `count` probes to each target, as fast as possible; a delayed process does not make answers late. The run ends when
/// all have arrived.
pub fn xdp(count: u32) -> PingOptions {
    let mut options = options(Backend::Xdp, count);
    options.interval = Duration::ZERO;
    options.timeout = Duration::from_mins(1);
    options.tick = Some(Duration::from_millis(10));
    options.interface = Some("left0".into());
    options
}

/// Runs with `options` to `words` against a host whose replies come from `answer`, until `is_complete`.
pub fn run_against(
    hosts: &[Host; 2],
    family: Family,
    words: &str,
    options: &PingOptions,
    is_complete: impl Fn(&Prober) -> bool,
    answer: impl FnOnce(&Answerer<'_>) + Send,
) -> PingSummary {
    let answerer = Answerer::new(hosts, family);
    let ping = open(&hosts[0], options, words);
    let stopper = ping.stopper();
    std::thread::scope(|scope| {
        scope.spawn(|| answer(&answerer));
        complete(ping, |_, statistics| {
            if is_complete(statistics) {
                stopper.stop();
            }
        })
    })
}

#[test]
fn the_kernel_answers_and_every_probe_is_accounted_for() {
    let [left, right] = Net::new().pair();
    let _pass = pass_all(&right);
    // Enabling ARP flushes the neighbours.
    left.ip("link set left0 arp on");
    let mac = right.interface().mac;
    left.ip(&format!(
        "neighbour replace 10.1.0.2 lladdr {mac} dev left0"
    ));
    left.ip(&format!(
        "neighbour replace fd00:1::2 lladdr {mac} dev left0"
    ));
    // The third address is nobody's: its neighbour is not known, so nothing is sent to it.
    let summary = run(&left, &xdp(2000), "10.1.0.2 fd00:1::2 10.1.0.9");
    assert_eq!(summary.backend, Backend::Xdp);
    assert_eq!(summary.send_path, Some(SendPath::LiveFrames));
    let total = summary.statistics.total();
    assert_eq!((total.sent, total.local_drops), (4000, 2000));
    assert_eq!((total.received, total.lost, total.late), (4000, 0, 0));
    assert_eq!(echoes_answered(&right), [2000, 2000]);
    for target in [0, 1] {
        let rtt = summary.statistics.rtt(target).expect("it was timed");
        assert_eq!(rtt.count, 2000);
        let [min, max] = [rtt.min_ns, rtt.max_ns].map(|ns| ns as f64);
        assert!(0.0 < min && min <= rtt.mean_ns && rtt.mean_ns <= max);
    }
    let histogram = summary.statistics.histogram();
    assert_eq!(histogram.count(), 4000);
    // What the interface drops before the program is not known.
    let unknown = (summary.overruns, summary.checksum_drops);
    assert_eq!(unknown, (None, None));
}

/// The one of the interface, as in requests of the kernel.
#[test]
fn requests_have_the_hop_limit_of_the_kernels() {
    let [left, right] = Net::new().pair();
    let _pass = pass_all(&right);
    left.set_sysctl("ipv6/conf/all/hop_limit", "99");
    left.set_sysctl("ipv6/conf/left0/hop_limit", "33");
    left.set_sysctl("ipv4/ip_default_ttl", "55");
    let requests = CaptureOptions::default()
        .interface("right0")
        .filter("icmp6[0] == 128 or icmp[0] == 8")
        .unwrap()
        .packets(4);
    let mut capture = right.run(|| Capture::open(requests)).unwrap();
    for backend in [Backend::Xdp, Backend::Raw] {
        let mut options = xdp(1);
        options.backend = Some(backend);
        let total = run(&left, &options, "10.1.0.2 fd00:1::2")
            .statistics
            .total();
        assert_eq!(total.received, 2);
    }
    let mut found = Vec::new();
    while let Some(packet) = capture.next().unwrap() {
        let at = if packet.data()[12] == 0x86 { 21 } else { 22 };
        found.push(packet.data()[at]);
    }
    found.sort_unstable();
    assert_eq!(found, [33, 33, 55, 55]);
}

/// The other end of the veth pair has no program, so that the driver sends no XDP frames.
#[test]
fn without_live_frames_requests_leave_by_af_xdp() {
    let [left, right] = Net::new().pair();
    for payload_bytes in [16, 57, 1452] {
        let before = echoes_answered(&right);
        let mut options = xdp(2000);
        options.payload_bytes = payload_bytes;
        let summary = run(&left, &options, "10.1.0.2 fd00:1::2");
        assert_eq!(summary.send_path, Some(SendPath::Xdp));
        let total = summary.statistics.total();
        assert_eq!((total.sent, total.local_drops), (4000, 0));
        assert_eq!((total.received, total.lost, total.late), (4000, 0, 0));
        let after = echoes_answered(&right);
        assert_eq!(
            [0, 1].map(|family| after[family] - before[family]),
            [2000; 2]
        );
        let others = summary.statistics.other_counts();
        assert_eq!((total.corrupt, others.forged, others.stale), (0, 0, 0));
        assert_eq!(summary.tx_timestamps.user, 4000);
    }
}

/// Many more than the socket's buffer holds while nothing reads it.
#[test]
fn a_responder_answers_what_leaves_by_af_xdp() {
    const PROBES: u32 = 100_000;
    let [left, right] = Net::new().pair();
    let options = tapline::ping::respond("right0").mode(XdpAttachMode::Native);
    let responder = right.run(|| options.open()).unwrap();
    let mut options = xdp(PROBES);
    options.send_path = SendPath::Xdp;
    let summary = run(&left, &options, "10.1.0.2 fd00:1::2");
    let total = summary.statistics.total();
    let answered = responder.finish().unwrap().counts.answered;
    assert_eq!(total.sent + total.local_drops, 2 * u64::from(PROBES));
    assert_eq!(
        total.sent,
        total.received + total.late + total.lost,
        "{summary}"
    );
    assert_eq!(total.received + total.late, answered);
    assert!(total.sent >= answered);
}

#[test]
fn a_responder_answers_a_million_probes() {
    const PROBES: u32 = 500_000;
    let [left, right] = Net::new().pair();
    // In the driver: the program that counts replies is at the other end.
    let options = tapline::ping::respond("right0").mode(XdpAttachMode::Native);
    let responder = right.run(|| options.open()).unwrap();
    let summary = run(&left, &xdp(PROBES), "10.1.0.2 fd00:1::2");
    let total = summary.statistics.total();
    let all = 2 * u64::from(PROBES);
    assert_eq!(total.sent, all, "{summary}");
    assert_eq!(total.received + total.late + total.lost, all);
    // Nothing is lost on the way: what the responder has answered has arrived.
    let answered = responder.finish().unwrap().counts.answered;
    assert_eq!((answered, total.received + total.late), (all, all));
    assert_eq!((total.duplicate, total.corrupt, total.errors), (0, 0, 0));
}

/// As the other back ends: `ping::answers`.
#[test]
fn what_is_not_the_answer_is_reported_and_the_probe_waited_for() {
    let hosts = hosts();
    let _pass = pass_all(&hosts[1]);
    // The last message.
    let is_complete = |statistics: &Prober| statistics.other_counts().foreign == 1;
    for family in FAMILIES {
        let summary = run_against(
            &hosts,
            family,
            &family.target(),
            &xdp(1),
            is_complete,
            |answerer| {
                let request = answerer.next_request();
                let reply = |change: fn(&mut Vec<u8>)| answerer.reply(2, &request, change);
                // Damaged, cut short, shorter still, another time, another probe: the last two with a wrong tag.
                answerer.send(2, &reply(|bytes| bytes[HEADER + 32] ^= 1));
                answerer.send(2, &reply(|bytes| bytes.truncate(HEADER + 22)));
                answerer.send(2, &reply(|bytes| bytes.truncate(HEADER + 3)));
                answerer.send(2, &reply(|bytes| bytes[HEADER + 1] ^= 1));
                answerer.send(2, &reply(|bytes| bytes[HEADER - 1] ^= 1));
                answerer.send(3, &answerer.reply(3, &request, |_| ()));
                // A wrong checksum, with an intact cookie and a damaged one.
                let mut damaged = reply(|_| ());
                damaged[HEADER + 40] ^= 1;
                answerer.send(2, &damaged);
                let mut damaged = reply(|_| ());
                damaged[HEADER + 4] ^= 1;
                answerer.send(2, &damaged);
                // What ping(8) of another process would get that has the same identifier.
                answerer.send(
                    2,
                    &reply(|bytes| {
                        bytes.truncate(HEADER);
                        bytes.extend(0..56);
                    }),
                );
            },
        );
        let (counts, others) = (
            summary.statistics.counts(0),
            summary.statistics.other_counts(),
        );
        let found = (counts.sent, counts.received, counts.pending());
        assert_eq!(found, (1, 0, 1), "{family:?}");
        let found = (counts.corrupt, others.forged, others.wrong_source);
        assert_eq!(found, (4, 2, 1), "{family:?}");
        assert_eq!((others.foreign, others.cut_short), (1, 1), "{family:?}");
    }
}

#[test]
fn duplicates_late_answers_and_errors_are_counted_once() {
    let hosts = hosts();
    let _pass = pass_all(&hosts[1]);
    // The last message.
    let is_complete = |statistics: &Prober| statistics.other_counts().notices == 1;
    for family in FAMILIES {
        let summary = run_against(
            &hosts,
            family,
            &family.target(),
            &xdp(3),
            is_complete,
            |answerer| {
                let requests: Vec<_> = (0..3).map(|_| answerer.next_request()).collect();
                // One answer and two duplicates, an error with the whole probe and again, and an error with too little of it.
                let reply = answerer.reply(2, &requests[0], |_| ());
                answerer.send_copies(2, &reply, 3);
                let error = answerer.unreachable(&requests[1], HEADER + 16);
                answerer.send_copies(2, &error, 2);
                answerer.send(2, &answerer.unreachable(&requests[2], HEADER + 8));
            },
        );
        let (counts, others) = (
            summary.statistics.counts(0),
            summary.statistics.other_counts(),
        );
        let found = (counts.sent, counts.received, counts.errors);
        assert_eq!((found, counts.pending()), ((3, 1, 1), 1), "{family:?}");
        assert_eq!((counts.duplicate, others.notices), (3, 1), "{family:?}");
        let errors: Vec<_> = summary.statistics.errors().iter().collect();
        assert_eq!(errors.len(), 1);
        let (error, times) = errors[0];
        assert_eq!((error.router, times), (family.host(2), 2));
        assert_eq!([error.kind, error.code], family.unreachable);
    }
}

/// With one probe to each target, its counters are a few bits.
#[test]
fn an_error_ends_an_only_probe() {
    let hosts = hosts();
    let _pass = pass_all(&hosts[1]);
    for family in FAMILIES {
        let summary = run_against(
            &hosts,
            family,
            &family.target(),
            &xdp(1),
            |_| false,
            |answerer| {
                let request = answerer.next_request();
                answerer.send(2, &answerer.unreachable(&request, HEADER + 16));
            },
        );
        for counts in [summary.statistics.counts(0), summary.statistics.total()] {
            let found = (counts.sent, counts.received, counts.errors);
            assert_eq!((found, counts.pending()), ((1, 0, 1), 0), "{family:?}");
        }
        let errors: Vec<_> = summary.statistics.errors().iter().collect();
        assert_eq!((errors.len(), errors[0].0.router), (1, family.host(2)));
    }
}

/// Loading the programs, which takes longer than this run, is no part of it.
#[test]
fn the_duration_counts_from_the_first_round() {
    let [left, right] = Net::new().pair();
    let _pass = pass_all(&right);
    let mut options = xdp(u32::MAX - 1);
    options.interval = Duration::from_millis(1);
    options.duration = Some(Duration::from_millis(10));
    let ping = open(&left, &options, "10.1.0.2");
    let opened = Instant::now();
    let summary = complete(ping, |_, _| ());
    assert!(summary.duration <= opened.elapsed(), "{summary}");
    assert!(summary.statistics.total().sent > 0, "{summary}");
}

/// Routes are looked up again while it runs.
#[test]
fn a_route_that_changes_is_followed() {
    let [left, right] = Net::new().pair();
    let _pass = pass_all(&right);
    let mac = right.interface().mac;
    for neighbour in ["10.1.0.2", "10.1.0.3"] {
        let mac = if neighbour == "10.1.0.2" {
            "02:00:00:00:00:77".to_owned()
        } else {
            mac.to_string()
        };
        left.ip(&format!(
            "neighbour replace {neighbour} lladdr {mac} dev left0"
        ));
    }
    left.ip("route add 10.2.0.0/24 via 10.1.0.2");
    right.ip("route add local 10.2.0.0/24 dev lo");
    let mut options = xdp(1);
    options.count = None;
    options.interval = Duration::from_millis(10);
    options.duration = Some(Duration::from_secs(20));
    let ping = open(&left, &options, "10.2.0.1");
    let stopper = ping.stopper();
    let mut is_changed = false;
    let summary = complete(ping, |_, statistics| {
        let total = statistics.total();
        if total.sent > 2 && !is_changed {
            is_changed = true;
            assert_eq!(total.received, 0);
            left.ip("route replace 10.2.0.0/24 via 10.1.0.3");
        }
        if total.received > 0 {
            stopper.stop();
        }
    });
    assert!(summary.statistics.total().received > 0);
}

/// Compared with when a raw socket of the other host has received the requests to a prefix. Number `n` of them is due `n` gaps
/// after the first one, which is not before the start.
#[test]
fn no_prefix_gets_more_than_its_rate() {
    const EACH: u32 = 2;
    const PPS: u32 = 20;
    let [left, right] = Net::new().pair();
    let _pass = pass_all(&right);
    left.ip("route add 10.2.0.0/16 via 10.1.0.2");
    right.ip("route add local 10.2.0.0/16 dev lo");
    left.ip("-6 route add fd00:2::/64 via fd00:1::2");
    right.ip("-6 route add local fd00:2::/64 dev lo");
    for path in [SendPath::LiveFrames, SendPath::Xdp] {
        let sockets = [Requests::open(&right, false), Requests::open(&right, true)];
        let mut options = xdp(EACH);
        options.send_path = path;
        options.prefix_pps = Some(PPS);
        let start = Instant::now();
        let words = "10.2.0.1-10.2.0.5 10.2.1.1-10.2.1.3 fd00:2::1-fd00:2::4";
        let ping = open(&left, &options, words);
        let [ipv4, ipv6] = std::thread::scope(|scope| {
            let [ipv4, ipv6] = sockets.map(|socket| {
                let count = if socket.is_ipv6 { 4 } else { 8 };
                scope.spawn(move || socket.receive((count * EACH) as usize))
            });
            let total = complete(ping, |_, _| ()).statistics.total();
            assert_eq!((total.sent, total.received), (24, 24), "{path:?}");
            [ipv4, ipv6].map(|thread| thread.join().expect("all arrive"))
        });
        let of = |third| ipv4.iter().filter(move |(host, _)| *host == third);
        for (arrivals, targets) in [
            (of(0).collect::<Vec<_>>(), 5),
            (of(1).collect(), 3),
            (ipv6.iter().collect(), 4),
        ] {
            assert_eq!(arrivals.len() as u32, targets * EACH);
            for (number, (_, arrived)) in (0..).zip(arrivals) {
                let gaps = Duration::from_secs(1) * number / PPS;
                assert!(*arrived >= start + gaps, "{path:?}: number {number}");
            }
        }
    }
}

/// A raw socket that receives the echo requests to its host.
struct Requests {
    socket: OwnedFd,
    is_ipv6: bool,
}

impl Requests {
    fn open(host: &Host, is_ipv6: bool) -> Self {
        let (family, protocol) = if is_ipv6 {
            (AddressFamily::INET6, ipproto::ICMPV6)
        } else {
            (AddressFamily::INET, ipproto::ICMP)
        };
        let socket = host.run(|| socket(family, SocketType::RAW, Some(protocol)));
        let socket = socket.expect("a raw socket");
        let limit = Some(Duration::from_mins(1));
        set_socket_timeout(&socket, Timeout::Recv, limit).expect("a limit");
        Self { socket, is_ipv6 }
    }

    /// The third byte of the destination, 0 for IPv6, and the time of each of `count` requests.
    fn receive(self, count: usize) -> Vec<(u8, Instant)> {
        let mut requests = Vec::new();
        while requests.len() < count {
            let mut packet = [0; 512];
            recv(&self.socket, &mut packet, RecvFlags::empty()).expect("another request");
            let now = Instant::now();
            // An IPv6 socket receives messages without the header of the packet.
            let (kind, request, third) = if self.is_ipv6 {
                (packet[0], 128, 0)
            } else {
                (packet[20], 8, packet[18])
            };
            if kind == request {
                requests.push((third, now));
            }
        }
        requests
    }
}

/// Compared with the extremes, which the program keeps apart from the histogram.
#[test]
fn each_target_has_a_histogram() {
    let [left, right] = Net::new().pair();
    let options = tapline::ping::respond("right0").mode(XdpAttachMode::Native);
    let responder = right.run(|| options.open()).unwrap();
    let mut options = xdp(5000);
    options.histograms = true;
    let summary = run(&left, &options, "10.1.0.2 fd00:1::2");
    let statistics = &summary.statistics;
    for target in [0, 1] {
        let rtt = statistics.rtt(target).expect("it was timed");
        let buckets: Vec<_> = statistics.buckets(target).collect();
        let count: u64 = buckets.iter().map(|(.., count)| count).sum();
        assert_eq!((count, rtt.count), (5000, 5000));
        let [first, last] = [buckets[0], buckets[buckets.len() - 1]];
        // Extremes are rounded to 24 bits.
        let is_in = |ns: u64, (low, high, _): (u64, u64, u64)| {
            (low..=high).contains(&ns) || (low..=high).contains(&(ns + ns / (1 << 23)))
        };
        assert!(
            is_in(rtt.min_ns, first) && is_in(rtt.max_ns, last),
            "{buckets:?} {rtt:?}"
        );
        let median = statistics.quantile(target, 0.5).expect("it was timed");
        assert!((first.0..=last.1).contains(&median));
    }
    assert_eq!(responder.finish().unwrap().counts.answered, 10_000);
}

/// One of three is reached by another interface: its targets are pinged on this one.
#[test]
fn next_hops_of_a_route_share_its_targets() {
    let [left, right] = Net::new().pair();
    let _pass = pass_all(&right);
    left.ip("link add veth7 type veth peer name veth8");
    left.ip("link set veth7 up");
    left.ip("link set veth8 up");
    left.ip("address add 10.8.0.1/24 dev veth7");
    let mac = right.interface().mac;
    left.ip("link set left0 arp on");
    for number in [2, 3] {
        left.ip(&format!(
            "neighbour replace 10.1.0.{number} lladdr {mac} dev left0"
        ));
    }
    left.ip(
        "route add 10.64.0.0/24 nexthop via 10.1.0.2 dev left0 nexthop via 10.1.0.3 dev left0 \
         nexthop via 10.8.0.2 dev veth7",
    );
    right.ip("route add local 10.64.0.0/24 dev lo");
    let summary = run(&left, &xdp(2), "10.64.0.0/24");
    let total = summary.statistics.total();
    assert_eq!((total.sent, total.received), (508, 508), "{summary}");
    assert_eq!(echoes_answered(&right)[0], 508);
}

#[test]
fn an_answer_after_the_timeout_is_late_and_none_is_a_loss() {
    let hosts = hosts();
    let _pass = pass_all(&hosts[1]);
    for family in FAMILIES {
        // When the second probe is sent, it is too late for the answer to the first one.
        let mut options = xdp(1);
        options.count = None;
        options.interval = Duration::from_secs(1);
        options.timeout = Duration::from_millis(900);
        let is_complete =
            |statistics: &Prober| statistics.total().late + statistics.other_counts().stale == 1;
        let summary = run_against(
            &hosts,
            family,
            &family.target(),
            &options,
            is_complete,
            |answerer| {
                let first = answerer.next_request();
                answerer.next_request();
                answerer.send(2, &answerer.reply(2, &first, |_| ()));
            },
        );
        let counts = summary.statistics.counts(0);
        // On a busy machine it may be too late to be classified.
        let stale = summary.statistics.other_counts().stale;
        assert_eq!((counts.received, counts.late + stale), (0, 1), "{family:?}");
        let mut options = xdp(100);
        options.timeout = Duration::from_millis(100);
        let summary = run(&hosts[0], &options, &family.target());
        let counts = summary.statistics.counts(0);
        assert_eq!((counts.sent, counts.lost), (100, 100), "{family:?}");
    }
}

#[test]
fn what_it_does_not_do_is_refused() {
    let [left, right] = Net::new().pair();
    let refused = |change: &dyn Fn(&mut PingOptions), words: &str| {
        let mut options = xdp(1);
        change(&mut options);
        try_open(&left, &options, words).expect_err("it is refused")
    };
    let error = refused(&|options| options.payload_bytes = 2000, "10.1.0.2");
    assert!(matches!(
        error,
        PingError::XdpRefused(XdpRefusal::Payload {
            least: 16,
            most: 1452
        })
    ));
    let error = refused(&|_| (), "10.9.0.2");
    let expected = XdpRefusal::OtherInterface {
        link: "left0".into(),
    };
    assert!(matches!(error, PingError::XdpRefused(found) if found == expected));
    let error = refused(
        &|options| options.source = Some([10, 1, 0, 77].into()),
        "10.1.0.2",
    );
    assert!(
        matches!(
            &error,
            PingError::Kernel {
                operation: PingOperation::BindSource,
                ..
            }
        ),
        "{error:?}"
    );
    left.ip("route add default via 10.1.0.2");
    let error = refused(&|_| (), "10.1.0.2");
    assert!(matches!(error, PingError::Uplink { link } if link == "left0"));
    // Slow enough, or with consent.
    let _pass = pass_all(&right);
    let mut slow = xdp(1);
    slow.interval = Duration::from_secs(1);
    assert_eq!(run(&left, &slow, "10.1.0.2").statistics.total().received, 1);
    let mut consent = xdp(1);
    consent.allow_uplink = true;
    consent.timeout = Duration::from_millis(100);
    let summary = run(&left, &consent, "10.1.0.2 192.0.2.1");
    assert_eq!(
        summary.statistics.total().sent,
        2,
        "the second by the gateway"
    );
}
