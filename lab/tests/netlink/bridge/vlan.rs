//! VLANs of bridge ports that tapline adds are shown correctly by bridge(8), and the other way round. Requires a kernel
//! with `CONFIG_BRIDGE_VLAN_FILTERING`.

use crate::UML;
use crate::witness::{self, assert_unfit, drain, events, name, plain_json, refused_with, run};
use netlink::{
    Bridge, Cause, Fdb, FdbFlags, FdbState, IfIndex, Link, MacAddress, Mdb, MdbGroup, MdbState,
    PortState, PortVlan, PortVlanFlags, VlanStatistics, Watch,
};
use rustix::io::Errno;
use serde_json::{Value, json as value};
use tapline_lab::Host;

/// A host with a bridge `br0`, which filters and has no VLAN by itself, and its port `a`. `None` where the test has been
/// run under user-mode-linux, as it has on any machine but that.
#[track_caller]
fn host() -> Option<(Host, IfIndex, IfIndex)> {
    if UML.has_run() {
        return None;
    }
    let (host, a, _) = witness::host();
    let bridge = Bridge::new().vlan_filtering(true).vlan_default_pvid(0);
    let mut netlink = host.netlink();
    let bridge = netlink
        .create(&Link::named(name("br0")).kind(bridge))
        .expect("a bridge");
    run(&host, "ip link set dev a master br0");
    Some((host, bridge.ifindex(), a))
}

/// The VLANs that `bridge` shows of `dev`.
#[track_caller]
fn shown(host: &Host, dev: &str) -> Vec<Value> {
    let all = plain_json(host, "bridge vlan show");
    let ports = all.as_array().expect("a list");
    let port = ports.iter().find(|port| port["ifname"] == dev);
    let vlans = port.map_or(Vec::new(), |port| {
        port["vlans"].as_array().expect("a list").clone()
    });
    vlans.into_iter().map(without_empty_flags).collect()
}

/// `bridge` shows VLANs without flags either way.
fn without_empty_flags(mut vlan: Value) -> Value {
    if vlan["flags"] == value!([]) {
        vlan.as_object_mut().expect("an object").remove("flags");
    }
    vlan
}

/// Our JSON, as far as `bridge vlan show` has it.
fn ours(host: &Host, dev: IfIndex) -> Vec<Value> {
    let listing = host
        .netlink()
        .list(&PortVlan::new().dev(dev))
        .expect("VLANs");
    let json = listing.items.iter().map(|vlan| {
        let mut json = serde_json::to_value(vlan).expect("JSON");
        let object = json.as_object_mut().expect("an object");
        for key in ["dev", "state", "mcast_router"] {
            object.remove(key);
        }
        without_empty_flags(json)
    });
    json.collect()
}

#[test]
fn a_range_is_made_in_one_message() {
    let Some((host, bridge, a)) = host() else {
        return;
    };
    let mut netlink = host.netlink();
    netlink
        .add(&PortVlan::range(a, 10..=20).flags(PortVlanFlags::UNTAGGED))
        .expect("added");
    netlink
        .add(&PortVlan::on(a, 7).flags(PortVlanFlags::PVID | PortVlanFlags::UNTAGGED))
        .expect("added");
    netlink.add(&PortVlan::on(a, 300)).expect("added");
    netlink
        .add(&PortVlan::on(bridge, 10).own(true))
        .expect("added to the bridge itself");
    let untagged = |vlan: u16| value!({"vlan": vlan, "flags": ["Egress Untagged"]});
    let mut expected = vec![value!({"vlan": 7, "flags": ["PVID", "Egress Untagged"]})];
    expected.extend((10..=20).map(untagged));
    expected.push(value!({"vlan": 300}));
    assert_eq!(shown(&host, "a"), expected);
    assert_eq!(shown(&host, "a"), ours(&host, a));
    assert_eq!(shown(&host, "br0"), ours(&host, bridge));
    assert_eq!(shown(&host, "br0").len(), 1);
    let one = netlink.get(&PortVlan::on(a, 15)).expect("told");
    assert_eq!((one.vlan, one.vlan_end), (Some(15), None));
    let within = netlink.list(&PortVlan::range(a, 12..=300)).expect("told");
    assert_eq!(within.items.len(), 10);
    assert!(netlink.get(&PortVlan::on(a, 7)).expect("told").is_pvid());
    netlink
        .add(&PortVlan::on(a, 7))
        .expect("its flags are gone");
    assert!(!netlink.get(&PortVlan::on(a, 7)).expect("told").is_pvid());
    netlink.del(&PortVlan::range(a, 12..=20)).expect("removed");
    netlink.del(&PortVlan::on(a, 300)).expect("removed");
    assert_eq!(
        shown(&host, "a"),
        [value!({"vlan": 7}), untagged(10), untagged(11)]
    );
    assert!(matches!(
        netlink.get(&PortVlan::on(a, 300)).expect_err("gone").cause,
        Cause::Absent
    ));
}

