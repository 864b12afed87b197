//! Bridge multicast groups that tapline adds are shown correctly by bridge(8), and the other way round.

use std::net::IpAddr;

use crate::witness::{self, assert_unfit, drain, events, index, json, parse, refused_with, run};
use netlink::{Cause, FilterMode, IfIndex, Mdb, MdbFlags, MdbState, RouteProtocol, Watch};
use rustix::io::Errno;
use serde_json::{Value, json as value};
use tapline_lab::Host;
use tapline_lab::skip::{self, Feature, kernel_at_least};

const SENDERS: Feature = Feature {
    name: "lists of senders in mdb",
    probe: || kernel_at_least(6, 2),
};

/// A host with a bridge `br0` and its port `a`.
#[track_caller]
fn host() -> (Host, IfIndex, IfIndex) {
    let (host, a, _) = witness::host();
    run(
        &host,
        "ip link add br0 up type bridge mcast_snooping 1 mcast_igmp_version 3 mcast_mld_version 2",
    );
    run(&host, "ip link set dev a master br0");
    let bridge = index(&host, "br0");
    (host, bridge, a)
}

/// What `bridge` shows, without groups that the bridge itself asks for.
#[track_caller]
fn shown(host: &Host) -> Vec<Value> {
    let all = json(host, "bridge mdb show");
    let mut list = all[0]["mdb"].as_array().expect("a list").clone();
    list.retain(|shown| shown["port"] != "br0");
    list
}

fn listed(host: &Host, filter: &Mdb) -> Vec<Mdb> {
    host.netlink().list(filter).expect("groups").items
}

#[test]
fn groups_are_made_shown_and_removed() {
    let (host, bridge, a) = host();
    let mut netlink = host.netlink();
    for (text, state) in [
        ("239.1.1.1", MdbState::Permanent),
        ("ff0e::1", MdbState::Temporary),
        ("01:02:03:04:05:06", MdbState::Permanent),
    ] {
        let wanted = Mdb::on(bridge, a, parse(text)).state(state);
        netlink.add(&wanted).expect(text);
        let list = shown(&host);
        assert_eq!(list.len(), 1, "{list:#?}");
        assert_eq!(list[0]["grp"], text);
        assert_eq!(
            (&list[0]["dev"], &list[0]["port"]),
            (&value!("br0"), &value!("a"))
        );
        assert_eq!(list[0]["state"], state.to_string());
        let told = netlink.get(&wanted).expect("told");
        assert_eq!(told.flags, Some(MdbFlags::default()));
        refused_with(netlink.add(&wanted), Errno::EXIST);
        netlink.del(&wanted).expect("removed");
        assert_eq!(shown(&host), [] as [Value; 0]);
        assert!(matches!(
            netlink.get(&wanted).expect_err("gone").cause,
            Cause::Absent
        ));
    }
}

#[test]
fn senders_belong_to_a_group() {
    if skip::without(&SENDERS) {
        return;
    }
    let (host, bridge, a) = host();
    let mut netlink = host.netlink();
    for (text, senders) in [
        ("239.1.1.1", ["192.0.2.1", "192.0.2.2"]),
        ("ff0e::1", ["2001:db8::1", "2001:db8::2"]),
    ] {
        let senders = senders.map(parse::<IpAddr>);
        let wanted = Mdb::on(bridge, a, parse(text))
            .state(MdbState::Temporary)
            .filter_mode(FilterMode::Include)
            .source_list(senders.map(Into::into).to_vec())
            .protocol(RouteProtocol::Bgp);
        netlink.add(&wanted).expect("added");
        let of_group = |list: Vec<Value>| {
            list.into_iter()
                .filter(|shown| shown["grp"] == text)
                .collect::<Vec<_>>()
        };
        // The group itself and one for each sender.
        let list = of_group(shown(&host));
        assert_eq!(list.len(), 3, "{list:#?}");
        let whole = list
            .iter()
            .find(|shown| shown.get("src").is_none())
            .expect("the group");
        assert_eq!(whole["filter_mode"], "include");
        assert_eq!(whole["protocol"], "bgp");
        assert_eq!(whole["source_list"].as_array().map(Vec::len), Some(2));
        let told = listed(&host, &wanted);
        assert_eq!(told.len(), 1, "{told:#?}");
        assert!(
            told[0]
                .source_list
                .iter()
                .flatten()
                .all(|source| source.timer.is_some_and(|timer| timer.0 > 0))
        );
        let one = Mdb::on(bridge, a, parse(text)).src(senders[1]);
        assert_eq!(listed(&host, &one).len(), 1);
        let fewer = wanted.clone().source_list(vec![senders[0].into()]);
        netlink.replace(&fewer).expect("replaced");
        assert_eq!(listed(&host, &one), []);
        assert_eq!(of_group(shown(&host)).len(), 2);
    }
    let one = Mdb::on(bridge, a, parse("239.2.2.2"))
        .src(parse("192.0.2.7"))
        .state(MdbState::Permanent);
    netlink.add(&one).expect("added");
    let list = shown(&host);
    let shown = list
        .iter()
        .find(|shown| shown["grp"] == "239.2.2.2")
        .expect("shown");
    assert_eq!(shown["src"], "192.0.2.7");
}

