//! Neighbours that tapline adds are shown correctly by iproute2, and the other way round.

use std::net::IpAddr;

use crate::witness::{
    address, assert_error, assert_unfit, flag, host, json, only, refused_with, run,
};
use netlink::{Event, Family, IfIndex, MacAddress, Neigh, NeighState, RouteProtocol, Watch};
use rustix::io::Errno;
use serde_json::Value;
use tapline_lab::Host;

const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);

/// What `ip` shows of all neighbours, of a host without names for its links.
fn shown(host: &Host) -> Vec<Value> {
    let list = json(host, "ip neighbour show nud all");
    let mut list = list.as_array().expect("a list").clone();
    // Multicast, as links come up, is the kernel's own.
    list.retain(|shown| shown["state"][0] != "NOARP");
    list
}

#[test]
fn a_neighbour_is_made_with_all_that_belongs_to_it() {
    for (dst, router) in [("192.0.2.1", false), ("2001:db8::1", true)] {
        let (host, a, _) = host();
        let wanted = Neigh::on(a, address(dst))
            .lladdr(MAC.into())
            .state(NeighState::Stale)
            .extern_learn(true)
            .router(router)
            .protocol(RouteProtocol::Bgp);
        let mut netlink = host.netlink();
        netlink.add(&wanted).expect("added");
        let list = json(&host, "ip neighbour show dev a");
        let shown = only(&list);
        assert_eq!(shown["dst"], dst);
        assert_eq!(shown["lladdr"], MAC.to_string());
        assert_eq!(shown["state"][0], "STALE");
        assert_eq!(
            (flag(shown, "extern_learn"), flag(shown, "router")),
            (true, router)
        );
        assert_eq!(shown["protocol"], "bgp");
        let told = netlink.get(&Neigh::on(a, address(dst))).expect("told");
        assert!(netlink::Object::matches(&told, &wanted), "{told:#?}");
        netlink.del(&Neigh::on(a, address(dst))).expect("removed");
        refused_with(netlink.get(&Neigh::on(a, address(dst))), Errno::NOENT);
    }
}

/// Each key that `ip` shows is in our JSON, with the same value; flags are `true` where `ip` has `null`.
#[test]
fn what_iproute2_makes_is_read_back_as_meant() {
    let (host, a, _) = host();
    for line in [
        "ip neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 dev a",
        "ip neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev a nud reachable extern_learn",
        "ip neigh add 192.0.2.3 lladdr 02:00:00:00:00:03 dev b nud stale protocol static",
        "ip neigh add 192.0.2.4 lladdr 02:00:00:00:00:04 dev b nud stale router",
        "ip neigh add 2001:db8::1 lladdr 02:00:00:00:00:05 dev a nud permanent router",
        "ip neigh add 2001:db8::2 lladdr 02:00:00:00:00:06 dev a managed",
    ] {
        run(&host, line);
    }
    let listing = host.netlink().list(&Neigh::new()).expect("neighbours");
    let mut ours = listing.items;
    ours.retain(|neigh| neigh.state != Some(NeighState::Noarp));
    let shown = shown(&host);
    assert_eq!(ours.len(), shown.len());
    assert_eq!(ours.len(), 6);
    for shown in &shown {
        let dst = shown["dst"].as_str().expect("a text");
        let neigh = ours
            .iter()
            .find(|neigh| neigh.dst == Some(address(dst)))
            .expect(dst);
        let json = serde_json::to_value(neigh).expect("JSON");
        for (key, value) in shown.as_object().expect("an object") {
            match key.as_str() {
                "dev" => assert_eq!(*value, if neigh.dev == Some(a) { "a" } else { "b" }),
                // Seconds go by between the two questions.
                "used" | "confirmed" | "updated" | "probes" | "refcnt" => {
                    assert!(json[key].is_u64());
                }
                _ if value.is_null() => assert_eq!(json[key], true, "{key} of {dst}"),
                _ => assert_eq!(json[key], *value, "{key} of {dst}"),
            }
        }
        let read: Neigh = serde_json::from_value(json).expect("our own JSON");
        assert_eq!(read, *neigh);
    }
}

