//! Routes are looked up and listed as in ip(8).

use std::net::IpAddr;

use crate::witness::{assert_invalid, ip_json, refused_with};
use netlink::transport::FakeKernel;
use netlink::{
    DsField, Family, IfName, Link, Netlink, Object as _, Route, RouteQuery, RouteType, Veth,
};
use rustix::io::Errno;
use serde_json::json;
use tapline_lab::Net;

#[test]
fn a_look_up_answers_as_ip_route_get() {
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    let link = host.interface();
    for line in [
        "192.0.2.0/24 via 10.1.0.2 src 10.1.0.1",
        "2001:db8::/32 via fd00:1::2",
        "blackhole 198.51.100.0/24",
        "default via 10.1.0.9 table 99",
    ] {
        host.ip(&format!("route add {line}"));
    }
    host.ip("rule add fwmark 7 lookup 99");
    let address = |text: &str| RouteQuery::address(text.parse::<IpAddr>().expect("an address"));
    let questions = [
        ("192.0.2.9", address("192.0.2.9")),
        ("2001:db8::9", address("2001:db8::9")),
        ("192.0.2.9 mark 7", address("192.0.2.9").mark(7)),
        ("192.0.2.9 oif left0", address("192.0.2.9").oif(link.index)),
        (
            "192.0.2.9 from 10.1.0.1 tos 4",
            address("192.0.2.9").src(link.v4.into()).tos(DsField(4)),
        ),
        ("10.1.0.1", address("10.1.0.1")),
        ("fibmatch 192.0.2.9", address("192.0.2.9").fibmatch(true)),
        (
            "192.0.2.9 ipproto tcp sport 5 dport 80",
            address("192.0.2.9").ipproto(6).sport(5).dport(80),
        ),
    ];
    for (line, query) in questions {
        let found = netlink.lookup(&query).expect(line);
        let words: Vec<_> = ["route", "get"]
            .into_iter()
            .chain(line.split(' '))
            .collect();
        let shown = &ip_json(&host, &words)[0];
        let told = json!({
            "dst": found.dst, "gateway": found.gateway, "prefsrc": found.prefsrc,
            "type": found.kind, "mark": found.mark,
            "dev": host.netlink().link(found.dev.expect("a link")).expect("it").ifname(),
        });
        for (key, value) in told.as_object().expect("an object") {
            assert_eq!(shown[key], *value, "{line}: {key}");
        }
    }
    let refused = refused_with(netlink.lookup(&address("198.51.100.1")), Errno::INVAL);
    assert_eq!(refused.to_string(), "cannot get route 198.51.100.1");
    let mixed = address("192.0.2.9").src(link.v6.into());
    assert_invalid(netlink.lookup(&mixed));
}

/// Routes in both families, and what follows or precedes their prefixes; `{g}` begins a gateway.
const ROUTES: [(&str, &str, &str); 11] = [
    ("192.0.2.0/24", "2001:db8:2::/48", "via {g}2"),
    ("192.0.2.128/25", "2001:db8:2:8::/64", "via {g}3 metric 50"),
    ("192.0.2.128/25", "2001:db8:2:8::/64", "via {g}4 metric 10"),
    ("192.0.2.200", "2001:db8:2:8::200", "via {g}5"),
    ("198.51.100.0/24", "2001:db8:100::/48", "BLACKHOLE"),
    ("198.51.101.0/24", "2001:db8:101::/48", "UNREACHABLE"),
    ("198.51.102.0/24", "2001:db8:102::/48", "PROHIBIT"),
    ("198.51.103.0/24", "2001:db8:103::/48", "THROW"),
    ("198.51.104.0/24", "2001:db8:104::/48", "via {g}6"),
    ("198.51.104.128/25", "2001:db8:104:8::/64", "BLACKHOLE"),
    ("198.51.104.200", "2001:db8:104:8::200", "via {g}7"),
];

/// Destinations of lookups.
const DESTINATIONS: [&str; 24] = [
    "192.0.2.1",
    "192.0.2.129",
    "192.0.2.200",
    "198.51.100.1",
    "198.51.101.1",
    "198.51.102.1",
    "198.51.103.1",
    "198.51.104.1",
    "198.51.104.129",
    "198.51.104.200",
    "203.0.113.1",
    "10.1.0.9",
    "2001:db8:2::1",
    "2001:db8:2:8::1",
    "2001:db8:2:8::200",
    "2001:db8:100::1",
    "2001:db8:101::1",
    "2001:db8:102::1",
    "2001:db8:103::1",
    "2001:db8:104::1",
    "2001:db8:104:8::1",
    "2001:db8:104:8::200",
    "2001:db8:ffff::1",
    "fd00:1::9",
];