/// Each key that `bridge` shows is in our JSON, with the same value.
#[test]
fn what_bridge_makes_is_read_back_as_meant() {
    let (host, bridge, a) = host();
    for line in [
        "bridge mdb add dev br0 port a grp 239.1.1.1 permanent",
        "bridge mdb add dev br0 port a grp 239.1.1.2 temp",
        "bridge mdb add dev br0 port a grp 239.1.1.3 src 192.0.2.9 permanent",
        "bridge mdb add dev br0 port a grp ff0e::5 permanent",
        "bridge mdb add dev br0 port a grp 01:02:03:04:05:06 permanent",
    ] {
        run(&host, line);
    }
    let ours = listed(&host, &Mdb::new().port(a));
    let shown = shown(&host);
    assert_eq!((ours.len(), shown.len()), (5, 5));
    for shown in &shown {
        let ours = ours
            .iter()
            .find(|ours| shown["grp"] == ours.grp.expect("a group").to_string());
        let ours = ours.expect("the group");
        let json = serde_json::to_value(ours).expect("JSON");
        for (key, value) in shown.as_object().expect("an object") {
            match key.as_str() {
                "index" | "dev" => assert_eq!(json["dev"], bridge.0),
                "port" => assert_eq!(json["port"], a.0),
                // Hundredths of a second go by between the two questions.
                "timer" => assert!(json["timer"].is_string()),
                _ => assert_eq!(json[key], *value, "{key} of {shown}"),
            }
        }
        let read: Mdb = serde_json::from_value(json).expect("our own JSON");
        assert_eq!(read, *ours);
    }
}

/// The texts are those of br_mdb_add and is_valid_mdb_entry, net/bridge/br_mdb.c, and net/core/rtnetlink.c.
#[test]
fn refusals_have_a_place_and_nonsense_is_not_sent() {
    let (host, bridge, a) = host();
    let mut netlink = host.netlink();
    let good = || Mdb::on(bridge, a, parse("239.1.1.1"));
    let unfit = [
        (Mdb::new().dev(bridge).port(a), "no group is given"),
        (
            Mdb::new().port(a).grp(parse("ff0e::1")),
            "no bridge is given for the group",
        ),
        (
            Mdb::new().dev(bridge).grp(parse("ff0e::1")),
            "no port is given for the group",
        ),
        (good().vid(5000), "VLAN 5000 is not between 1 and 4094"),
        (
            good().src(parse("::1")),
            "source ::1 does not belong to the family of group 239.1.1.1",
        ),
        (
            good().source_list(vec![parse::<IpAddr>("::1").into()]),
            "source ::1 does not belong to the family of group 239.1.1.1",
        ),
    ];
    assert_unfit(&host, unfit);
    let error = netlink
        .add(&Mdb::on(bridge, a, parse("10.0.0.1")))
        .expect_err("no group");
    assert!(
        error
            .to_string()
            .contains("IPv4 entry group address is not multicast"),
        "{error}"
    );
    refused_with(
        netlink.add(&Mdb::on(a, a, parse("239.1.1.1"))),
        Errno::OPNOTSUPP,
    );
    refused_with(
        netlink.add(&Mdb::on(IfIndex(4711), a, parse("239.1.1.1"))),
        Errno::NODEV,
    );
}

#[test]
fn groups_are_watched() {
    let (host, bridge, a) = host();
    let mut watch = host
        .run(|| Watch::open(Mdb::new().port(a)))
        .expect("a watch");
    let mut netlink = host.netlink();
    let one = Mdb::on(bridge, a, parse("239.1.1.1")).state(MdbState::Permanent);
    netlink.add(&one).expect("added");
    netlink.del(&one).expect("removed");
    let events = events(&mut watch, |mdb| mdb.grp);
    assert_eq!(events, [("added", one.grp), ("removed", one.grp)]);
    // All go with the port.
    netlink.add(&one).expect("added");
    run(&host, "ip link set dev a nomaster");
    drain(&mut watch);
    assert_eq!(watch.known().len(), 0);
}