#[test]
fn verbs_and_filters_do_what_they_say() {
    let (host, a, b) = host();
    let mut netlink = host.netlink();
    let one = Neigh::on(a, address("192.0.2.1")).lladdr(MAC.into());
    netlink.add(&one).expect("added");
    refused_with(netlink.add(&one), Errno::EXIST);
    let other = MacAddress([2, 0, 0, 0, 0, 8]);
    netlink
        .replace(&one.clone().lladdr(other.into()))
        .expect("replaced");
    let list = json(&host, "ip neighbour show dev a");
    assert_eq!(only(&list)["lladdr"], other.to_string());
    netlink
        .set(&one.clone().state(NeighState::Reachable))
        .expect("changed");
    let list = json(&host, "ip neighbour show dev a");
    assert_eq!(
        (
            only(&list)["state"][0].as_str(),
            only(&list)["lladdr"].as_str()
        ),
        (Some("REACHABLE"), Some("02:00:00:00:00:09"))
    );
    let absent = Neigh::on(b, address("192.0.2.1")).lladdr(MAC.into());
    refused_with(netlink.set(&absent), Errno::NOENT);
    netlink
        .add(&Neigh::on(b, address("2001:db8::1")).lladdr(MAC.into()))
        .expect("added");
    netlink
        .add(&Neigh::on(b, address("2001:db8::2")).proxy(true))
        .expect("added");
    let list = |filter: Neigh| {
        let mut items = host.netlink().list(&filter).expect("a list").items;
        items.retain(|neigh| neigh.state != Some(NeighState::Noarp));
        items
            .into_iter()
            .filter_map(|neigh| neigh.dst)
            .collect::<Vec<_>>()
    };
    assert_eq!(list(Neigh::new().dev(a)), [address("192.0.2.1")]);
    assert_eq!(list(Neigh::new().dev(b)), [address("2001:db8::1")]);
    assert_eq!(
        list(Neigh::new().family(Family::V6)),
        [address("2001:db8::1")]
    );
    assert_eq!(
        list(Neigh::new().state(NeighState::Reachable)),
        [address("192.0.2.1")]
    );
    assert_eq!(list(Neigh::new().proxy(true)), [address("2001:db8::2")]);
    let proxy = Neigh::on(b, address("2001:db8::2")).proxy(true);
    assert_eq!(netlink.get(&proxy).expect("told").proxy, Some(true));
    netlink.del(&proxy).expect("removed");
    assert_eq!(list(Neigh::new().proxy(true)), [] as [IpAddr; 0]);
    assert_eq!(list(Neigh::new().dev(IfIndex(4711))), [] as [IpAddr; 0]);
    run(&host, "ip link add br0 type bridge");
    run(&host, "ip link set dev a master br0");
    let bridge = netlink.link_named("br0").expect("told").ifindex();
    assert_eq!(list(Neigh::new().master(bridge)), [address("192.0.2.1")]);
}

#[test]
fn what_cannot_be_said_is_not_sent_and_refusals_have_a_place() {
    let (host, a, _) = host();
    let mut netlink = host.netlink();
    let one = || Neigh::on(a, address("192.0.2.1")).lladdr(MAC.into());
    let unfit = [
        (Neigh::new().dev(a), "no address is given"),
        (
            Neigh::new().dst(address("::1")),
            "no interface is given for the neighbour",
        ),
        (
            one().family(Family::V6),
            "192.0.2.1 does not belong to the given family",
        ),
        (
            one().proxy(true),
            "a proxy entry cannot have a hardware address",
        ),
        (one().master(a), "master is a filter for queries only"),
    ];
    assert_unfit(&host, unfit);
    let short = netlink::HardwareAddress::new(&[1, 2, 3]);
    assert_error(
        netlink.add(&one().lladdr(short)),
        "cannot add neighbour 192.0.2.1 on link 3 (Invalid link address)",
    );
    refused_with(netlink.add(&one().dev(IfIndex(4711))), Errno::NODEV);
}

#[test]
fn neighbours_are_watched() {
    let (host, a, _) = host();
    let filter = Neigh::new().dev(a).family(Family::V4);
    let mut watch = host.run(|| Watch::open(filter)).expect("a watch");
    let mut netlink = host.netlink();
    let one = Neigh::on(a, address("192.0.2.1")).lladdr(MAC.into());
    netlink.add(&one).expect("added");
    netlink
        .set(&one.clone().state(NeighState::Stale))
        .expect("changed");
    netlink.del(&one).expect("removed");
    let mut states = Vec::new();
    let mut is_gone = false;
    while let Some(event) = watch.try_next().expect("events") {
        match event {
            Event::Added(neigh) | Event::Changed { after: neigh, .. } => states.extend(neigh.state),
            Event::Removed(neigh) => is_gone = neigh.dst == one.dst,
            _ => {}
        }
    }
    // The kernel tells of a neighbour as failed before it tells that it is gone.
    let told = [NeighState::Permanent, NeighState::Stale];
    assert_eq!((&states[..2], is_gone), (&told[..], true));
}
