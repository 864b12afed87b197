//! Routes: made by us and by ip(8) alike, told and shown alike, and what is refused.

mod ip_json;
mod names;

use std::net::IpAddr;

use ip_json::ip_json;
use names::{Names, ip, split};
use netlink::table::Words;
use netlink::{
    Cause, Detail, Family, IfName, Link, Object as _, Prefix, Route, RouteQuery, RouteTable,
    RouteType, Veth,
};
use serde_json::{Value, json};
use tapline_lab::{Host, Net};

/// The words behind `ip route add` of routes that can be there together; table 77 holds nothing else.
const ROUTES: [&str; 24] = [
    "192.0.2.0/24 via 10.1.0.2 table 77",
    "default via 10.1.0.2 dev left0 proto static metric 5 table 77",
    "default via fd00:1::2 dev left0 proto static metric 5 table 77",
    "198.51.100.7 dev left0 table 77",
    "198.51.100.0/25 dev left0 scope host src 10.1.0.1 table 77",
    "198.51.100.128/25 via 10.1.0.2 tos 0x10 table 77",
    "203.0.113.0/26 via inet6 fd00:1::2 dev left0 table 77",
    "203.0.113.64/26 via 10.99.0.1 dev left0 onlink table 77",
    "blackhole 203.0.113.128/26 table 77",
    "unreachable 203.0.113.192/27 metric 9 table 77",
    "prohibit 203.0.113.224/28 table 77",
    "throw 203.0.113.240/28 proto bgp table 77",
    "local 192.0.0.8 dev lo table 77",
    "100.64.0.0/16 via 10.1.0.2 mtu lock 1300 advmss 1200 window 4000 rtt 300ms rttvar 50ms table 77",
    "100.65.0.0/16 via 10.1.0.2 cwnd lock 5 initcwnd 20 initrwnd 30 quickack 1 features ecn table 77",
    "100.66.0.0/16 via 10.1.0.2 ssthresh 7 reordering 4 rto_min 40ms congctl reno table 77",
    "100.67.0.0/16 table 77 nexthop via 10.1.0.2 weight 2 nexthop via 10.1.0.3 dev left0",
    "100.68.0.0/16 table 77 nexthop via inet6 fd00:1::2 dev left0 nexthop via 10.1.0.7 onlink dev left0",
    "2001:db8:1::/48 via fd00:1::2 metric 77 pref high table 77",
    "2001:db8:2::/48 table 77 nexthop via fd00:1::2 weight 9 nexthop via fd00:1::3 dev left0",
    "2001:db8:3::1 dev left0 mtu 1400 hoplimit 9 pref low table 77",
    "unreachable 2001:db8:4::/48 table 77",
    "2001:db8:5::/48 from 2001:db8:6::/64 via fd00:1::2 table 77",
    "192.0.2.0/24 via 10.1.0.2 table 70000",
];

fn names(host: &Host) -> Names {
    Names(host.netlink())
}

