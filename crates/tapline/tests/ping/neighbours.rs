//! Which targets are on-link hosts that need neighbour resolution, compared with the kernel.

use crate::support::ping;
use std::time::Duration;

use crate::support::ping::{BACKENDS, add_address, options, run};
use lab::{Host, Net};
use netlink::{Neigh, NeighState, RouteQuery, RouteType};
use tapline::ping::NeighbourPace;

/// Two hosts on two links. The left one needs neighbour resolution on the first link, except for the other host.
fn asking_pair() -> [Host; 2] {
    let net = Net::new();
    let [mut left, mut right] = ["left", "right"].map(Host::new);
    net.join(&mut left, &mut right);
    net.join(&mut left, &mut right);
    left.ip("link set left0 arp on");
    let mac = right.interface().mac;
    for address in ["10.1.0.2", "fd00:1::2"] {
        left.ip(&format!(
            "neighbour replace {address} lladdr {mac} dev left0"
        ));
    }
    [left, right]
}

/// Number of these targets that count as on-link: each after the first waits a millisecond.
#[track_caller]
fn asked_for(host: &Host, words: &str) -> u64 {
    let mut options = options(BACKENDS[0], 1);
    options.neighbours = NeighbourPace {
        most: 1,
        time_ns: 1_000_000,
    };
    let targets = ping::targets(words);
    let forecast = host.run(|| tapline::ping::forecast_with_limits(&targets, &options));
    let limits_ns = forecast.expect("a forecast").limits_ns;
    if limits_ns == 0 {
        return 0;
    }
    limits_ns / 1_000_000 + 1
}

/// Number of these targets that the kernel would send to through `left0` without a gateway.
fn on_link_by_kernel(host: &Host, words: &str) -> u64 {
    let targets = ping::targets(words);
    let mut netlink = host.netlink();
    let link = host.interface().index;
    let all = (0..targets.len()).filter(|target| {
        let query = RouteQuery::address(targets.address(*target).expect("an address"));
        netlink.lookup(&query).is_ok_and(|route| {
            let kind = route.kind == Some(RouteType::Unicast);
            kind && route.dev == Some(link) && route.gateway.is_none()
        })
    });
    all.count() as u64
}

#[test]
fn hosts_that_a_route_without_a_gateway_leads_to_are_asked_for() {
    let [left, _right] = asking_pair();
    left.ip("route add 10.98.0.0/19 dev left0");
    left.ip("-6 route add fd98::/112 dev left0");
    add_address(&left, "10.97.0.1", 20, "left0");
    add_address(&left, "fd97::1", 116, "left0");
    assert_eq!(asked_for(&left, "10.98.0.0/20"), 4094);
    assert_eq!(asked_for(&left, "fd98::/116"), 4096);
    // As those of an own address's prefix, but for that and the broadcast.
    assert_eq!(asked_for(&left, "10.97.0.0/20"), 4093);
    assert_eq!(asked_for(&left, "fd97::/116"), 4095);
    assert_eq!(asked_for(&left, "10.97.15.0-10.97.16.10"), 255);
    assert_eq!(asked_for(&left, "10.98.31.0-10.98.32.255"), 256);
    assert_eq!(asked_for(&left, "fd98::ff00-fd98::1:ff"), 256);
    assert_eq!(asked_for(&left, "10.98.0.0/24 fd98::/120"), 254 + 256);
}

#[test]
fn no_neighbour_is_resolved_on_a_link_without_resolution() {
    let [left, _right] = Net::new().pair();
    for (words, asked) in [
        ("route add 10.98.0.0/19 dev left0", "10.98.0.0/20"),
        ("-6 route add fd98::/112 dev left0", "fd98::/116"),
        ("address add 10.97.0.1/20 dev left0", "10.97.0.0/20"),
        ("route add 10.96.0.0/20 dev lo", "10.96.0.0/20"),
        ("-6 route add fd96::/112 dev lo", "fd96::/116"),
    ] {
        left.ip(words);
        assert_eq!(asked_for(&left, asked), 0, "{words}");
    }
    left.ip("link set left0 arp on");
    let all = "10.98.0.0/20 fd98::/116 10.97.0.0/20 10.96.0.0/20 fd96::/116";
    assert_eq!(asked_for(&left, all), 4094 + 4096 + 4093);
}