#[test]
fn a_fake_kernel_looks_routes_up_as_the_kernel_does() {
    let [host, _there] = Net::new().pair();
    for (v4, v6, rest) in ROUTES {
        for (prefix, gateway) in [(v4, "10.1.0."), (v6, "fd00:1::")] {
            host.ip(&match rest.replace("{g}", gateway) {
                way if way.starts_with("via") => format!("route add {prefix} {way}"),
                kind => format!("route add {} {prefix}", kind.to_lowercase()),
            });
        }
    }
    host.ip("route add 192.0.2.0/26 tos 0x10 via 10.1.0.8");
    let mut netlink = host.netlink();
    let fake = FakeKernel::new();
    // What the kernel has, with the routes that it added itself.
    let mut copy = fake.netlink().expect("a socket");
    for link in netlink.links().expect("links").items {
        let same = Link::at(link.ifindex()).name(link.ifname());
        copy.add(&same).expect("a copy");
    }
    for route in netlink.list(&Route::new()).expect("routes").items {
        copy.append(&route.settable()).expect("a copy");
    }
    let link = host.interface().index;
    let address = |text: &str| RouteQuery::address(text.parse::<IpAddr>().expect("an address"));
    let mut queries: Vec<_> = DESTINATIONS.map(address).into();
    queries.extend(DESTINATIONS.map(|to| address(to).fibmatch(true)));
    queries.extend(DESTINATIONS[..2].iter().map(|to| address(to).oif(link)));
    queries.extend(["192.0.2.1", "192.0.2.65"].map(|to| address(to).tos(DsField(0x10))));
    compare_lookups(&mut netlink, &mut copy, &queries);
    for (family, gateway) in [("-4", "10.1.0.9"), ("-6", "fd00:1::9")] {
        host.ip(&format!(
            "{family} route add default via {gateway} metric 7"
        ));
    }
    let defaults = netlink.list(&Route::new().metric(7)).expect("routes");
    assert_eq!(defaults.items.len(), 2);
    for route in defaults.items {
        copy.append(&route.settable()).expect("a copy");
    }
    compare_lookups(&mut netlink, &mut copy, &queries);
}

/// Both give the same answers, which are those of the kernel.
#[track_caller]
fn compare_lookups(kernel: &mut Netlink, fake: &mut Netlink, queries: &[RouteQuery]) {
    for query in queries {
        let [expected, found] = [&mut *kernel, &mut *fake].map(|netlink| {
            let found = netlink.lookup(query).map_err(|error| error.errno());
            found.map(|route| {
                let metric = route.metric.filter(|_| query.fibmatch == Some(true));
                let way = (route.dev, route.gateway);
                (route.dst, route.kind, route.table, way, metric)
            })
        });
        assert_eq!(found, expected, "{query:?}");
    }
}

#[test]
fn a_list_is_filtered() {
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    let name = |text| IfName::new(text).expect("a name");
    let other = netlink.create(
        &Link::named(name("v0"))
            .up(true)
            .kind(Veth::to(Link::named(name("v1")))),
    );
    let other = other.expect("a veth").ifindex();
    for line in [
        "192.0.2.0/24 via 10.1.0.2 table 77",
        "192.0.3.0/24 dev v0 table 77 proto bgp",
        "blackhole 192.0.4.0/24 table 77",
        "2001:db8::/32 dev v0 table 77",
        "192.0.5.0/24 dev v0 table 78",
    ] {
        host.ip(&format!("route add {line}"));
    }
    let table = |number: u32| Route::new().table(number.into());
    let mut count = |filter: &Route| netlink.list(filter).expect("routes").items.len();
    assert_eq!(count(&table(77)), 4);
    assert_eq!(count(&table(77).family(Family::V6)), 1);
    assert_eq!(count(&table(77).family(Family::V4)), 3);
    assert_eq!(count(&table(77).protocol(netlink::RouteProtocol::Bgp)), 1);
    assert_eq!(count(&table(77).kind(RouteType::Blackhole)), 1);
    assert_eq!(count(&table(77).dev(other)), 2);
    assert_eq!(count(&Route::new().dev(other).family(Family::V4)), 2);
    assert_eq!(
        count(&table(77).dst("192.0.3.0/24".parse().expect("a network"))),
        1
    );
    assert_eq!(count(&table(79)), 0);
    assert_eq!(count(&table(79).family(Family::V4)), 0);
    assert_eq!(count(&table(79).family(Family::V6)), 0);

    // Whatever the kernel chooses by, or takes for no choice, it is what all of them say.
    let all = netlink.list(&Route::new()).expect("routes").items;
    for family in [None, Some(Family::V4), Some(Family::V6)] {
        for table in [None, Some(0), Some(77), Some(254)] {
            // The kernel's own routes, and those of BGP; unicast ones, and black holes.
            for protocol in [None, Some(0), Some(2), Some(186)] {
                for kind in [None, Some(0), Some(1), Some(6)] {
                    let mut filter = Route::new();
                    filter.family = family;
                    filter.table = table.map(u32::into);
                    filter.protocol = protocol.map(u8::into);
                    filter.kind = kind.map(u8::into);
                    let chosen: Vec<_> = all.iter().filter(|it| it.matches(&filter)).collect();
                    let listed = netlink.list(&filter).expect("routes").items;
                    let listed: Vec<_> = listed.iter().collect();
                    assert_eq!(listed, chosen, "{filter:?}");
                }
            }
        }
    }
}
