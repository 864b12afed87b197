//! What a run by XDP follows of its interface: that it goes down and up, its routes and its MAC address, and that it becomes an
//! uplink.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use lab::{Host, Net};
use rustix::io::Errno;
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketType, recv, socket};
use tapline::ping::{Ended, PingError, PingEvent, RateLimit, XdpAttachMode};
use tapline::send::SendPath;

use super::runs::xdp;
use crate::send::paths::pass_all;
use crate::support::ping::{complete, open, try_open};

/// Probes per second to an uplink.
const MAX_UPLINK_PPS: f64 = 10_000.0;
/// Both ways for requests.
const PATHS: [SendPath; 2] = [SendPath::LiveFrames, SendPath::Xdp];

/// Half of the addresses, as VPNs route them, is as good as a default route.
#[test]
fn a_fast_run_by_a_route_to_half_of_the_addresses_is_refused() {
    for route in ["0.0.0.0/1 via 10.1.0.2", "-6 8000::/1 via fd00:1::2"] {
        let [left, _right] = Net::new().pair();
        assert!(try_open(&left, &xdp(1), "10.1.0.2").is_ok());
        left.ip(&match route.strip_prefix("-6 ") {
            Some(route) => format!("-6 route add {route}"),
            None => format!("route add {route}"),
        });
        let error = try_open(&left, &xdp(1), "10.1.0.2").expect_err("it is refused");
        assert!(matches!(error, PingError::Uplink { link } if link == "left0"));
    }
}

/// Lines of ip(8) that make the interface an uplink: by a route, and by a bridge that has one.
const BECOMES_UPLINK: [&[&str]; 3] = [
    &["route add default via 10.1.0.2"],
    &["-6 route add 2000::/3 via fd00:1::2"],
    &["link set left0 master br0"],
];

/// The requests are those that the responder has counted.
#[test]
fn a_run_whose_interface_becomes_an_uplink_goes_on_slowly() {
    for lines in BECOMES_UPLINK {
        let [left, right] = Net::new().pair();
        left.ip("link add br0 type bridge");
        left.ip("link set br0 up");
        left.ip("route add 128.0.0.0/1 dev br0");
        let options = tapline::ping::respond("right0").mode(XdpAttachMode::Native);
        let responder = right.run(|| options.open()).unwrap();
        let mut options = xdp(1);
        options.count = None;
        options.rate_pps = Some(100_000);
        options.duration = Some(Duration::from_secs(20));
        let ping = open(&left, &options, "10.1.0.2");
        let stopper = ping.stopper();
        let (mut is_changed, mut limited) = (false, None);
        let mut ticks = 0;
        let summary = complete(ping, |event, statistics| {
            let sent = statistics.total().sent;
            if !is_changed && sent > 5000 {
                is_changed = true;
                for line in lines {
                    left.ip(line);
                }
            }
            match event {
                PingEvent::UplinkLimit { pps: 10_000 } => limited = Some((sent, Instant::now())),
                PingEvent::Tick { .. } if limited.is_some() => {
                    ticks += 1;
                    if ticks == 50 {
                        stopper.stop();
                    }
                }
                _ => {}
            }
        });
        let (before, since) = limited.expect("it is noticed");
        let most = MAX_UPLINK_PPS * since.elapsed().as_secs_f64();
        let sent = summary.statistics.total().sent;
        let more = (sent - before) as f64;
        // Those of 10 ms on which the schedule catches up.
        assert!(more > 0.0 && more <= most + 101.0, "{more} of {most}");
        let rate = summary.rate.expect("a rate");
        assert_eq!(rate.limit, Some(RateLimit::Uplink), "{rate:?}");
        assert_eq!(responder.finish().unwrap().counts.answered, sent);
    }
}