/// Routes around and within 10.98.0.0/20 and fd98::/116, added in order, and how many on-link hosts each adds.
const STEPS: [[(&str, i64); 2]; 15] = [
    [
        ("route add 10.98.0.0/19 dev left0", 4094),
        ("route add fd98::/112 dev left0", 4096),
    ],
    [
        ("route add 10.98.4.0/24 via 10.1.0.2", -256),
        ("route add fd98::400/120 via fd00:1::2", -256),
    ],
    [
        ("route add 10.98.4.128/26 dev left0", 64),
        ("route add fd98::480/122 dev left0", 64),
    ],
    [
        ("route add blackhole 10.98.8.0/24", -256),
        ("route add blackhole fd98::800/120", -256),
    ],
    [
        ("route add throw 10.98.10.0/24", -256),
        ("route add throw fd98::a00/120", -256),
    ],
    // It has no ARP.
    [
        ("route add 10.98.5.0/24 dev left1", -256),
        ("route add fd98::500/120 dev left1", -256),
    ],
    [
        ("route add 10.98.6.0/24 dev lo", -256),
        ("route add fd98::600/120 dev lo", -256),
    ],
    [
        ("route add 10.98.2.0/24 dev left0 metric 9", 0),
        ("route add fd98::200/120 dev left0 metric 9", 0),
    ],
    [
        ("route add 10.98.2.0/24 via 10.1.0.2 metric 5", -256),
        ("route add fd98::200/120 via fd00:1::2 metric 5", -256),
    ],
    [
        ("route add 10.98.3.0/24 via 10.1.0.2 metric 9", -256),
        ("route add fd98::300/120 via fd00:1::2 metric 9", -256),
    ],
    [
        ("route add 10.98.3.0/24 dev left0 metric 5", 256),
        ("route add fd98::300/120 dev left0 metric 5", 256),
    ],
    // For other packets than the run's.
    [
        ("route add 10.98.9.0/24 via 10.1.0.2 tos 0x10", 0),
        ("route add fd98::900/120 from fd77::/64 via fd00:1::2", 0),
    ],
    // The last hosts.
    [
        ("route add 10.98.15.128/25 via 10.1.0.2", -127),
        ("route add fd98::f80/121 via fd00:1::2", -128),
    ],
    [
        ("route add 10.98.0.0/16 via 10.1.0.2", 0),
        ("route add fd98::/64 via fd00:1::2", 0),
    ],
    [
        ("route add default via 10.1.0.2", 0),
        ("route add default via fd00:1::2", 0),
    ],
];

#[test]
fn the_longest_route_to_a_host_decides_as_in_the_kernel() {
    let [left, _right] = asking_pair();
    let mut expected = [0; 2];
    for step in STEPS {
        let families = [("-4", "10.98.0.0/20"), ("-6", "fd98::/116")];
        for (at, (family, range)) in families.into_iter().enumerate() {
            let (words, more) = step[at];
            left.ip(&format!("{family} {words}"));
            expected[at] += more;
            let asked = [asked_for, on_link_by_kernel].map(|count| count(&left, range));
            assert_eq!(asked, [expected[at].cast_unsigned(); 2], "{words}");
        }
    }
}

#[test]
fn nobody_asks_for_an_address_of_the_host_itself() {
    let [left, _right] = asking_pair();
    left.ip("route add 10.98.0.0/19 dev left0");
    left.ip("-6 route add fd98::/112 dev left0");
    let mut own = 0;
    for dev in ["left0", "left1", "lo"] {
        own += 1;
        for (range, hosts, near, len) in [
            ("10.98.0.0/20", 4094, "10.98.0.", 32),
            ("fd98::/116", 4096, "fd98::", 128),
        ] {
            add_address(&left, &format!("{near}{own}"), len, dev);
            let asked = [asked_for, on_link_by_kernel].map(|count| count(&left, range));
            assert_eq!(asked, [hosts - own; 2], "{range}, {dev}");
        }
    }
}

