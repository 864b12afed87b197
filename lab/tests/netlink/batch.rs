//! Each item of a batch has a result, compared with the state that iproute2 shows.

use crate::witness::ip_json;
use netlink::{
    Addr, BatchSummary, IfName, ItemResult, Lifetime, Link, LinkKind, Neigh, OnError, Prefix, Route,
};
use tapline_lab::Host;

/// More than go to the kernel at once.
const LINKS: usize = 300;

fn ifb(number: usize) -> Link {
    let name = IfName::new(format!("f{number}")).expect("a name");
    Link::named(name).kind(LinkKind::Ifb)
}

/// What the kernel does not take: the address of a group.
fn refused(number: usize) -> Link {
    ifb(number).address("01:00:00:00:00:01".parse().expect("an address"))
}

/// Of each kind of change and of several kinds of objects.
#[test]
fn what_was_there_before_is_there_again() {
    let host = Host::new("host");
    for line in [
        "link add f1 type ifb",
        "link add br0 type bridge",
        "link add va type veth peer name vb",
        "link set va up",
        "link set vb up",
        "addr add 10.0.0.1/24 dev va",
        "addr add 2001:db8::1/64 dev va nodad",
        "route add 192.0.2.0/24 via 10.0.0.8",
        "-6 route add 2001:db8:7::/48 via 2001:db8::8",
        "route add 198.51.100.0/24 via 10.0.0.8",
        "neigh add 10.0.0.7 lladdr 02:00:00:00:00:07 dev va",
        "rule add from 10.1.0.0/16 lookup 77 priority 900",
    ] {
        host.ip(line);
    }
    let state = || {
        let of = |line: &str| ip_json(&host, &line.split(' ').collect::<Vec<_>>());
        let mut links = of("link show");
        for link in links.as_array_mut().expect("links") {
            let facts =
                ["ifname", "master", "mtu", "ifalias", "flags"].map(|key| link[key].clone());
            *link = facts.to_vec().into();
        }
        let mut addresses = of("addr show dev va");
        let addresses = addresses[0]["addr_info"].take();
        [
            links,
            addresses,
            of("route show"),
            of("-6 route show"),
            of("rule show"),
        ]
    };
    let before = state();
    let mut netlink = host.netlink();
    let index = |name: &str, netlink: &mut netlink::Netlink| {
        netlink.link_named(name).expect("a link").ifindex()
    };
    let (va, br0) = (index("va", &mut netlink), index("br0", &mut netlink));
    let prefix = |text: &str| text.parse::<Prefix>().expect("a prefix");
    let via = |dst: &str, gateway: &str| {
        Route::to(prefix(dst)).gateway(gateway.parse().expect("an address"))
    };
    let mut batch = netlink.batch(OnError::Undo);
    batch
        .set(
            &Link::at(index_of(&host, "f1"))
                .master(br0)
                .alias("new".into())
                .mtu(1400),
        )
        .replace(&via("192.0.2.0/24", "10.0.0.9"))
        .replace(&via("2001:db8:7::/48", "2001:db8::9"))
        .del(&via("198.51.100.0/24", "10.0.0.8"))
        .replace(
            &Addr::on(va, prefix("10.0.0.1/24"))
                .valid_life_time(Lifetime(1000))
                .preferred_life_time(Lifetime(900)),
        )
        .del(&Neigh::on(va, [10, 0, 0, 7]))
        .add(&refused(1));
    let outcome = batch.finish();
    assert_eq!(failed(&outcome), [6]);
    assert!(outcome.not_undone.is_empty(), "{:?}", outcome.not_undone);
    let after = state();
    for (after, before) in after.iter().zip(&before) {
        assert_eq!(after, before);
    }

    // What cannot be made again as it was is said.
    let mut batch = netlink.batch(OnError::Undo);
    batch
        .del(&Link::named(IfName::new("va").expect("a name")))
        .add(&refused(1));
    let outcome = batch.finish();
    assert!(matches!(outcome.result(0), Some(ItemResult::NotUndone(_))));
}

fn index_of(host: &Host, name: &str) -> netlink::IfIndex {
    host.netlink().link_named(name).expect("a link").ifindex()
}

/// The numbers of the links that iproute2 shows.
fn shown(host: &Host) -> Vec<usize> {
    let shown = ip_json(host, &["link", "show", "type", "ifb"]);
    let names = shown.as_array().expect("links").iter();
    let numbers = names.filter_map(|link| link["ifname"].as_str()?.strip_prefix('f')?.parse().ok());
    let mut numbers: Vec<usize> = numbers.collect();
    numbers.sort_unstable();
    numbers
}

fn add_with_failures(host: &Host, on_error: OnError) -> BatchSummary {
    let mut netlink = host.netlink();
    let mut batch = netlink.batch(on_error);
    for number in 0..LINKS {
        match number {
            7 | 280 => batch.add(&refused(number)),
            // Without a name or an index nobody knows which.
            9 => batch.set(&Link::new().mtu(1400)),
            // An alternative name needs a message of its own.
            20 => batch.add(&ifb(20).alternative_names(vec!["another-name-of-20".into()])),
            _ => batch.add(&ifb(number)),
        };
    }
    batch.finish()
}

fn failed(outcome: &BatchSummary) -> Vec<usize> {
    outcome.failed.iter().map(|(item, _)| *item).collect()
}