/// With consent, or slow enough, nothing happens. A route that is no wide one changes nothing either.
#[test]
fn consent_holds_while_the_run_lasts() {
    let [left, right] = Net::new().pair();
    let options = tapline::ping::respond("right0").mode(XdpAttachMode::Native);
    let _responder = right.run(|| options.open()).unwrap();
    for (allow_uplink, rate_pps, to) in [
        (true, None, "default"),
        (false, Some(10_000), "default"),
        (false, None, "10.0.0.0/8"),
    ] {
        let mut options = xdp(1);
        options.count = None;
        (options.allow_uplink, options.rate_pps) = (allow_uplink, rate_pps);
        options.duration = Some(Duration::from_secs(20));
        let ping = open(&left, &options, "10.1.0.2");
        let stopper = ping.stopper();
        let mut ticks = 0;
        let summary = complete(ping, |event, _| {
            assert!(!matches!(event, PingEvent::UplinkLimit { .. }));
            if matches!(event, PingEvent::Tick { .. }) {
                ticks += 1;
                match ticks {
                    5 => drop(left.ip(&format!("route add {to} via 10.1.0.2"))),
                    30 => stopper.stop(),
                    _ => {}
                }
            }
        });
        left.ip(&format!("route del {to}"));
        assert_eq!(summary.ended, Ended::Stopped);
    }
}

/// A packet socket that receives the frames of its host.
struct Frames(OwnedFd);

impl Frames {
    fn open(host: &Host) -> Self {
        let all = u32::from((libc::ETH_P_ALL as u16).to_be());
        let all = Protocol::from_raw(all.try_into().expect("not zero"));
        let open = || socket(AddressFamily::PACKET, SocketType::RAW, Some(all));
        Self(host.run(open).expect("a packet socket"))
    }

