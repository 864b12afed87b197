//! Start, intervals and end of a count.

use std::net::UdpSocket;
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use crate::support::count::{class, named, open, options, start, traffic, until, with};
use lab::generator::{send_frames, udp_frame};
use lab::{Host, Net};
use rustix::event::{PollFd, PollFlags, poll};
use tapline::Stopper;
use tapline::count::{
    Count, CountClass, CountDirection, CountEnd, CountError, CountEvent, CountHook, CountLayer,
    CountOptions, CountSummary, FallbackReason, IngressHook, LinkState, Traffic, XdpAttachMode,
};

/// Runs a count on a new thread and `drive` on this one. Also returns the sum of the intervals.
fn run(count: Count, drive: impl FnOnce(&Stopper)) -> (Vec<Traffic>, u64, CountSummary) {
    let stopper = count.stopper();
    thread::scope(|scope| {
        let running = scope.spawn(move || {
            let (mut sums, mut span_ns) = (vec![Traffic::default(); count.classes().len()], 0);
            let summary = count.run(|_, interval| {
                span_ns += interval.span_ns;
                for (sum, class) in sums.iter_mut().zip(&interval.classes) {
                    *sum += class.traffic;
                }
                ControlFlow::Continue(())
            });
            (sums, span_ns, summary.unwrap())
        });
        drive(&stopper);
        running.join().unwrap()
    })
}

#[test]
fn intervals_add_up_to_the_totals_and_the_duration() {
    let [left, right] = Net::new().pair();
    let options = with!(
        options(&right, CountDirection::In, &["udp port 9", "ip"]);
        interval: Duration::from_millis(1),
        duration: Some(Duration::from_millis(120)),
    );
    let count = open(&right, options);
    let frame = udp_frame(100);
    let (sums, span_ns, summary) = run(count, |_| {
        left.run(|| send_frames(left.interface().index, vec![&frame; 5000]).unwrap());
    });
    assert_eq!(summary.end, CountEnd::Duration);
    let totals = summary.totals.classes.iter().map(|class| class.traffic);
    assert_eq!(sums, totals.collect::<Vec<_>>());
    // On a busy machine the duration is over before the last frame is sent.
    let counted = summary.totals.classes[0].traffic;
    assert_eq!(counted, traffic(counted.packets, 100 * counted.packets));
    assert!((1..=5000).contains(&counted.packets), "{counted:?}");
    assert_eq!(span_ns, summary.totals.since_start_ns);
    assert!(span_ns >= 120_000_000);
}

#[test]
fn removing_an_interface_ends_the_count_with_complete_totals() {
    let [left, right] = Net::new().pair();
    let mut count = start(&right, CountDirection::Both, &["udp port 9"]);
    let frame = udp_frame(100);
    left.run(|| send_frames(left.interface().index, vec![&frame; 25]).unwrap());
    until(&mut count, |s| s.classes[0].traffic.packets == 25);
    let name = right.interface().name.to_string();
    let (sums, _, summary) = run(count, |_| {
        right.ip("link delete right0");
    });
    assert_eq!(summary.end, CountEnd::LinkRemoved { link: name });
    assert_eq!(sums, [traffic(25, 2500)]);
    assert_eq!(summary.totals.classes[0].traffic, traffic(25, 2500));
}

#[test]
fn an_interface_that_goes_down_is_reported_and_ends_nothing() {
    let [left, right] = Net::new().pair();
    let options = with!(
        options(&right, CountDirection::Both, &["udp port 9"]);
        interval: Duration::from_hours(1),
    );
    let mut count = open(&right, options);
    let name = right.interface().name.to_string();
    for (host, change, expected) in [
        (&right, "down", LinkState::Down),
        (&right, "up", LinkState::Up),
        (&left, "down", LinkState::NoCarrier),
    ] {
        host.ip(&format!("link set {} {change}", host.interface().name));
        match count.next_event().unwrap() {
            Some(CountEvent::Link(link)) => assert_eq!((&link.link, link.state), (&name, expected)),
            other => panic!("{other:?}"),
        }
    }
    let first = count.links().next().unwrap();
    let later = count.links().next().unwrap();
    assert!(first.down_ns > 0 && later.down_ns > first.down_ns);
    count.stopper().stop();
    let last = count.next_event().unwrap();
    assert!(matches!(last, Some(CountEvent::Interval(_))), "{last:?}");
    assert!(count.next_event().unwrap().is_none());
    assert_eq!(count.finish().unwrap().end, CountEnd::Stopped);
}

#[test]
fn classes_can_change_after_the_interface_is_gone() {
    let [_left, right] = Net::new().pair();
    let mut count = start(&right, CountDirection::Both, &["udp port 9"]);
    right.ip("link delete right0");
    count.add_class(class("tcp")).unwrap();
    let last = count.remove_class("udp port 9").unwrap();
    assert_eq!(last.traffic, traffic(0, 0));
}

#[test]
fn a_stop_ends_a_count_in_the_middle_of_an_interval() {
    let [_left, right] = Net::new().pair();
    let options = with!(
        options(&right, CountDirection::In, &["udp port 9"]);
        interval: Duration::from_hours(1),
    );
    let (sums, _, summary) = run(open(&right, options), Stopper::stop);
    assert_eq!(summary.end, CountEnd::Stopped);
    assert_eq!(sums, [traffic(0, 0)]);
}