fn read(host: &Host, line: &str) -> Route {
    let (words, mut names) = (split(line), names(host));
    let route = Route::read_words(&mut Words::new(&words, &mut names), None);
    route.unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// What `ip` shows of the routes of a table, in both families.
fn shown(host: &Host, table: &str) -> Vec<Value> {
    let of = |family: &str| {
        let shown = ip_json(host, &[family, "route", "show", "table", table]);
        shown.as_array().expect("a list").clone()
    };
    [of("-4"), of("-6")].concat()
}

/// The table as we list it, IPv4 first.
fn listed(host: &Host, table: RouteTable) -> Vec<Route> {
    let listing = host.netlink().list(&Route::new().table(table));
    let listing = listing.expect("routes");
    assert!(!listing.interrupted);
    listing.items
}

/// Our JSON in the words of `ip -details -json`: names for links, and without what those lack.
fn as_ip_shows(host: &Host, route: &Route) -> Value {
    let mut value = serde_json::to_value(route).expect("JSON");
    let object = value.as_object_mut().expect("an object");
    for key in ["family", "onlink", "table"] {
        object.remove(key);
    }
    if route.dst.is_some_and(Prefix::is_everything) {
        object.insert("dst".into(), "default".into());
    }
    if let Some(tos) = route.tos {
        object.insert("tos".into(), format!("{tos:#04x}").into());
    }
    let hops = object.remove("nexthops");
    name_link(host, &mut value);
    if let Some(Value::Array(mut hops)) = hops {
        for hop in &mut hops {
            hop.as_object_mut().expect("an object").remove("onlink");
            name_link(host, hop);
        }
        value["nexthops"] = hops.into();
    }
    if let Some(Value::Array(metrics)) = value.get_mut("metrics") {
        let metrics = metrics[0].as_object_mut().expect("an object");
        metrics.remove("lock");
        // Each feature is a key without a value there.
        if let Some(Value::Array(features)) = metrics.remove("features") {
            let features = features.iter().filter_map(Value::as_str);
            metrics.extend(features.map(|name| (name.to_owned(), Value::Null)));
        }
    }
    value
}

fn name_link(host: &Host, value: &mut Value) {
    if let Some(index) = value.get("dev").and_then(Value::as_u64) {
        let link = host.netlink().link(netlink::IfIndex(index as u32));
        value["dev"] = link.expect("the link").ifname().to_string().into();
    }
}

#[test]
fn routes_are_made_as_ip_makes_them() {
    let [ours, _there] = Net::new().pair();
    let [theirs, _there_too] = Net::new().pair();
    for line in ROUTES {
        let route = read(&ours, line);
        let made = ours.netlink().add(&route);
        made.unwrap_or_else(|error| panic!("{line}: {error}: {error:?}"));
        ip(&theirs, &format!("route add {line}"));
    }
    assert_eq!(shown(&ours, "77"), shown(&theirs, "77"));
    let far = ["-4", "route", "show", "table", "70000"];
    assert_eq!(ip_json(&ours, &far), ip_json(&theirs, &far));
    assert_eq!(shown(&ours, "77").len(), ROUTES.len() - 1);
}

#[test]
fn routes_are_told_and_shown_as_ip_does() {
    let [host, _there] = Net::new().pair();
    for line in ROUTES {
        ip(&host, &format!("route add {line}"));
    }
    let routes = listed(&host, 77.into());
    let ours: Vec<_> = routes.iter().map(|it| as_ip_shows(&host, it)).collect();
    assert_eq!(ours, shown(&host, "77"));
    let lines = |family: Family| {
        let of_family = routes.iter().filter(|it| it.family == Some(family));
        let lines = of_family.map(|it| {
            let mut without_table = it.clone();
            without_table.table = None;
            without_table.line(Detail::All, &mut names(&host))
        });
        lines.flat_map(|line| split(&line)).collect::<Vec<_>>()
    };
    for (family, flag) in [(Family::V4, "-4"), (Family::V6, "-6")] {
        let theirs = ip(&host, &format!("-details {flag} route show table 77"));
        assert_eq!(lines(family), split(&theirs));
    }
    for line in ROUTES.iter().filter(|line| line.contains("table 77")) {
        let wanted = read(&host, line);
        let found = routes
            .iter()
            .filter(|it| netlink::Object::matches(*it, &wanted))
            .count();
        assert_eq!(found, 1, "{line}: {wanted:?}");
    }
}

#[test]
fn what_is_told_can_be_said_again_and_removed() {
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    for line in ROUTES {
        netlink.add(&read(&host, line)).expect(line);
    }
    let before = shown(&host, "77");
    for route in listed(&host, 77.into()) {
        let text = serde_json::to_string(&route).expect("JSON");
        assert_eq!(serde_json::from_str::<Route>(&text).expect("JSON"), route);
        netlink
            .del(&route)
            .unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let gone = netlink.get(&route).expect_err("it is gone");
        assert!(matches!(gone.cause, Cause::Absent), "{gone}");
        netlink
            .add(&route)
            .unwrap_or_else(|error| panic!("{text}: {error:?}"));
    }
    let order = |mut shown: Vec<Value>| {
        shown.sort_by_key(ToString::to_string);
        shown
    };
    assert_eq!(order(shown(&host, "77")), order(before));
    for line in ROUTES {
        netlink.del(&read(&host, line)).expect(line);
    }
    assert_eq!(shown(&host, "77"), [] as [Value; 0]);
}

/// Both ends of a tunnel header, and segment routing; kernels that tests run on have no MPLS.
#[test]
fn encapsulations_are_made_and_told() {
    let [host, _there] = Net::new().pair();
    let [theirs, _there_too] = Net::new().pair();
    for line in [
        "10.9.0.0/16 encap ip id 5 dst 10.9.9.9 src 10.9.9.8 ttl 64 tos 4 dev left0 table 77",
        "10.10.0.0/16 encap ip6 id 6 dst fd00::9 hoplimit 64 dev left0 table 77",
        "fd05::/64 encap seg6 mode encap segs fd00::5,fd00::6 dev left0 table 77",
        "fd06::/64 encap seg6 mode inline segs fd00::7 dev left0 table 77",
        "fd07::/64 table 77 nexthop encap ip6 id 7 dst fd00::9 via fd00:1::2 nexthop via fd00:1::3",
    ] {
        let wanted = read(&host, line);
        host.netlink()
            .add(&wanted)
            .unwrap_or_else(|error| panic!("{line}: {error:?}"));
        let family = if line.starts_with('f') { "-6" } else { "-4" };
        ip(&theirs, &format!("{family} route add {line}"));
        let of = |host: &Host| ip(host, &format!("-details {family} route show table 77"));
        assert_eq!(of(&host), of(&theirs));
        let mut told = listed(&host, 77.into()).pop().expect("the route");
        told.table = None;
        let line = told.line(Detail::All, &mut names(&host));
        assert_eq!(split(&line), split(&of(&host)));
        let text = serde_json::to_string(&told).expect("JSON");
        assert_eq!(serde_json::from_str::<Route>(&text).expect("JSON"), told);
        host.netlink().del(&wanted).expect("removed");
        ip(&theirs, &format!("{family} route flush table 77"));
    }
}

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
        netlink.add(&read(&host, line)).expect(line);
    }
    ip(&host, "rule add fwmark 7 lookup 99");
    let address = |text: &str| RouteQuery::address(text.parse::<IpAddr>().expect("an address"));
    let questions = [
        ("192.0.2.9", address("192.0.2.9")),
        ("2001:db8::9", address("2001:db8::9")),
        ("192.0.2.9 mark 7", address("192.0.2.9").mark(7)),
        ("192.0.2.9 oif left0", address("192.0.2.9").oif(link.index)),
        (
            "192.0.2.9 from 10.1.0.1 tos 4",
            address("192.0.2.9").src(link.v4.into()).tos(4),
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
            "dev": names(&host).0.link(found.dev.expect("a link")).expect("it").ifname(),
        });
        for (key, value) in told.as_object().expect("an object") {
            assert_eq!(shown[key], *value, "{line}: {key}");
        }
    }
    let refused = netlink
        .lookup(&address("198.51.100.1"))
        .expect_err("a black hole");
    assert_eq!(
        refused.errno(),
        Some(rustix::io::Errno::INVAL.raw_os_error())
    );
    assert_eq!(refused.to_string(), "cannot get route 198.51.100.1");
    let mixed = address("192.0.2.9").src(link.v6.into());
    let unfit = netlink.lookup(&mixed).expect_err("two families");
    assert!(matches!(unfit.cause, Cause::Unfit(_)));
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
        netlink.add(&read(&host, line)).expect(line);
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
