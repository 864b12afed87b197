//! Captures from several interfaces, and errors when opening a capture.

use std::time::Duration;

use crate::support::{
    BACKENDS, Teller, Told, Witness, expression, frames, number, options, run, run_open, summary,
    until_reported,
};
use lab::generator::{pin_to_cpu, send_frames};
use lab::{Host, Net};
use ring::{DeliveryMode, DirectionFilter, RingOpenError, SetupStep};
use store::model::LinkType;
use tapline::Stop;
use tapline::capture::{Backend, Capture, CaptureError, CaptureOptions};

/// Two hosts with two links between them.
fn two_links() -> [Host; 2] {
    let net = Net::new();
    let [mut left, mut right] = net.pair();
    net.join(&mut left, &mut right);
    [left, right]
}

fn both(right: &Host, backend: Backend) -> CaptureOptions {
    let links = right
        .interfaces()
        .iter()
        .map(|link| link.name.to_string())
        .collect();
    options(right, backend).links(links)
}

/// Sends frames 0 to 99 alternately over both links.
fn send_by_turns(left: &Host) {
    left.run(|| {
        pin_to_cpu(0).unwrap();
        for (turn, frame) in frames(0, 100).iter().enumerate() {
            send_frames(left.interfaces()[turn % 2].index, [frame]).unwrap();
        }
    });
}

#[test]
fn packets_that_lie_ready_together_are_merged_by_their_time() {
    for backend in BACKENDS {
        let [left, right] = two_links();
        let mut witnesses = [0, 1].map(|number| Witness::of_link(&right, number));
        let capture = right.run(|| Capture::open(both(&right, backend))).unwrap();
        // They gather in the rings before anybody reads.
        send_by_turns(&left);
        for witness in &mut witnesses {
            witness.until(50);
        }
        let (mut teller, release, told) = Teller::stalling();
        let (outcome, ()) = run_open(capture, &mut teller, |stopper| {
            until_reported(&told, Told::Holding);
            release.send(()).unwrap();
            until_reported(&told, Told::Idle);
            stopper.stop();
        });
        assert_eq!(outcome.account.received(), Some(100));
        for (link, interface) in outcome.links.iter().zip(right.interfaces()) {
            assert_eq!(link.account.delivered, 50);
            assert_eq!(link.name, interface.name.to_string());
        }

        for link in [0, 1] {
            let of_link = teller.kept.iter().filter(|kept| kept.interface == link);
            assert!(
                of_link
                    .map(|kept| number(&kept.bytes))
                    .eq((link..100).step_by(2))
            );
        }
        if backend == Backend::PacketV2 {
            // All lay ready together. The blocks of V3 may have been cut apart by their timer.
            assert!(teller.kept.is_sorted_by_key(|kept| kept.time_ns));
        }
        let statistics = teller.finished.unwrap();
        let received = statistics.iter().map(|one| (one.interface, one.received));
        assert!(received.eq([(0, Some(50)), (1, Some(50))]));
    }
}

/// The last blocks are not full, and their timers last for a minute.
#[test]
fn what_the_rings_had_not_handed_over_at_the_end_is_merged_by_its_time() {
    let [left, right] = two_links();
    let mut witnesses = [0, 1].map(|number| Witness::of_link(&right, number));
    let patient = DeliveryMode::Batch {
        min_bytes: 1,
        timeout: Duration::from_hours(1),
    };
    let options = both(&right, Backend::PacketV3).delivery(patient);
    let capture = right.run(|| Capture::open(options)).unwrap();
    send_by_turns(&left);
    for witness in &mut witnesses {
        witness.until(50);
    }
    let stop = Stop::new().unwrap();
    stop.stopper().stop();
    let mut teller = Teller::new();
    let outcome = summary(capture.run_consumer(&mut teller, &stop));
    assert_eq!(outcome.account.delivered, 100);
    assert_eq!(teller.kept.len(), 100);
    assert!(teller.kept.is_sorted_by_key(|kept| kept.time_ns));
}

#[test]
fn the_limit_of_packets_is_that_of_all_interfaces_together() {
    for backend in BACKENDS {
        let [left, right] = two_links();
        let mut witnesses = [0, 1].map(|number| Witness::of_link(&right, number));
        let mut limited = both(&right, backend);
        limited.limits.packets = Some(31);
        let capture = right.run(|| Capture::open(limited)).unwrap();
        send_by_turns(&left);
        for witness in &mut witnesses {
            witness.until(50);
        }
        let mut teller = Teller::new();
        let (outcome, ()) = run_open(capture, &mut teller, |_| ());
        assert_eq!((teller.taken, outcome.account.delivered), (31, 31));
        assert_eq!(outcome.account.filtered, Some(69));
        let links = outcome.links.iter().map(|link| link.account.received());
        assert!(links.eq([Some(50), Some(50)]));
    }
}

