//! Routes are looked up and listed as in ip(8).

use std::net::IpAddr;

use crate::witness::{assert_invalid, ip_json, refused_with};
use netlink::{DsField, Family, IfName, Link, Object as _, Route, RouteQuery, RouteType, Veth};
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