#[test]
fn a_whole_family_may_be_on_a_link() {
    let [left, _right] = asking_pair();
    let ranges = [
        "10.200.0.0/20 224.1.0.0/24 255.255.255.0-255.255.255.254",
        "::/120 fd55::/116 feff::/120 ff0e::/120",
    ];
    let both = ranges.join(" ");
    assert_eq!(asked_for(&left, &both), 0);
    // Without the groups, and without ::1, which is the host's own.
    let all = [4094 + 255, 255 + 4096 + 256];
    for (words, expected) in [
        ("route add default dev left0", [all[0], 0]),
        ("-6 route add default dev left0", all),
        ("route del default dev left0", [0, all[1]]),
    ] {
        left.ip(words);
        for count in [asked_for, on_link_by_kernel] {
            let counts = ranges.map(|words| count(&left, words));
            assert_eq!(counts, expected, "{words}");
        }
        let sum: u64 = expected.iter().sum();
        assert_eq!(asked_for(&left, &both), sum, "{words}");
    }
}

#[test]
fn several_next_hops_are_on_links_when_none_is_a_gateway() {
    let [left, _right] = asking_pair();
    for words in [
        "nexthop add id 1 dev left0",
        "nexthop add id 2 via 10.1.0.2 dev left0",
        "nexthop add id 3 group 1/2",
        "-6 nexthop add id 4 dev left0",
        "-6 nexthop add id 5 via fd00:1::2 dev left0",
    ] {
        left.ip(words);
    }
    let hops = |gateway: &str| format!("nexthop dev left0 nexthop {gateway}dev left0 weight 2");
    for (range, way, is_on_link) in [
        ("10.98.0.0/20", &*hops(""), true),
        ("10.98.16.0/20", &hops("via 10.1.0.2 "), false),
        ("10.98.32.0/20", "nhid 1", true),
        ("10.98.48.0/20", "nhid 2", false),
        ("10.98.64.0/20", "nhid 3", false),
        ("fd98::/116", "nhid 4", true),
        ("fd98::1000/116", "nhid 5", false),
        ("10.98.80.0/20", "via inet6 fd00:1::2 dev left0", false),
    ] {
        left.ip(&format!("route add {range} {way}"));
        let asked = asked_for(&left, range);
        assert_eq!(asked > 4000, is_on_link, "{range} {way}: {asked}");
        assert!(is_on_link || asked == 0, "{range} {way}: {asked}");
    }
}

/// Neighbours that the host is resolving or has failed to resolve, as listed by the kernel.
fn neighbours_asked_for(host: &Host) -> u64 {
    let listing = host.netlink().list(&Neigh::new()).expect("neighbours");
    let is_asked = |neigh: &Neigh| {
        let is_absent = matches!(
            neigh.state,
            Some(NeighState::Incomplete | NeighState::Failed)
        );
        is_absent && neigh.dst.is_some_and(|ip| !ip.is_multicast())
    };
    listing.items.iter().filter(|neigh| is_asked(neigh)).count() as u64
}

/// Sent all at once, packets would overflow the kernel's neighbour table and be dropped.
#[test]
fn absent_hosts_behind_a_route_leave_room_in_the_kernels_table() {
    let [left, _right] = asking_pair();
    left.ip("route add 10.98.0.0/19 dev left0");
    left.ip("-6 route add fd98::/112 dev left0");
    let mut options = options(BACKENDS[0], 1);
    options.rate_pps = None;
    options.duration = Some(Duration::from_secs(1));
    options.timeout = Duration::from_millis(100);

    let summary = run(&left, &options, "10.98.0.0/21 fd98::/117");
    let total = summary.statistics.total();
    let drops: Vec<_> = summary.local_drops.iter().collect();
    assert_eq!(total.local_drops, 0, "{drops:?}");
    let NeighbourPace { most, time_ns } = options.neighbours;
    let more = summary.duration.as_nanos() as u64 / (time_ns / u64::from(most)) + 1;
    let most = u64::from(most);
    assert!((most..=most + more).contains(&total.sent), "{total:?}");
    assert_eq!(neighbours_asked_for(&left), total.sent);
}