/// Interfaces beyond the ordering limit keep their numbers.
#[test]
fn many_interfaces_are_told_apart() {
    let host = Host::new("alone");
    let links: Vec<String> = (0..9)
        .flat_map(|n| [format!("near{n}"), format!("far{n}")])
        .collect();
    for n in 0..9 {
        host.ip(&format!("link add near{n} type veth peer name far{n}"));
    }
    for link in &links {
        host.ip(&format!("link set {link} arp off up"));
    }
    let options = CaptureOptions::default()
        .links(links.clone())
        .backend(Backend::PacketV2)
        .snaplen(100)
        .buffer_bytes(1 << 20)
        .direction(DirectionFilter::Out);
    let capture = host.run(|| Capture::open(options)).unwrap();
    let mut netlink = host.netlink();
    for (number, link) in (0..).zip(&links) {
        let index = netlink.link_named(link).unwrap().ifindex();
        host.run(|| send_frames(index, frames(number, 1)).unwrap());
    }
    // Each was in its ring when it had been sent.
    let stop = Stop::new().unwrap();
    stop.stopper().stop();
    let mut teller = Teller::new();
    let outcome = summary(capture.run_consumer(&mut teller, &stop));
    let seen = teller
        .kept
        .iter()
        .map(|kept| (kept.interface, number(&kept.bytes)));
    let mut seen: Vec<(u32, u32)> = seen.collect();
    seen.sort_unstable();
    assert!(seen.into_iter().eq((0..18).map(|number| (number, number))));
    for (link, name) in outcome.links.iter().zip(&links) {
        assert_eq!((&link.name, link.account.delivered), (name, 1));
    }
}

#[test]
fn interfaces_are_described_as_the_kernel_knows_them() {
    let [_left, right] = two_links();
    let (name, alias) = ("right0".to_owned(), "the-way-to-the-left");
    right.ip(&format!("link set {name} alias {alias}"));
    let described = options(&right, Backend::PacketV3)
        .filter_text("all of it".to_owned())
        .links(vec![name.clone(), "lo".into()]);
    let capture = right.run(|| Capture::open(described)).unwrap();
    let [link, loopback] = capture.interfaces() else {
        panic!("{:?}", capture.interfaces());
    };
    assert_eq!((link.link_type, link.snaplen), (LinkType::ETHERNET, 100));
    assert_eq!(link.name.as_ref(), Some(&name));
    assert_eq!(link.description.as_deref(), Some(alias));
    assert_eq!(link.filter.as_deref(), Some("all of it"));
    assert_eq!(link.hardware.as_deref(), Some("veth"));
    assert_eq!(link.mac, Some(right.interface().mac.0));
    // What a veth says of its speed, as ethtool(8) shows.
    let shown = right.output_of(&format!("ethtool {name}"));
    assert!(shown.contains("Speed: 10000Mb/s"), "{shown}");
    assert_eq!(link.speed_bps, Some(10_000_000_000));
    let uname = right.output_of("/bin/uname -srm");
    assert_eq!(link.os.as_deref(), Some(uname.trim_end()));
    assert_eq!(Capture::operating_system(), uname.trim_end());
    assert_eq!((loopback.name.as_deref(), loopback.mac), (Some("lo"), None));
    let rings: Vec<&str> = capture
        .links()
        .map(|link| link.link.name.as_str())
        .collect();
    assert_eq!(rings, [name.as_str(), "lo"]);
}

#[test]
fn a_capture_that_cannot_be_says_why() {
    let [_left, right] = two_links();
    let refused = |options: CaptureOptions| match right.run(|| Capture::open(options)) {
        Err(error) => error,
        Ok(_) => panic!("it was opened"),
    };
    let good = || both(&right, Backend::PacketV3);
    let of = |links: &[&str]| {
        let links = links.iter().map(|&link| link.to_owned()).collect();
        good().links(links)
    };
    assert!(matches!(refused(of(&[])), CaptureError::NoLink));
    match refused(of(&["right0", "lo", "right0"])) {
        CaptureError::LinkTwice { link } => assert_eq!(link, "right0"),
        other => panic!("{other:?}"),
    }
    match refused(of(&["right0", "nowhere0"])) {
        CaptureError::Ring(RingOpenError::Setup(error)) => {
            assert_eq!(
                (error.step, error.link.as_str()),
                (SetupStep::Interface, "nowhere0")
            );
        }
        other => panic!("{other:?}"),
    }
    let asking = |links: &[&str], text: &str| of(links).with_filter(expression(text));
    match refused(asking(&["lo", "right0"], "tcp prot 80")) {
        CaptureError::Filter { link, error, .. } => {
            assert_eq!((&link[..], error.span), ("lo", 4..8));
        }
        other => panic!("{other:?}"),
    }
    match refused(asking(&["right0", "nowhere0"], "tcp")) {
        CaptureError::Link(error) => {
            assert_eq!(error.errno(), Some(rustix::io::Errno::NODEV.raw_os_error()));
        }
        other => panic!("{other:?}"),
    }
    let contradiction = good().delivery(DeliveryMode::Immediate);
    assert!(matches!(
        refused(contradiction),
        CaptureError::Ring(RingOpenError::Option(_))
    ));
    for tick in [Duration::ZERO, Duration::MAX] {
        // Neither is an error: the shortest and the longest time there is.
        let mut few = good().tick(tick);
        few.limits.packets = Some(0);
        let (outcome, ()) = run(&right, few, &mut Teller::new(), |_| ());
        assert_eq!(outcome.account.received(), Some(0));
    }
}
