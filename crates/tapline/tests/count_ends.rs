//! How counts begin, tick and end.

mod count_support;

use std::net::UdpSocket;
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use count_support::{class, named, open, options, tally, until};
use lab::generator::{send_frames, udp_frame};
use lab::{Host, Net};
use tapline::count::{
    Class, Count, CountError, Direction, Ended, Event, Hook, Ingress, Layer, LinkState, Options,
    Reason, Tally, XdpPlace,
};
use tapline::{Stop, Stopper};

/// Runs a count in a thread of its own, and `drive` in this one; the sum of its intervals too.
fn run(
    mut count: Count,
    drive: impl FnOnce(&Stopper),
) -> (Vec<Tally>, u64, tapline::count::Outcome) {
    let stop = Stop::new().unwrap();
    let stopper = stop.stopper();
    thread::scope(|scope| {
        let running = scope.spawn(move || {
            let (mut sums, mut span_ns) = (vec![Tally::default(); count.classes().len()], 0);
            let outcome = count.run(&stop, |_, interval| {
                span_ns += interval.span_ns;
                for (sum, class) in sums.iter_mut().zip(&interval.classes) {
                    *sum += class.tally;
                }
                ControlFlow::Continue(())
            });
            (sums, span_ns, outcome.unwrap())
        });
        drive(&stopper);
        running.join().unwrap()
    })
}

#[test]
fn intervals_add_up_to_the_totals_and_their_spans_to_the_time() {
    let [left, right] = Net::new().pair();
    let options = Options {
        interval: Duration::from_millis(1),
        duration: Some(Duration::from_millis(120)),
        ..options(&right, Direction::In, &["udp port 9", "ip"])
    };
    let count = open(&right, options);
    let frame = udp_frame(100);
    let (sums, span_ns, outcome) = run(count, |_| {
        left.run(|| send_frames(left.interface().index, vec![&frame; 5000]).unwrap());
    });
    assert!(matches!(outcome.ended, Ended::Duration), "{outcome:?}");
    let totals: Vec<_> = outcome
        .totals
        .classes
        .iter()
        .map(|class| class.tally)
        .collect();
    assert_eq!(sums, totals);
    assert_eq!(span_ns, outcome.totals.since_start_ns);
    assert!(span_ns >= 120_000_000);
    assert_eq!(outcome.totals.classes[0].tally, tally(5000, 500_000));
}

#[test]
fn an_interface_that_is_removed_ends_the_count_with_all_its_figures() {
    let [left, right] = Net::new().pair();
    let mut count = open(&right, options(&right, Direction::Both, &["udp port 9"]));
    let frame = udp_frame(100);
    left.run(|| send_frames(left.interface().index, vec![&frame; 25]).unwrap());
    until(&mut count, |s| s.classes[0].tally.packets == 25);
    let name = right.interface().name.to_string();
    let (sums, _, outcome) = run(count, |_| {
        let mut delete = right.command("ip");
        let status = delete.args(["link", "delete", &name]).status().unwrap();
        assert!(status.success());
    });
    assert!(matches!(outcome.ended, Ended::LinkRemoved { link } if link == name));
    assert_eq!(sums, [tally(25, 2500)]);
    assert_eq!(outcome.totals.classes[0].tally, tally(25, 2500));
}

#[test]
fn an_interface_that_goes_down_is_told_and_ends_nothing() {
    let [left, right] = Net::new().pair();
    let options = Options {
        interval: Duration::from_hours(1),
        ..options(&right, Direction::Both, &["udp port 9"])
    };
    let mut count = open(&right, options);
    let (stop, name) = (Stop::new().unwrap(), right.interface().name.to_string());
    for (host, change, expected) in [
        (&right, "down", LinkState::Down),
        (&right, "up", LinkState::Up),
        (&left, "down", LinkState::NoCarrier),
    ] {
        let mut set = host.command("ip");
        let interface = host.interface().name.to_string();
        let status = set.args(["link", "set", &interface, change]).status();
        assert!(status.unwrap().success());
        match count.next(&stop) {
            Event::Link(link) => assert_eq!((&link.link, link.state), (&name, expected)),
            other => panic!("{other:?}"),
        }
    }
    let first = count.links().next().unwrap();
    let later = count.links().next().unwrap();
    assert!(first.down_ns > 0 && later.down_ns > first.down_ns);
    stop.stopper().stop();
    let ended = count.next(&stop);
    assert!(
        matches!(
            ended,
            Event::Ended {
                ended: Ended::Stopped,
                ..
            }
        ),
        "{ended:?}"
    );
}