#[test]
fn options_of_vlans_are_set_and_reported() {
    let Some((host, _, a)) = host() else { return };
    let mut netlink = host.netlink();
    netlink.add(&PortVlan::range(a, 10..=20)).expect("added");
    netlink
        .set(&PortVlan::range(a, 12..=13).state(PortState::Blocking))
        .expect("set");
    let all = plain_json(&host, "bridge -d -compressvlans vlan show");
    let states: Vec<_> = (all[0]["vlans"].as_array().expect("a list").iter())
        .map(|shown| (shown["vlan"].clone(), shown["state"].clone()))
        .collect();
    assert_eq!(
        states,
        [
            (value!(10), value!("forwarding")),
            (value!(12), value!("blocking")),
            (value!(14), value!("forwarding"))
        ]
    );
    let blocked = PortVlan::new().dev(a).state(PortState::Blocking);
    let told = netlink.list(&blocked).expect("told").items;
    let blocked: Vec<_> = told.iter().map(|vlan| vlan.vlan).collect();
    assert_eq!(blocked, [Some(12), Some(13)]);
    let counted = PortVlan::new().dev(a).statistics(VlanStatistics::new());
    let told = netlink.list(&counted).expect("told").items;
    assert!(told.iter().all(|vlan| {
        vlan.statistics
            .as_ref()
            .is_some_and(|counts| counts.rx_packets == Some(0))
    }));
    refused_with(
        netlink.set(&PortVlan::on(a, 99).state(PortState::Blocking)),
        Errno::NOENT,
    );
}

#[test]
fn what_bridge_makes_is_read_back() {
    for line in [
        "dev a vid 10",
        "dev a vid 10-20",
        "dev a vid 10-20 untagged",
        "dev a vid 30 pvid untagged master",
        "dev br0 vid 30 pvid self",
    ] {
        let Some((theirs, their_bridge, their_port)) = host() else {
            return;
        };
        run(&theirs, &format!("bridge vlan add {line}"));
        assert_eq!(shown(&theirs, "a"), ours(&theirs, their_port), "{line}");
        assert_eq!(shown(&theirs, "br0"), ours(&theirs, their_bridge), "{line}");
    }
}

/// The text is that of br_process_vlan_info, net/bridge/br_netlink.c.
#[test]
fn vlans_are_refused_with_a_reason() {
    let (host, a, _) = witness::host();
    let mut netlink = host.netlink();
    let unfit = [
        (PortVlan::new().dev(a), "no VLAN is given"),
        (PortVlan::new().vlan(3), "no port is given for the VLAN"),
        (PortVlan::on(a, 5000), "VLAN 5000 is not between 1 and 4094"),
        (PortVlan::on(a, 0), "VLAN 0 is not between 1 and 4094"),
        (
            PortVlan::range(a, 3..=4095),
            "VLAN 4095 is not between 1 and 4094",
        ),
        (
            PortVlan::on(a, 3).vlan_end(2),
            "the range of VLANs ends at 2, before it begins at 3",
        ),
        (
            PortVlan::range(a, 3..=4).flags(PortVlanFlags::PVID),
            "pvid applies to one VLAN, not to a range",
        ),
        (
            PortVlan::on(a, 3).state(PortState::Blocking),
            "options of a VLAN can be set only after it was added",
        ),
    ];
    assert_unfit(&host, unfit);
    // It is no port of a bridge.
    let error = refused_with(netlink.add(&PortVlan::on(a, 3)), Errno::OPNOTSUPP);
    assert_eq!(error.to_string(), format!("cannot add VLAN 3 of link {a}"));
}