#[test]
fn loopback_is_counted_at_tc_with_a_reason() {
    let host = Host::new("alone");
    let options = with!(
        CountOptions::default();
        interfaces: vec!["lo".to_owned()],
        classes: vec![named("all", ""), class("udp port 7400")],
    );
    let mut count = open(&host, options);
    let places: Vec<_> = count.points().collect();
    assert_eq!([places[0].hook, places[1].hook], [CountHook::Tcx; 2]);
    assert!(matches!(
        places[0].reason,
        Some(FallbackReason::XdpRefused(_))
    ));
    assert!(places[1].reason.is_none());
    host.run(|| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let listener = UdpSocket::bind("127.0.0.1:7400").unwrap();
        for _ in 0..9 {
            socket
                .send_to(b"12345678", listener.local_addr().unwrap())
                .unwrap();
        }
    });
    let snapshot = until(&mut count, |s| s.classes[1].traffic.packets == 18);
    assert_eq!(
        snapshot.classes[1].points,
        [traffic(9, 9 * 50), traffic(9, 9 * 50)]
    );
    assert_eq!(snapshot.classes[0].traffic, snapshot.classes[1].traffic);
}

#[test]
fn classes_that_read_stripped_tags_are_counted_at_tc() {
    let [_left, right] = Net::new().pair();
    let count = start(&right, CountDirection::In, &["vlan 7"]);
    let places: Vec<_> = count.points().collect();
    assert_eq!(places[0].hook, CountHook::Tcx);
    assert!(matches!(
        places[0].reason,
        Some(FallbackReason::VlanStripped)
    ));
}

#[test]
fn explicit_xdp_is_used_or_fails() {
    let host = Host::new("alone");
    let of = |ingress, link: &str| {
        with!(
            CountOptions::default();
            interfaces: vec![link.to_owned()],
            direction: CountDirection::In,
            ingress: ingress,
        )
    };
    let native = host.run(|| Count::open(of(IngressHook::Xdp(XdpAttachMode::Native), "lo")).err());
    assert!(matches!(native, Some(CountError::Xdp { link, .. }) if link == "lo"));
    let count = open(
        &host,
        of(IngressHook::Xdp(XdpAttachMode::NativeOrGeneric), "lo"),
    );
    let places: Vec<_> = count.points().collect();
    assert_eq!(places[0].hook, CountHook::XdpGeneric);
    assert!(places[0].reason.is_some());
}

#[test]
fn invalid_options_are_reported() {
    let host = Host::new("alone");
    let good = || {
        with!(
            CountOptions::default();
            interfaces: vec!["lo".to_owned()],
            classes: vec![class("udp")],
        )
    };
    let refused = |change: fn(&mut CountOptions)| {
        let mut options = good();
        change(&mut options);
        let refused = host.run(|| Count::open(options).err());
        refused.map_or_else(String::new, |error| error.to_string())
    };
    let texts = [
        refused(|options| options.interfaces.clear()),
        refused(|options| options.interfaces.push("lo".to_owned())),
        refused(|options| options.interfaces[0] = "nowhere0".to_owned()),
        refused(|options| options.classes.push(class("udp"))),
        refused(|options| {
            options.classes.push(CountClass {
                name: "x".into(),
                ..class("udp prot")
            });
        }),
        refused(|options| options.interval = Duration::from_micros(999)),
        refused(|options| (options.by, options.groups) = (Some(tapline::count::GroupBy::Src), 0)),
        refused(|options| options.layer = CountLayer::Wire),
    ];
    let expected = [
        "no interface to count on",
        "interface lo is named twice",
        "cannot get link nowhere0",
        "class udp is named twice",
        "filter of class x is invalid for lo",
        "interval is shorter than 1 ms",
        "maximum number of groups is 0",
        "",
    ];
    assert_eq!(texts, expected);
}

/// An event loop that polls the count's descriptor with its own timeout.
#[test]
fn the_descriptor_is_readable_when_an_interval_ends_and_when_the_count_is_stopped() {
    let [left, right] = Net::new().pair();
    let options = with!(
        options(&right, CountDirection::In, &["udp port 9"]);
        interval: Duration::from_millis(20),
    );
    let mut count = open(&right, options);
    assert!(count.next_event_timeout(Duration::ZERO).unwrap().is_none());
    left.run(|| send_frames(left.interface().index, vec![udp_frame(60); 3]).unwrap());
    let mut packets = 0;
    while packets < 3 {
        let mut fds = [PollFd::new(&count, PollFlags::IN)];
        assert_eq!(poll(&mut fds, None).unwrap(), 1);
        if let Some(CountEvent::Interval(interval)) =
            count.next_event_timeout(Duration::ZERO).unwrap()
        {
            packets += interval.classes[0].traffic.packets;
        }
    }
    count.stopper().stop();
    assert_eq!(
        poll(&mut [PollFd::new(&count, PollFlags::IN)], None).unwrap(),
        1
    );
    assert!(count.next().unwrap().is_some());
    assert!(count.next().unwrap().is_none() && count.has_ended());
    let summary = count.finish().unwrap();
    let text = summary.to_string();
    assert!(text.starts_with("counted for 0."), "{text}");
    assert!(
        text.ends_with(" s: udp port 9 3 packets (180 bytes)"),
        "{text}"
    );
}