#[test]
fn a_class_may_come_and_go_when_the_interface_is_gone() {
    let [_left, right] = Net::new().pair();
    let mut count = open(&right, options(&right, Direction::Both, &["udp port 9"]));
    let name = right.interface().name.to_string();
    let mut delete = right.command("ip");
    assert!(
        delete
            .args(["link", "delete", &name])
            .status()
            .unwrap()
            .success()
    );
    count.add_class(class("tcp")).unwrap();
    let last = count.remove_class("udp port 9").unwrap();
    assert_eq!(last.tally, tally(0, 0));
}

#[test]
fn a_stop_ends_a_count_in_the_middle_of_an_interval() {
    let [_left, right] = Net::new().pair();
    let options = Options {
        interval: Duration::from_hours(1),
        ..options(&right, Direction::In, &["udp port 9"])
    };
    let (sums, _, outcome) = run(open(&right, options), Stopper::stop);
    assert!(matches!(outcome.ended, Ended::Stopped));
    assert_eq!(sums, [tally(0, 0)]);
}

#[test]
fn a_loopback_is_counted_at_tc_and_says_why() {
    let host = Host::new("alone");
    let options = Options {
        links: vec!["lo".to_owned()],
        classes: vec![named("all", ""), class("udp port 7400")],
        ..Options::default()
    };
    let mut count = open(&host, options);
    let places: Vec<_> = count.places().collect();
    assert_eq!([places[0].hook, places[1].hook], [Hook::Tcx; 2]);
    assert!(matches!(places[0].reason, Some(Reason::XdpRefused(_))));
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
    let snapshot = until(&mut count, |s| s.classes[1].tally.packets == 18);
    assert_eq!(
        snapshot.classes[1].places,
        [tally(9, 9 * 50), tally(9, 9 * 50)]
    );
    assert_eq!(snapshot.classes[0].tally, snapshot.classes[1].tally);
}

#[test]
fn tags_that_xdp_does_not_see_are_asked_about_at_tc() {
    let [_left, right] = Net::new().pair();
    let count = open(&right, options(&right, Direction::In, &["vlan 7"]));
    let places: Vec<_> = count.places().collect();
    assert_eq!(places[0].hook, Hook::Tcx);
    assert!(matches!(places[0].reason, Some(Reason::VlanStripped)));
}

#[test]
fn xdp_is_taken_where_it_is_asked_for_or_refused() {
    let host = Host::new("alone");
    let of = |ingress, link: &str| Options {
        links: vec![link.to_owned()],
        direction: Direction::In,
        ingress,
        ..Options::default()
    };
    let native = host.run(|| Count::open(of(Ingress::Xdp(XdpPlace::Native), "lo")).err());
    assert!(matches!(native, Some(CountError::Xdp { link, .. }) if link == "lo"));
    let count = open(&host, of(Ingress::Xdp(XdpPlace::NativeOrGeneric), "lo"));
    let places: Vec<_> = count.places().collect();
    assert_eq!(places[0].hook, Hook::XdpGeneric);
    assert!(places[0].reason.is_some());
}

#[test]
fn what_is_asked_wrongly_is_told() {
    let host = Host::new("alone");
    let good = || Options {
        links: vec!["lo".to_owned()],
        classes: vec![class("udp")],
        ..Options::default()
    };
    let refused = |change: fn(&mut Options)| {
        let mut options = good();
        change(&mut options);
        let refused = host.run(|| Count::open(options).err());
        refused.map_or_else(String::new, |error| error.to_string())
    };
    let texts = [
        refused(|options| options.links.clear()),
        refused(|options| options.links.push("lo".to_owned())),
        refused(|options| options.links[0] = "nowhere0".to_owned()),
        refused(|options| options.classes.push(class("udp"))),
        refused(|options| {
            options.classes.push(Class {
                name: "x".into(),
                ..class("udp prot")
            });
        }),
        refused(|options| options.interval = Duration::from_micros(999)),
        refused(|options| (options.by, options.groups) = (Some(tapline::count::Key::Src), 0)),
        refused(|options| options.layer = Layer::Wire),
    ];
    let expected = [
        "no interface to count on",
        "interface lo is named twice",
        "cannot get link nowhere0",
        "class udp is named twice",
        "filter of class x is wrong for lo",
        "interval is shorter than 1 ms",
        "there is no room for any group",
        "",
    ];
    assert_eq!(texts, expected);
}