#[test]
fn vlans_are_watched() {
    let Some((host, _, a)) = host() else { return };
    let mut watch = host
        .run(|| Watch::open(PortVlan::new().dev(a)))
        .expect("a watch");
    let mut netlink = host.netlink();
    netlink.add(&PortVlan::range(a, 10..=12)).expect("added");
    netlink.add(&PortVlan::on(a, 13)).expect("added");
    netlink.del(&PortVlan::range(a, 11..=12)).expect("removed");
    let events = events(&mut watch, |vlan| vlan.vlan.expect("a VLAN"));
    let added = [10, 11, 12, 13].map(|vlan| ("added", vlan));
    let removed = [11, 12].map(|vlan| ("removed", vlan));
    assert_eq!(events, [&added[..], &removed[..]].concat());
    let mut known: Vec<_> = watch.known().filter_map(|vlan| vlan.vlan).collect();
    known.sort_unstable();
    assert_eq!(known, [10, 13]);
}

/// The kernel does not tell of those behind the VLAN of packets without a tag when it tells of VLANs in a row
/// (`br_vlan_fill_vids`, net/bridge/br_vlan.c).
#[test]
fn vlans_behind_that_of_untagged_packets_are_known() {
    let Some((host, _, a)) = host() else { return };
    let mut netlink = host.netlink();
    netlink.add(&PortVlan::range(a, 2..=20)).expect("added");
    netlink
        .add(&PortVlan::on(a, 5).flags(PortVlanFlags::PVID))
        .expect("added");
    assert_eq!(ours(&host, a), shown(&host, "a"));
    assert_eq!(ours(&host, a).len(), 19);
    let mut watch = host
        .run(|| Watch::open(PortVlan::new().dev(a)))
        .expect("a watch");
    let blocked = PortVlan::range(a, 2..=20).state(PortState::Blocking);
    netlink.set(&blocked).expect("set");
    drain(&mut watch);
    let is_blocked = |vlan: &PortVlan| vlan.state == Some(PortState::Blocking);
    assert_eq!(watch.known().filter(|vlan| is_blocked(vlan)).count(), 19);
    // All go with the port.
    run(&host, "ip link set dev a nomaster");
    drain(&mut watch);
    assert_eq!(watch.known().len(), 0);
}

#[test]
fn groups_and_addresses_belong_to_a_vlan() {
    let Some((host, bridge, a)) = host() else {
        return;
    };
    run(&host, "ip link set dev br0 up");
    let mut netlink = host.netlink();
    netlink.add(&PortVlan::on(a, 10)).expect("added");
    let mac = MacAddress([2, 0, 0, 0, 0, 9]);
    let entry = Fdb::on(a, mac)
        .vlan(10)
        .flags(FdbFlags::MASTER)
        .state(FdbState::Static);
    netlink.add(&entry).expect("added");
    let all = plain_json(&host, "bridge fdb show brport a");
    let found = all
        .as_array()
        .expect("a list")
        .iter()
        .find(|shown| shown["mac"] == mac.to_string());
    assert_eq!(found.expect("shown")["vlan"], 10);
    assert_eq!(netlink.get(&entry).expect("told").vlan, Some(10));
    netlink.del(&entry).expect("removed");
    let group: MdbGroup = "239.1.1.1".parse().expect("a group");
    let wanted = Mdb::on(bridge, a, group).vid(10).state(MdbState::Permanent);
    netlink.add(&wanted).expect("added");
    let all = plain_json(&host, "bridge mdb show");
    let found = all[0]["mdb"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|shown| shown["grp"] == "239.1.1.1");
    assert_eq!(found.expect("shown")["vid"], 10);
    assert_eq!(netlink.get(&wanted).expect("told").vid, Some(10));
    netlink.del(&wanted).expect("removed");
    refused_with(netlink.add(&entry.vlan(11)), Errno::INVAL);
}
