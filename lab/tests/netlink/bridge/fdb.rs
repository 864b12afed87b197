//! Forwarding entries that tapline adds are shown correctly by bridge(8), and the other way round.

use crate::witness::{
    self, assert_error, assert_unfit, events, index, json, only, parse, refused, refused_with, run,
};
use netlink::{Fdb, FdbFlags, FdbState, IfIndex, MacAddress, Watch};
use rustix::io::Errno;
use serde_json::Value;
use tapline_lab::Host;

const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);
const ALL: MacAddress = MacAddress([0; 6]);

/// A host with a bridge `br0`, its port `a`, and a VXLAN `vx0`.
#[track_caller]
fn host() -> (Host, IfIndex, IfIndex) {
    let (host, a, _) = witness::host();
    for line in [
        "ip link add br0 up type bridge",
        "ip link set dev a master br0",
        "ip link add vx0 up type vxlan id 7 dstport 4789 local 127.0.0.1 dev lo",
    ] {
        run(&host, line);
    }
    let vxlan = index(&host, "vx0");
    (host, a, vxlan)
}

/// The entries that `bridge` shows for `mac`.
#[track_caller]
fn shown(host: &Host, mac: MacAddress) -> Vec<Value> {
    let list = json(host, "bridge fdb show");
    let mut list = list.as_array().expect("a list").clone();
    list.retain(|shown| shown["mac"] == mac.to_string());
    for shown in &mut list {
        let shown = shown.as_object_mut().expect("an object");
        shown.remove("used");
        shown.remove("updated");
    }
    list
}

#[test]
fn an_entry_of_a_bridge_is_made_changed_and_removed() {
    let (host, a, _) = host();
    let mut netlink = host.netlink();
    let entry = Fdb::on(a, MAC)
        .flags(FdbFlags::MASTER)
        .state(FdbState::Static);
    netlink.add(&entry).expect("added");
    let list = Value::from(shown(&host, MAC));
    assert_eq!(only(&list)["ifname"], "a");
    assert_eq!(only(&list)["master"], "br0");
    assert_eq!(only(&list)["state"], "static");
    refused_with(netlink.add(&entry), Errno::EXIST);
    let sticky = entry.clone().flags(FdbFlags::MASTER | FdbFlags::STICKY);
    netlink.replace(&sticky).expect("replaced");
    assert_eq!(shown(&host, MAC)[0]["flags"], serde_json::json!(["sticky"]));
    let learned = entry
        .clone()
        .flags(FdbFlags::MASTER | FdbFlags::EXTERN_LEARN);
    netlink.replace(&learned).expect("replaced");
    let told = netlink
        .get(&Fdb::on(a, MAC).flags(FdbFlags::MASTER))
        .expect("told");
    assert!(netlink::Object::matches(&told, &learned), "{told:#?}");
    netlink.del(&entry).expect("removed");
    assert_eq!(shown(&host, MAC), [] as [Value; 0]);
    refused_with(netlink.del(&entry), Errno::NOENT);
}

#[test]
fn a_vxlan_floods_to_each_end_that_is_appended() {
    let (host, _, vxlan) = host();
    let mut netlink = host.netlink();
    let ends = [
        Fdb::on(vxlan, ALL).dst(parse("192.0.2.1")),
        Fdb::on(vxlan, ALL)
            .dst(parse("192.0.2.2"))
            .vni(55)
            .port(8472),
        Fdb::on(vxlan, ALL).dst(parse("192.0.2.3")).via(IfIndex(1)),
    ];
    for end in &ends {
        netlink.append(end).expect("appended");
    }
    let list = shown(&host, ALL);
    assert_eq!(list.len(), 3);
    assert_eq!(list[1]["dst"], "192.0.2.2");
    assert_eq!(list[1]["vni"], 55);
    assert_eq!(list[1]["port"], 8472);
    assert_eq!(list[2]["viaIf"], "lo");
    assert!(list.iter().all(|shown| shown["state"] == "permanent"));
    assert!(
        list.iter()
            .all(|shown| shown["flags"] == serde_json::json!(["self"]))
    );
    let told = netlink.list(&Fdb::on(vxlan, ALL)).expect("told").items;
    assert_eq!(told.len(), 3);
    for (told, end) in told.iter().zip(&ends) {
        assert!(netlink::Object::matches(told, end), "{told:#?}");
    }
    netlink.del(&ends[1]).expect("one is removed");
    assert_eq!(
        netlink
            .list(&Fdb::on(vxlan, ALL))
            .expect("told")
            .items
            .len(),
        2
    );
    let one = Fdb::on(vxlan, MAC).dst(parse("192.0.2.1"));
    netlink.add(&one).expect("added");
    netlink
        .replace(&one.clone().dst(parse("192.0.2.9")))
        .expect("moved");
    assert_eq!(shown(&host, MAC).len(), 1);
    assert_eq!(shown(&host, MAC)[0]["dst"], "192.0.2.9");
    assert_eq!(
        netlink.get(&Fdb::on(vxlan, MAC)).expect("told").dst,
        Some(parse("192.0.2.9"))
    );
}

