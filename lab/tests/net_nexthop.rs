//! Nexthop objects and their groups: made by us and by ip(8) alike, told and shown alike.

mod ip_json;
mod names;

use ip_json::ip_json;
use names::{Names, ip, split};
use netlink::table::Words;
use netlink::{Cause, Detail, Event, Nexthop, Route, Watch};
use serde_json::Value;
use tapline_lab::{Host, Net};

/// The words behind `ip nexthop add`.
const NEXTHOPS: [&str; 11] = [
    "id 1 via 10.1.0.2 dev left0",
    "id 2 via 10.1.0.3 dev left0 proto bgp",
    "id 3 via 10.99.0.1 dev left0 onlink",
    "id 4 via fd00:1::2 dev left0",
    "id 5 blackhole",
    "id 6 dev left0",
    "id 7 via 10.1.0.9 fdb",
    "id 10 group 1/2,5",
    "id 11 group 1/2 type resilient buckets 32 idle_timer 60 unbalanced_timer 120",
    "id 12 encap ip id 9 dst 10.9.9.9 dev left0",
    "id 13 group 7 fdb",
];

fn names(host: &Host) -> Names {
    Names(host.netlink())
}

fn read(host: &Host, line: &str) -> Nexthop {
    let (words, mut names) = (split(line), names(host));
    let nexthop = Nexthop::read_words(&mut Words::new(&words, &mut names));
    nexthop.unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn listed(host: &Host) -> Vec<Nexthop> {
    let listing = host.netlink().list(&Nexthop::new());
    listing.expect("nexthops").items
}

#[test]
fn nexthops_are_made_told_and_removed() {
    let [ours, _there] = Net::new().pair();
    let [theirs, _there_too] = Net::new().pair();
    let mut netlink = ours.netlink();
    for line in NEXTHOPS {
        let wanted = read(&ours, line);
        let made = netlink.add(&wanted);
        made.unwrap_or_else(|error| panic!("{line}: {error}: {error:?}"));
        ip(&theirs, &format!("nexthop add {line}"));
        let told = netlink.get(&Nexthop::numbered(wanted.id.expect("a number")));
        let told = told.expect("it is there");
        assert!(netlink::Object::matches(&told, &wanted), "{line}: {told:?}");
    }
    let shown = |host: &Host| ip_json(host, &["nexthop", "show"]);
    assert_eq!(shown(&ours), shown(&theirs));
    let (told, lines) = (listed(&ours), ip(&ours, "-details nexthop show"));
    let ours_lines = told
        .iter()
        .map(|it| it.line(Detail::All, &mut names(&ours)));
    let ours_lines: Vec<_> = ours_lines.map(|line| split(&line)).collect();
    assert_eq!(ours_lines, lines.lines().map(split).collect::<Vec<_>>());
    for nexthop in told.iter().rev() {
        let text = serde_json::to_string(nexthop).expect("JSON");
        assert_eq!(
            serde_json::from_str::<Nexthop>(&text).expect("JSON"),
            *nexthop
        );
        netlink.del(nexthop).expect("it goes");
    }
    assert_eq!(listed(&ours), []);
}

#[test]
fn json_is_as_ip_has_it() {
    let [host, _there] = Net::new().pair();
    for line in NEXTHOPS {
        ip(&host, &format!("nexthop add {line}"));
    }
    let shown = ip_json(&host, &["nexthop", "show"]);
    for (nexthop, shown) in listed(&host).iter().zip(shown.as_array().expect("a list")) {
        let ours = serde_json::to_value(nexthop).expect("JSON");
        for key in [
            "id",
            "group",
            "type",
            "resilient_args",
            "gateway",
            "scope",
            "protocol",
            "flags",
        ] {
            // What is put around packets has keys of the same names there.
            if key == "id" && nexthop.encap.is_some() {
                continue;
            }
            let there = &shown[key];
            assert_eq!(
                ours.get(key).unwrap_or(&Value::Null),
                there,
                "{key}: {shown}"
            );
        }
    }
}

#[test]
fn a_change_reaches_the_routes() {
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    let mut watch = host.run(|| Watch::open(Nexthop::new())).expect("a watch");
    netlink
        .add(&read(&host, "id 1 via 10.1.0.2 dev left0"))
        .expect("a nexthop");
    let dst = "192.0.2.0/24".parse().expect("a network");
    netlink.add(&Route::to(dst).nhid(1)).expect("a route");
    netlink
        .replace(&read(&host, "id 1 via 10.1.0.3 dev left0"))
        .expect("changed");
    let route = netlink.get(&Route::to(dst)).expect("the route");
    assert_eq!(
        (route.nhid, route.gateway),
        (Some(1), Some([10, 1, 0, 3].into()))
    );
    assert_eq!(
        ip_json(&host, &["route", "show", "192.0.2.0/24"])[0]["gateway"],
        "10.1.0.3"
    );
    let mut next = || watch.next_event().expect("events").expect("an event");
    // Routes are told with what their nexthop says; said again, the number alone counts.
    netlink.del(&route).expect("it goes");
    netlink.add(&route).expect("it comes back");
    let Event::Added(first) = next() else {
        panic!("not added")
    };
    let Event::Changed { before, after } = next() else {
        panic!("not changed")
    };
    assert_eq!((before, after.gateway), (first, Some([10, 1, 0, 3].into())));
    netlink.del(&Nexthop::numbered(1)).expect("it goes");
    let gone = netlink.get(&Route::to(dst)).expect_err("with its routes");
    assert!(matches!(gone.cause, Cause::Absent));
}

#[test]
fn lists_are_chosen_by_the_kernel() {
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    for line in NEXTHOPS {
        netlink.add(&read(&host, line)).expect(line);
    }
    let ids = |filter: &Nexthop, netlink: &mut netlink::Netlink| {
        let items = netlink.list(filter).expect("nexthops").items;
        items.iter().filter_map(|it| it.id).collect::<Vec<_>>()
    };
    assert_eq!(
        ids(&Nexthop::new().groups(true), &mut netlink),
        [10, 11, 13]
    );
    let dev = Nexthop::new().dev(host.interface().index);
    assert_eq!(ids(&dev, &mut netlink), [1, 2, 3, 4, 6, 12]);
    assert_eq!(ids(&Nexthop::new().blackhole(true), &mut netlink), [5]);
}

#[test]
fn refusals_say_what_and_where() {
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    let mut refused = |line: &str| {
        let error = netlink.add(&read(&host, line)).expect_err(line);
        error.to_string()
    };
    assert_eq!(
        refused("id 1 via 172.16.0.1 dev left0"),
        "cannot add nexthop 1 (Nexthop has invalid gateway)"
    );
    assert_eq!(
        refused("id 10 group 8"),
        "cannot add nexthop 10 (Invalid nexthop id)"
    );
    assert_eq!(
        refused("id 10 group 8 type resilient buckets 0"),
        "cannot add nexthop 10 (Number of buckets needs to be non-0)"
    );
    let unfit = |nexthop: Nexthop| {
        let error = host.netlink().add(&nexthop).expect_err("unfit");
        match error.cause {
            Cause::Unfit(unfit) => unfit.reason,
            cause => panic!("{cause:?}"),
        }
    };
    let heavy = read(&host, "id 10 group 8,65537");
    assert_eq!(unfit(heavy), "the share of a member is 1 to 65536");
    let odd = read(&host, "id 10 group 8 buckets 4");
    assert_eq!(
        unfit(odd),
        "only a group of type resilient has buckets and timers"
    );
    let absent = host
        .netlink()
        .get(&Nexthop::numbered(99))
        .expect_err("none");
    assert_eq!(
        absent.errno(),
        Some(rustix::io::Errno::NOENT.raw_os_error())
    );
}