#[test]
fn the_others_are_done_when_some_fail() {
    let host = Host::new("host");
    let outcome = add_with_failures(&host, OnError::Continue);
    assert_eq!(failed(&outcome), [7, 9, 280]);
    assert_eq!(outcome.item_count, LINKS);
    let error = outcome.failed[0].1.to_string();
    assert_eq!(error, "cannot add link f7");
    let done = (0..LINKS).filter(|item| matches!(outcome.result(*item), Some(ItemResult::Done)));
    assert_eq!(shown(&host), done.collect::<Vec<_>>());
    assert!(host.netlink().link_named("another-name-of-20").is_ok());
    assert!(outcome.result(LINKS).is_none());
}

#[test]
fn nothing_is_done_after_a_failure_if_it_is_to_stop() {
    let host = Host::new("host");
    let outcome = add_with_failures(&host, OnError::Stop);
    assert_eq!((failed(&outcome), outcome.not_run_from), (vec![7], Some(8)));
    assert_eq!(shown(&host), (0..7).collect::<Vec<_>>());
    assert!(matches!(outcome.result(8), Some(ItemResult::NotRun)));
}

#[test]
fn everything_is_taken_back_after_a_failure_if_it_is_to_be() {
    let host = Host::new("host");
    let mut netlink = host.netlink();
    for number in [1000, 1001] {
        netlink.add(&ifb(number).mtu(1300)).expect("there before");
    }
    let named = |number| IfName::new(format!("f{number}")).expect("a name");
    let before = ip_json(&host, &["link", "show", "type", "ifb"]);

    let mut batch = netlink.batch(OnError::Undo);
    batch
        .add(&ifb(1))
        .set(&Link::named(named(1000)).mtu(1200).up(true))
        .set(&Link::named(named(1)).mtu(1100))
        .add(&ifb(2))
        .add(&refused(3))
        .add(&ifb(4));
    let outcome = batch.finish();
    assert_eq!(failed(&outcome), [4]);
    assert!(outcome.undone && outcome.not_undone.is_empty());
    assert!(matches!(outcome.result(1), Some(ItemResult::Undone)));
    let after = ip_json(&host, &["link", "show", "type", "ifb"]);
    let facts = |shown: &serde_json::Value| {
        let links = shown.as_array().expect("links").iter();
        let facts = links.map(|link| {
            (
                link["ifname"].clone(),
                link["mtu"].clone(),
                link["flags"].clone(),
            )
        });
        facts.collect::<Vec<_>>()
    };
    assert_eq!(facts(&after), facts(&before));
}

/// A route to each destination is what as many additions are: one that cannot be said and one that is there already
/// fail, with their numbers.
#[test]
fn routes_to_each_destination_are_those_added_one_by_one() {
    let hosts = ["one", "other"].map(Host::new);
    for host in &hosts {
        host.ip("link add va up type veth peer name vb");
        host.ip("link set vb up");
        host.ip("addr add 10.0.0.1/24 dev va");
        host.ip("addr add 2001:db8::1/64 dev va nodad");
    }
    let prefix = |text: &str| -> Prefix { text.parse().expect("a prefix") };
    let mut destinations: Vec<Prefix> = (0..300)
        .map(|number| prefix(&format!("192.0.{}.{}", 2 + number / 256, number % 256)))
        .collect();
    destinations.splice(
        257..257,
        ["198.51.100.0/24", "default", "192.0.2.7", "2001:db8:7::/48"].map(prefix),
    );
    let by_gateway = |gateway: &str| {
        let gateway = gateway.parse().expect("an address");
        Route::new().gateway(gateway).metric(7)
    };
    for (on_error, failed, left) in [
        (OnError::Continue, vec![259, 260], 302),
        (OnError::Stop, vec![259], 259),
        (OnError::Undo, vec![259, 260], 0),
    ] {
        let like = by_gateway("10.0.0.8");
        let states = [0, 1].map(|which| {
            let mut netlink = hosts[which].netlink();
            let mut batch = netlink.batch(on_error);
            if which == 0 {
                batch.add_to_each(&like, destinations.iter().copied());
            } else {
                for dst in &destinations {
                    batch.add(&like.clone().dst(*dst));
                }
            }
            let outcome = batch.finish();
            let numbers: Vec<usize> = outcome.failed.iter().map(|it| it.0).collect();
            let errors: Vec<String> = (outcome.failed.iter().map(|it| it.1.to_string())).collect();
            let shown = ip_json(&hosts[which], &["route", "show", "metric", "7"]);
            hosts[which].ip("route flush metric 7");
            (outcome.item_count, numbers, errors, shown)
        });
        assert_eq!(states[0], states[1], "{on_error:?}");
        let (items, numbers, _, shown) = &states[0];
        assert_eq!(*items, destinations.len());
        assert_eq!(numbers, &failed, "{on_error:?}");
        assert_eq!(shown.as_array().map(Vec::len), Some(left), "{on_error:?}");
    }
    let to = ["2001:db8:7::/48", "2001:db8:8::/48", "2001:db8:9::/49"];
    let mut netlink = hosts[0].netlink();
    let mut batch = netlink.batch(OnError::Continue);
    batch.add_to_each(&by_gateway("2001:db8::8"), to.map(prefix));
    assert!(batch.finish().is_done());
    let shown = ip_json(&hosts[0], &["-6", "route", "show", "metric", "7"]);
    let shown = shown.as_array().expect("routes");
    let shown: Vec<_> = shown.iter().map(|route| &route["dst"]).collect();
    assert_eq!(shown, to);
}