#[test]
fn what_bridge_makes_is_read_back_as_meant() {
    let (host, a, vxlan) = host();
    run(
        &host,
        "ip link add vx6 up type vxlan id 9 dstport 4789 local ::1 dev lo",
    );
    run(&host, "ip link add vxe up type vxlan external dstport 4790");
    run(&host, "ip nexthop add id 12 via 127.0.0.2 fdb");
    run(&host, "ip nexthop add id 102 group 12 fdb");
    for line in [
        "bridge fdb add 02:00:00:00:00:01 dev a master static",
        "bridge fdb add 02:00:00:00:00:02 dev a master dynamic extern_learn",
        "bridge fdb add 02:00:00:00:00:03 dev a self",
        "bridge fdb add 02:00:00:00:00:04 dev a master static sticky",
        "bridge fdb append 00:00:00:00:00:00 dev vx0 dst 192.0.2.7 vni 5 port 4000",
        "bridge fdb append 00:00:00:00:00:00 dev vx0 dst 192.0.2.8 via lo",
        "bridge fdb add 02:00:00:00:00:05 dev vx0 dst 192.0.2.8 static self",
        "bridge fdb add 02:00:00:00:00:06 dev vx0 nhid 102 self",
        "bridge fdb add 02:00:00:00:00:07 dev vx6 dst 2001:db8::7 self dynamic",
        "bridge fdb add 02:00:00:00:00:08 dev vxe dst 192.0.2.8 src_vni 77 vni 78 self",
    ] {
        run(&host, line);
    }
    let mut netlink = host.netlink();
    let ours = netlink.list(&Fdb::new()).expect("entries").items;
    let list = json(&host, "bridge fdb show");
    let list = list.as_array().expect("a list");
    assert_eq!(ours.len(), list.len());
    for (ours, shown) in ours.iter().zip(list) {
        let ours = serde_json::to_value(ours).expect("JSON");
        for (key, value) in shown.as_object().expect("an object") {
            let told = &ours[key];
            match (key.as_str(), value.as_str()) {
                ("ifname", Some(name)) => assert_eq!(ours["dev"], index(&host, name).0),
                ("master" | "viaIf", Some(name)) => assert_eq!(*told, index(&host, name).0),
                // What ages has no word there.
                ("state", Some("")) => assert_eq!(told, "dynamic"),
                ("used" | "updated", _) => assert!(told.is_u64(), "{shown}"),
                ("flags", _) if value.as_array().is_some_and(Vec::is_empty) => {
                    assert_eq!(*told, *value);
                }
                _ => assert_eq!(told, value, "{key} of {shown}"),
            }
        }
    }
    let count = |filter: Fdb| host.netlink().list(&filter).expect("a list").items.len();
    let of = |line: &str| json(&host, line).as_array().expect("a list").len();
    assert_eq!(count(Fdb::new().dev(vxlan)), of("bridge fdb show dev vx0"));
    let bridge = netlink.link_named("br0").expect("told").ifindex();
    assert_eq!(count(Fdb::new().dev(a).master(bridge)), 4);
    assert_eq!(count(Fdb::new().master(bridge).state(FdbState::Static)), 2);
    assert_eq!(count(Fdb::new().flags(FdbFlags::STICKY)), 1);
    assert_eq!(count(Fdb::new().nhid(102)), 1);
    assert_eq!(count(Fdb::new().src_vni(77)), 1);
}

#[test]
fn what_cannot_be_said_is_not_sent_and_refusals_have_a_place() {
    let (host, a, vxlan) = host();
    let mut netlink = host.netlink();
    let unfit = [
        (Fdb::new().dev(a), "no hardware address is given"),
        (
            Fdb::new().lladdr(MAC),
            "no interface is given for the forwarding entry",
        ),
        (
            Fdb::on(a, MAC).vlan(4095),
            "VLAN 4095 is not between 1 and 4094",
        ),
        (Fdb::on(a, MAC).vlan(0), "VLAN 0 is not between 1 and 4094"),
        (
            Fdb::on(vxlan, MAC).vni(1 << 24),
            "VNI 16777216 has more than 24 bits",
        ),
        (
            Fdb::on(vxlan, MAC).nhid(1).vni(3),
            "a nexthop group excludes dst, port and vni",
        ),
    ];
    assert_unfit(&host, unfit);
    let error = netlink
        .add(&Fdb::on(vxlan, MAC).dst(parse("2001:db8::1")))
        .expect_err("of another family");
    let theirs = refused(
        &host,
        "bridge fdb add 02:00:00:00:00:09 dev vx0 dst 2001:db8::1",
    );
    assert!(
        theirs.contains(
            &error
                .to_string()
                .rsplit_once('(')
                .map_or(String::new(), |(_, text)| text.replace(')', ""))
        ),
        "{error} / {theirs}"
    );
    assert_error(
        netlink.add(&Fdb::on(vxlan, MAC).nhid(4711)),
        "cannot add forwarding entry 02:00:00:00:00:09 on link 5 (Nexthop id does not exist)",
    );
    let error = netlink
        .get(&Fdb::on(a, MAC).flags(FdbFlags::MASTER))
        .expect_err("there is none");
    assert!(error.to_string().contains("Fdb entry not found"), "{error}");
}

#[test]
fn entries_are_watched() {
    let (host, a, vxlan) = host();
    let mut watch = host
        .run(|| Watch::open(Fdb::new().lladdr(MAC)))
        .expect("a watch");
    let mut netlink = host.netlink();
    let at_port = Fdb::on(a, MAC).flags(FdbFlags::MASTER);
    let far = Fdb::on(vxlan, MAC).dst(parse("192.0.2.1"));
    netlink.add(&at_port).expect("added");
    netlink.add(&far).expect("added");
    netlink.del(&at_port).expect("removed");
    let events = events(&mut watch, |entry| entry.dev);
    assert_eq!(
        events,
        [
            ("added", Some(a)),
            ("added", Some(vxlan)),
            ("removed", Some(a))
        ]
    );
    assert_eq!(watch.known().len(), 1);
}