    /// The source MAC addresses of the echo requests of IPv4 that have arrived.
    fn sources(&self) -> BTreeSet<[u8; 6]> {
        let mut found = BTreeSet::new();
        let mut frame = [0; 256];
        loop {
            match recv(&self.0, &mut frame, RecvFlags::DONTWAIT) {
                Ok(_) => {
                    let is_request = frame[12..14] == [8, 0] && frame[23] == 1 && frame[34] == 8;
                    let mac: [u8; 6] = frame[6..12].try_into().expect("six bytes");
                    found.extend(is_request.then_some(mac));
                }
                Err(Errno::AGAIN) => return found,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Compared with what the other host receives.
#[test]
fn requests_have_the_mac_address_that_the_interface_has_now() {
    const NEW: [u8; 6] = [2, 0, 0, 0, 0, 0x99];
    for path in PATHS {
        let [left, right] = Net::new().pair();
        let _pass = pass_all(&right);
        // The kernel finds the neighbour again after it has forgotten all.
        left.ip("link set left0 arp on");
        right.ip("link set right0 arp on");
        let old = left.interface().mac.0;
        let frames = Frames::open(&right);
        let mut options = xdp(1);
        options.count = None;
        options.send_path = path;
        options.interval = Duration::from_millis(5);
        options.duration = Some(Duration::from_secs(20));
        let ping = open(&left, &options, "10.1.0.2");
        let stopper = ping.stopper();
        let mut found = BTreeSet::new();
        let summary = complete(ping, |event, _| {
            if !matches!(event, PingEvent::Tick { .. }) {
                return;
            }
            let before = found.len();
            let sources = frames.sources();
            // Once the other one is there, nothing leaves with the first one.
            if before == 2 && sources == BTreeSet::from([NEW]) {
                stopper.stop();
            }
            found.extend(sources);
            if (before, found.len()) == (0, 1) {
                left.ip("link set left0 address 02:00:00:00:00:99");
            }
        });
        assert_eq!(found, BTreeSet::from([old, NEW]), "{path:?}");
        assert_eq!(summary.ended, Ended::Stopped, "{path:?}: {summary}");
    }
}

/// The routes of the targets are back some time after the interface is up. Each target is probed once, none is refused, and each
/// is reported.
#[test]
fn a_sweep_waits_for_its_interface() {
    const TARGETS: u64 = 2000;
    for path in PATHS {
        let [left, right] = Net::new().pair();
        right.ip("route add local 10.64.0.0/16 dev lo");
        let options = tapline::ping::respond("right0").mode(XdpAttachMode::Native);
        let responder = right.run(|| options.open()).unwrap();
        left.ip("route add 10.64.0.0/16 via 10.1.0.2");
        let mut options = xdp(1);
        options.send_path = path;
        options.rate_pps = Some(5000);
        options.timeout = Duration::from_millis(200);
        let (mut ended, mut ticks, mut at_down) = (0, None, 0);
        let ping = open(&left, &options, "10.64.0.0-10.64.7.207");
        let summary = complete(ping, |event, statistics| {
            let sent = statistics.total().sent;
            match event {
                PingEvent::Ended { .. } => ended += 1,
                PingEvent::Tick { .. } => match &mut ticks {
                    None if sent > 300 => {
                        left.ip("link set left0 down");
                        ticks = Some(0);
                    }
                    None => {}
                    Some(ticks) => {
                        *ticks += 1;
                        match *ticks {
                            2 => at_down = sent,
                            40 => {
                                assert_eq!(sent, at_down, "it waits");
                                left.ip("link set left0 up");
                                let mac = right.interface().mac;
                                left.ip(&format!(
                                    "neighbour replace 10.1.0.2 lladdr {mac} dev left0"
                                ));
                            }
                            80 => {
                                assert_eq!(sent, at_down, "it waits for the routes");
                                left.ip("route add 10.64.0.0/16 via 10.1.0.2");
                            }
                            _ => {}
                        }
                    }
                },
                _ => {}
            }
        });
        let total = summary.statistics.total();
        assert_eq!((total.sent, total.local_drops), (TARGETS, 0), "{summary}");
        assert_eq!(total.received + total.lost + total.late, TARGETS);
        assert_eq!((ended, total.pending()), (TARGETS, 0), "{path:?}");
        assert!(at_down < TARGETS, "it was down in the middle");
        let answered = responder.finish().unwrap().counts.answered;
        // Only what was on its way when the interface went down is lost.
        assert!(answered >= total.received && answered <= TARGETS);
        assert!(
            total.received + total.late >= TARGETS - at_down,
            "{summary}"
        );
    }
}

/// The route to all targets is gone for some time, and again soon after it is back. The interface stays up. Each target is probed
/// once, and none is refused. Compared with what the responder has counted.
#[test]
fn a_sweep_waits_for_its_routes() {
    const TARGETS: u64 = 2000;
    /// Ticks after which the route is back: the second time longer than a probe waits that is refused then.
    const GONE: [u32; 2] = [200, 500];
    let [left, right] = Net::new().pair();
    right.ip("route add local 10.64.0.0/16 dev lo");
    let options = tapline::ping::respond("right0").mode(XdpAttachMode::Native);
    let responder = right.run(|| options.open()).unwrap();
    left.ip("route add 10.64.0.0/16 via 10.1.0.2");
    let mut options = xdp(1);
    options.rate_pps = Some(1000);
    let (mut ticks, mut before, mut times) = (None, 0, 0);
    let ping = open(&left, &options, "10.64.0.0-10.64.7.207");
    let summary = complete(ping, |event, statistics| {
        if !matches!(event, PingEvent::Tick { .. }) {
            return;
        }
        let sent = statistics.total().sent;
        match &mut ticks {
            None if times < GONE.len() && sent > before + 100 => {
                left.ip("route del 10.64.0.0/16");
                ticks = Some(0);
            }
            None => {}
            Some(count) => {
                *count += 1;
                if *count == 150 {
                    // All targets have been looked up again.
                    before = sent;
                } else if *count == GONE[times] {
                    assert_eq!(sent, before, "it waits");
                    left.ip("route add 10.64.0.0/16 via 10.1.0.2");
                    times += 1;
                    ticks = None;
                }
            }
        }
    });
    let total = summary.statistics.total();
    assert_eq!(times, GONE.len());
    assert!((1..TARGETS).contains(&before), "{before}: {summary}");
    assert_eq!((total.sent, total.local_drops), (TARGETS, 0), "{summary}");
    assert_eq!(total.received, TARGETS, "{summary}");
    assert_eq!(responder.finish().unwrap().counts.answered, TARGETS);
}

/// One of two routes is gone for good: the targets behind the other one are probed.
#[test]
fn a_sweep_goes_on_with_the_routes_that_are_left() {
    const TARGETS: u64 = 2048;
    let [left, right] = Net::new().pair();
    let networks = ["10.64.0.0/22", "10.64.4.0/22"];
    for network in networks {
        left.ip(&format!("route add {network} via 10.1.0.2"));
        right.ip(&format!("route add local {network} dev lo"));
    }
    let options = tapline::ping::respond("right0").mode(XdpAttachMode::Native);
    let responder = right.run(|| options.open()).unwrap();
    let mut options = xdp(1);
    options.rate_pps = Some(2000);
    let mut is_gone = false;
    let ping = open(&left, &options, "10.64.0.0-10.64.7.255");
    let summary = complete(ping, |_, statistics| {
        if !is_gone && statistics.total().sent > 300 {
            left.ip(&format!("route del {}", networks[1]));
            is_gone = true;
        }
    });
    let total = summary.statistics.total();
    assert_eq!(total.sent + total.local_drops, TARGETS, "{summary}");
    assert!(total.local_drops > 0, "{summary}");
    let statistics = &summary.statistics;
    let left_over = (0..1024).filter(|target| statistics.counts(*target).received != 1);
    assert_eq!(left_over.count(), 0, "{summary}");
    let drops: Vec<_> = summary.local_drops.iter().collect();
    assert_eq!(drops.len(), 1, "{drops:?}");
    assert_eq!(drops[0].0.raw_os_error(), Some(libc::ENETUNREACH));
    assert_eq!(responder.finish().unwrap().counts.answered, total.sent);
}

/// The other end is down: the interface has no carrier, and routes and addresses stay.
#[test]
fn a_sweep_waits_for_the_carrier() {
    const TARGETS: u64 = 3000;
    for path in PATHS {
        let [left, right] = Net::new().pair();
        right.ip("route add local 10.64.0.0/16 dev lo");
        left.ip("route add 10.64.0.0/16 via 10.1.0.2");
        let options = tapline::ping::respond("right0").mode(XdpAttachMode::Native);
        let responder = right.run(|| options.open()).unwrap();
        let mut options = xdp(1);
        options.send_path = path;
        options.rate_pps = Some(1000);
        options.timeout = Duration::from_millis(200);
        let (mut ticks, mut at_down) = (None, 0);
        let ping = open(&left, &options, "10.64.0.0-10.64.11.183");
        let summary = complete(ping, |event, statistics| {
            let sent = statistics.total().sent;
            if !matches!(event, PingEvent::Tick { .. }) {
                return;
            }
            match &mut ticks {
                None if sent > 300 => {
                    // After that, the kernel notifies of the next loss of a carrier up to a second later.
                    for line in [
                        "link add veth7 type veth peer name veth8",
                        "link set veth7 up",
                        "link set veth8 up",
                        "link set veth8 down",
                        "link set right0 down",
                    ] {
                        right.ip(line);
                    }
                    ticks = Some(0);
                }
                None => {}
                Some(ticks) => {
                    *ticks += 1;
                    match *ticks {
                        2 => at_down = sent,
                        30 => {
                            assert_eq!(sent, at_down, "it waits: {path:?}");
                            right.ip("link set right0 up");
                        }
                        _ => {}
                    }
                }
            }
        });
        let total = summary.statistics.total();
        assert_eq!((total.sent, total.local_drops), (TARGETS, 0), "{summary}");
        assert!((1..TARGETS).contains(&at_down), "{path:?}: {at_down}");
        let answered = responder.finish().unwrap().counts.answered;
        assert!(
            answered >= total.received && answered <= TARGETS,
            "{path:?}"
        );
    }
}

/// Adds the routes again that the kernel has removed with the interface, some time after it is up.
fn restore(left: &Host, right: &Host) {
    let mac = right.interface().mac;
    for words in [
        "-6 address replace fd00:1::1/64 dev left0 nodad".to_owned(),
        format!("neighbour replace 10.1.0.2 lladdr {mac} dev left0"),
        format!("neighbour replace fd00:1::2 lladdr {mac} dev left0"),
        "route replace 10.2.0.0/24 via 10.1.0.2".into(),
        "-6 route replace fd02::/64 via fd00:1::2".into(),
    ] {
        left.ip(&words);
    }
}

/// The interface is down for some ticks, and the routes of three of the four targets are back later. No probe is refused, and the
/// schedule goes on. The requests are those that the responder has counted.
#[test]
fn probes_wait_for_routes_that_come_back_after_the_interface() {
    for path in PATHS {
        let [left, right] = Net::new().pair();
        for (family, network) in [("-4", "10.2.0.0/24"), ("-6", "fd02::/64")] {
            right.ip(&format!("{family} route add local {network} dev lo"));
        }
        let options = tapline::ping::respond("right0").mode(XdpAttachMode::Native);
        let responder = right.run(|| options.open()).unwrap();
        restore(&left, &right);
        let mut options = xdp(100);
        options.send_path = path;
        options.interval = Duration::from_millis(20);
        options.gather = Duration::ZERO;
        options.timeout = Duration::from_millis(500);
        let mut ticks = 0;
        let ping = open(&left, &options, "10.1.0.2 10.2.0.1 fd00:1::2 fd02::1");
        let summary = complete(ping, |event, statistics| {
            if matches!(event, PingEvent::Tick { .. }) {
                ticks += 1;
                match ticks {
                    20 => drop(left.ip("link set left0 down")),
                    40 => {
                        left.ip("link set left0 up");
                        // The kernel has forgotten it.
                        let mac = right.interface().mac;
                        left.ip(&format!(
                            "neighbour replace 10.1.0.2 lladdr {mac} dev left0"
                        ));
                    }
                    80 => {
                        let sent = [0, 1].map(|target| statistics.counts(target).sent);
                        assert!(sent[0] > sent[1], "the first waits for no other: {sent:?}");
                        restore(&left, &right);
                    }
                    _ => {}
                }
            }
        });
        let total = summary.statistics.total();
        assert_eq!((total.sent, total.local_drops), (400, 0), "{summary}");
        assert_eq!(total.received + total.lost + total.late, 400, "{summary}");
        let answered = responder.finish().unwrap().counts.answered;
        // Only what was on its way when the interface went down is lost.
        assert!((400 - 8..=400).contains(&answered), "{answered}");
    }
}

/// The interface or the other end stays down: probes are refused, the first one not before three seconds have passed. All of them
/// are accounted for.
#[test]
fn probes_are_refused_if_the_interface_stays_down() {
    for (path, is_other_end) in [
        (SendPath::LiveFrames, false),
        (SendPath::LiveFrames, true),
        (SendPath::Xdp, true),
    ] {
        let [left, right] = Net::new().pair();
        let options = tapline::ping::respond("right0").mode(XdpAttachMode::Native);
        let responder = right.run(|| options.open()).unwrap();
        let mut options = xdp(250);
        options.send_path = path;
        options.interval = Duration::from_millis(20);
        options.timeout = Duration::from_millis(200);
        // The routes of an interface without a carrier stay.
        let errnos = if is_other_end {
            &[libc::ENETDOWN][..]
        } else {
            &[libc::ENETDOWN, libc::ENETUNREACH][..]
        };
        let (mut ticks, mut first_refused) = (0, None);
        let (mut went_down, mut at_down) = (None, 0);
        let ping = open(&left, &options, "10.1.0.2");
        let summary = complete(ping, |event, statistics| match event {
            PingEvent::Tick { .. } => {
                ticks += 1;
                match ticks {
                    20 => {
                        if is_other_end {
                            right.ip("link set right0 down");
                        } else {
                            left.ip("link set left0 down");
                        }
                        went_down = Some(Instant::now());
                    }
                    22 => at_down = statistics.total().sent,
                    _ => {}
                }
            }
            PingEvent::NotSent { error, .. } => {
                let errno = error.raw_os_error().expect("an error of the kernel");
                assert!(errnos.contains(&errno), "{path:?}: {error}");
                first_refused.get_or_insert_with(Instant::now);
            }
            _ => {}
        });
        let total = summary.statistics.total();
        assert!(at_down > 0, "{path:?}: {summary}");
        assert_eq!(
            (total.sent, total.local_drops),
            (at_down, 250 - at_down),
            "{path:?}: {summary}"
        );
        let answered = total.received + total.lost + total.late;
        assert_eq!(total.sent, answered, "{path:?}: {summary}");
        let waited = first_refused.expect("some") - went_down.expect("down");
        assert!(waited >= Duration::from_millis(2900), "{waited:?}");
        assert!(responder.finish().unwrap().counts.answered <= total.sent);
    }
}
