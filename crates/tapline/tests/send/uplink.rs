//! Interfaces that lead to the default route of a host are refused. More kinds of them are in the tests of `lab`.

use lab::{Host, Net};
use tapline::send::{Rate, SendError, SendQueue};

/// Runs ip(8) with each line; `DEV` is the interface of the host.
fn ip(host: &Host, lines: &[&str]) {
    let name = host.interface().name.to_string();
    for line in lines {
        host.ip(&line.replace("DEV", &name));
    }
}

/// Whether a job on `name` is refused for its default route.
#[track_caller]
fn is_refused(host: &Host, name: &str) -> bool {
    let name = name.replace("DEV", &host.interface().name.to_string());
    match host.run(|| tapline::send(&*name).open()) {
        Ok(sender) => {
            assert_eq!(sender.finish().unwrap().submitted, 0);
            false
        }
        Err(SendError::Uplink { link }) => link == name,
        Err(error) => panic!("{name}: {error}"),
    }
}

#[test]
fn the_route_may_be_in_any_table_of_either_family() {
    for (lines, refused) in [
        (&["route add default dev DEV table 77"][..], &["DEV"][..]),
        (&["-6 route add default dev DEV"], &["DEV"]),
        // Half of the addresses, as VPNs route them, and what is wider than the private ranges.
        (&["route add 128.0.0.0/1 dev DEV"], &["DEV"]),
        (&["-6 route add ::/1 dev DEV table 78"], &["DEV"]),
        (&["-6 route add 2000::/3 dev DEV"], &["DEV"]),
        (&["route add 8.0.0.0/7 dev DEV"], &["DEV"]),
        (&["-6 route add default dev DEV table 78"], &["DEV"]),
        (
            &[
                "link add other type bridge",
                "link set other up",
                "address add 192.0.2.1/24 dev DEV",
                "address add 198.51.100.1/24 dev other",
                "route add default nexthop via 192.0.2.2 nexthop via 198.51.100.2",
            ],
            &["DEV", "other"],
        ),
        (
            &[
                "link add up0 type bridge",
                "link set up0 up",
                "link set DEV master up0",
                "route add default dev up0",
            ],
            &["DEV", "up0"],
        ),
    ] {
        let [left, right] = Net::new().pair();
        ip(&left, lines);
        ip(&left, &["link add free type bridge", "link set free up"]);
        for name in refused {
            assert!(is_refused(&left, name), "{name} with {lines:?}");
        }
        assert!(!is_refused(&left, "free"), "{lines:?}");
        // The other end of a veth is another host.
        assert!(!is_refused(&right, "DEV"), "{lines:?}");
    }
}

/// The kernel reports such routes without their interfaces.
#[test]
fn the_route_may_use_nexthop_objects() {
    for route in ["default nhid 7", "0.0.0.0/1 nhid 9"] {
        let [left, _right] = Net::new().pair();
        left.set_sysctl("ipv4/nexthop_compat_mode", "0");
        ip(
            &left,
            &[
                "nexthop add id 7 via 10.1.0.2 dev DEV",
                "nexthop add id 8 via 10.1.0.3 dev DEV",
                "nexthop add id 9 group 7/8",
            ],
        );
        assert!(!is_refused(&left, "DEV"));
        ip(&left, &[&format!("route add {route}")]);
        assert!(is_refused(&left, "DEV"), "{route}");
    }
}

#[test]
fn other_routes_are_no_uplink() {
    let [left, _right] = Net::new().pair();
    ip(
        &left,
        &[
            "route add unreachable default",
            "route add 10.0.0.0/8 dev DEV",
            "route add 224.0.0.0/4 dev DEV",
            "-6 route add fc00::/7 dev DEV",
        ],
    );
    assert!(!is_refused(&left, "DEV"));
}

/// Both ends of a veth in one namespace know each other's index.
#[test]
fn the_peer_of_an_uplink_is_free() {
    let [left, _right] = Net::new().pair();
    ip(
        &left,
        &[
            "link add here type veth peer name there",
            "link set here up",
            "link set there up",
            "route add default dev here",
        ],
    );
    assert!(is_refused(&left, "here"));
    assert!(!is_refused(&left, "there"));
}

/// Changes that make an interface an uplink while a job sends on it.
const BECOMES_UPLINK: [&[&str]; 3] = [
    &["route add default dev DEV"],
    &["-6 route add 2000::/3 dev DEV"],
    &[
        "link add up0 type bridge",
        "link set up0 up",
        "route add 128.0.0.0/1 dev up0",
        "link set DEV master up0",
    ],
];

#[test]
fn a_job_ends_when_its_interface_becomes_an_uplink() {
    for lines in BECOMES_UPLINK {
        let [left, _right] = Net::new().pair();
        let name = left.interface().name.to_string();
        let mut queue = SendQueue::default();
        for _ in 0..50 {
            queue.push(0, &[0xff; 60]);
        }
        let rate = Rate::Packets(1000.try_into().expect("not zero"));
        let open = |allow| {
            let options = tapline::send(&*name).rate(rate).allow_uplink(allow);
            left.run(|| options.open()).expect("it is no uplink")
        };
        let (mut sender, mut permitted) = (open(false), open(true));
        // A route to a private range changes nothing.
        ip(&left, &["route add 10.0.0.0/8 dev DEV"]);
        for _ in 0..4 {
            assert!(sender.transmit(&queue).expect("it sends"), "{lines:?}");
        }
        ip(&left, lines);
        // 50 ms each.
        let mut results = (0..100).map(|_| sender.transmit(&queue));
        let ended = results.find_map(Result::err);
        assert!(
            matches!(&ended, Some(SendError::BecameUplink { link }) if *link == name),
            "{lines:?}: {ended:?}"
        );
        // Single packets too.
        let refused = sender.inject(&[0xff; 60]);
        assert!(matches!(refused, Err(SendError::BecameUplink { .. })));
        let summary = sender.finish().expect("a summary");
        assert_eq!(summary.submitted, summary.accepted, "{summary}");
        assert!(permitted.transmit(&queue).expect("it has consent"));
        assert_eq!(permitted.finish().expect("a summary").submitted, 50);
    }
}
