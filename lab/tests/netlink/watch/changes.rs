//! A watch reports every link change in order. Compared with the changes that the test makes through iproute2, and the
//! kernel's list at the end.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::witness::{drain, wait_for_events};
use netlink::{Event, IfIndex, IfName, Link, Prefix, Route, RouteTable, Watch};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tapline_lab::{Host, Net};

/// The first event that `wanted` takes, by the deadline.
#[track_caller]
fn wait_for<T>(watch: &mut Watch<Link>, wanted: impl Fn(Event<Link>) -> Option<T>) -> T {
    loop {
        while let Some(event) = watch.try_next().expect("link events") {
            if let Some(found) = wanted(event) {
                return found;
            }
        }
        wait_for_events(watch, "no such event");
    }
}

fn added(event: Event<Link>) -> Option<IfName> {
    match event {
        Event::Added(link) => link.name,
        _ => None,
    }
}

#[test]
fn the_links_that_are_there_come_first() {
    let [left, _right] = Net::new().pair();
    let names: Vec<_> = drain(&mut left.watch())
        .into_iter()
        .filter_map(added)
        .collect();
    assert_eq!(
        names.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["lo", "left0"]
    );
}

#[test]
fn a_quiet_watch_has_nothing_and_does_not_block() {
    let [left, _right] = Net::new().pair();
    let mut watch = left.watch();
    drain(&mut watch);
    assert_eq!(watch.try_next().expect("no event"), None);
    let ready = poll(
        &mut [PollFd::new(&watch, PollFlags::IN)],
        Some(&Timespec::default()),
    );
    assert_eq!(ready, Ok(0));
}

#[test]
fn a_link_comes_changes_and_goes() {
    let host = Host::new("host");
    let mut watch = host.watch();
    drain(&mut watch);
    host.ip("link add one type veth peer name two");
    let mut names =
        [wait_for(&mut watch, added), wait_for(&mut watch, added)].map(|name| name.to_string());
    names.sort();
    assert_eq!(names, ["one", "two"]);

    host.ip("link set one mtu 1234 up");
    wait_for(&mut watch, |event| match event {
        Event::Changed { after: link, .. } => {
            (link.mtu == Some(1234) && link.up == Some(true) && link.ifname().to_string() == "one")
                .then_some(())
        }
        other => panic!("{other:?}"),
    });

    // Before Linux 6.2 only a link that is down can be renamed.
    host.ip("link set one down");
    host.ip("link set one name three");
    wait_for(&mut watch, |event| match event {
        Event::Changed { after: link, .. } => (link.ifname().to_string() == "three").then_some(()),
        other => panic!("{other:?}"),
    });

    host.ip("link del two");
    let removed = |event: Event<Link>| match event {
        Event::Removed(link) => Some(link.ifname().to_string()),
        _ => None,
    };
    let mut names = [wait_for(&mut watch, removed), wait_for(&mut watch, removed)];
    names.sort();
    assert_eq!(names, ["three", "two"]);
}

#[test]
fn a_link_that_is_moved_away_is_removed_here_and_added_there() {
    let (here, there) = (Host::new("here"), Host::new("there"));
    here.ip("link add one type veth peer name two");
    let mut leaves = here.watch();
    let mut comes = Watch::open_in(there.namespace(), Link::new()).expect("a watch");
    drain(&mut leaves);
    drain(&mut comes);
    let link = here.netlink().link_named("one").expect("the link");
    let change =
        Link::at(link.ifindex()).in_namespace(there.namespace().try_clone().expect("a descriptor"));
    here.netlink().set(&change).expect("moved");
    let left = wait_for(&mut leaves, |event| match event {
        Event::Removed(link) => link.name,
        _ => None,
    });
    assert_eq!(wait_for(&mut comes, added), left);
}

/// A bridge says in its own family that a port has left; the link stays.
#[test]
fn leaving_a_bridge_is_not_leaving_the_host() {
    let host = Host::new("host");
    host.ip("link add one type veth peer name two");
    host.ip("link add bridge type bridge");
    let mut watch = host.watch();
    drain(&mut watch);
    host.ip("link set one master bridge");
    host.ip("link set one nomaster");
    host.ip("link add last type bridge");
    let mut masters = Vec::new();
    let last = loop {
        let event = wait_for(&mut watch, Some);
        match event {
            Event::Changed { after: link, .. } if link.ifname().to_string() == "one" => {
                masters.push(link.master);
            }
            Event::Changed { .. } => {}
            Event::Added(link) => break link,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(last.ifname().to_string(), "last");
    assert!(masters.iter().any(Option::is_some), "{masters:?}");
    assert_eq!(masters.last(), Some(&None));
}

/// Follows events to the state they amount to.
fn replay(events: Vec<Event<Link>>) -> BTreeMap<IfIndex, Link> {
    let mut links = BTreeMap::new();
    for event in events {
        match event {
            Event::Added(link) | Event::Changed { after: link, .. } => {
                links.insert(link.ifindex(), link);
            }
            Event::Removed(link) => {
                links.remove(&link.ifindex());
            }
            Event::Overrun => {}
            other => panic!("{other:?}"),
        }
    }
    links
}

#[test]
fn an_overrun_is_reported_and_made_good() {
    let host = Host::new("host");
    let mut watch = host.watch();
    host.ip("link add goes type bridge");
    let mut netlink = host.netlink();
    let loopback = netlink.link_named("lo").expect("a loopback").ifindex();
    // More than fit the watch's buffer: it stays unread meanwhile.
    for number in 0..20_000 {
        let change = Link::at(loopback).mtu(2000 + number % 2);
        netlink.set(&change).expect("changed");
    }
    host.ip("link del goes");
    host.ip("link add comes type bridge");
    let events = drain(&mut watch);
    assert_eq!(
        events
            .iter()
            .filter(|event| **event == Event::Overrun)
            .count(),
        1
    );

    let known = replay(events);
    let there = netlink.links().expect("links").items;
    assert_eq!(known.into_values().collect::<Vec<_>>(), there);
}

#[test]
fn routes_come_and_go_as_ip_makes_them() {
    let [left, right] = Net::new().pair();
    let filter = Route::new().table(RouteTable::from(77));
    let mut watch = left.run(|| Watch::open(filter)).expect("a watch");
    assert_eq!(watch.try_next().expect("route events"), None);
    let (there, output) = (right.interface(), left.interface().index);
    let routes: [(&str, IpAddr, u8, IpAddr); 2] = [
        ("192.0.2.0", [192, 0, 2, 0].into(), 24, there.v4.into()),
        (
            "2001:db8::",
            [0x2001, 0xdb8, 0, 0, 0, 0, 0, 0].into(),
            32,
            there.v6.into(),
        ),
    ];
    for (text, ip_address, prefix_len, gateway) in routes {
        let line = format!("{text}/{prefix_len} via {gateway} table 77");
        let mut next = |verb: &str| {
            left.ip(&format!("route {verb} {line}"));
            wait_for_events(&watch, "no event");
            watch.try_next().expect("route events").expect("an event")
        };
        let Event::Added(route) = next("add") else {
            panic!("not added")
        };
        assert_eq!(route.dst, Some(Prefix::new(ip_address, prefix_len)));
        assert_eq!((route.gateway, route.dev), (Some(gateway), Some(output)));
        assert_eq!(next("del"), Event::Removed(route));
    }
}
