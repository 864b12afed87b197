//! The state of a watch on forwarding entries equals a new list, even where the kernel notifies of a change only in
//! part or not at all.

use std::net::IpAddr;

use crate::witness::{self, drain, index, run, wait_for_events};
use netlink::{Event, Fdb, FdbFlags, FdbKey, FdbState, MacAddress, Object, Watch};
use tapline_lab::Host;

/// More than there are changes.
const MOST_ROUNDS: usize = 1000;

const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);

/// A host with a bridge, which takes the lowest address of a port for its own, that of `a`, and another port
/// `c`.
#[track_caller]
fn host() -> Host {
    let (host, ..) = witness::host();
    for line in [
        "ip link add c up type veth peer name d",
        "ip link set dev d up",
        "ip link set dev a address 02:00:00:00:00:0a",
        "ip link add br0 up type bridge",
        "ip link set dev a master br0",
        "ip link set dev c master br0",
    ] {
        run(&host, line);
    }
    host
}

#[track_caller]
fn watch(host: &Host) -> Watch<Fdb> {
    let mut watch = host.run(|| Watch::open(Fdb::new())).expect("a watch");
    assert!(!drain(&mut watch).is_empty());
    watch
}

/// Takes events until the watch knows the same entries as the kernel. A carrier comes back with a delay, and adds the
/// addresses that devices listen to.
#[track_caller]
fn assert_gets_up_to_date(host: &Host, watch: &mut Watch<Fdb>, after: &str) {
    for _ in 0..MOST_ROUNDS {
        drain(watch);
        let sorted = |mut entries: Vec<Fdb>| {
            entries.sort_by_key(|entry| format!("{:?}", entry.key()));
            entries
        };
        let known = sorted(watch.known().cloned().collect());
        let listed = sorted(host.netlink().list(&Fdb::new()).expect("entries").items);
        let mut both = known.iter().zip(&listed);
        if known.len() == listed.len()
            && both.all(|(known, listed)| known.has_same_configuration(listed))
        {
            return;
        }
        wait_for_events(watch, &format!("after {after}: {known:#?}\n{listed:#?}"));
    }
    panic!("after {after} there is no end of events");
}

#[test]
fn a_watch_knows_what_a_fresh_list_has() {
    let host = host();
    run(
        &host,
        "bridge fdb add 02:00:00:00:00:01 dev a master static",
    );
    run(
        &host,
        "bridge fdb add 02:00:00:00:00:02 dev c master dynamic",
    );
    let mut watch = watch(&host);
    for line in [
        "ip link set dev a nomaster",
        "ip link set dev a master br0",
        "bridge fdb add 02:00:00:00:00:01 dev a master static",
        "bridge fdb replace 02:00:00:00:00:01 dev c master static",
        "ip link set dev c address 02:00:00:00:00:0a",
        "ip link set dev c nomaster",
        "ip link set dev c master br0",
        "ip link set dev a address 02:00:00:00:00:0b",
        "ip link set dev br0 address 02:00:00:00:00:0c",
        "ip link set dev a address 02:00:00:00:00:0c",
        "ip link set dev a down",
        "ip link set dev a up",
        "ip address add 192.0.2.1/24 dev a",
        "ip address add 2001:db8::1/64 dev a nodad",
        "ip address del 2001:db8::1/64 dev a",
        "ip link set dev c multicast off",
        "ip link set dev br0 down",
        "ip link set dev br0 up",
        "ip link set dev c promisc on",
        "ip link del dev c",
        "ip link del dev br0",
    ] {
        run(&host, line);
        assert_gets_up_to_date(&host, &mut watch, line);
    }
}

/// The entry of the port's own address becomes the bridge's without a word (`fdb_delete_local`,
/// net/bridge/br_fdb.c).
#[test]
fn entries_that_leave_with_a_port_are_reported() {
    let host = host();
    run(
        &host,
        "bridge fdb add 02:00:00:00:00:01 dev a master static",
    );
    let mut watch = watch(&host);
    let a = index(&host, "a");
    let bridge = index(&host, "br0");
    let of_bridge = |watch: &Watch<Fdb>| {
        let at_port = |entry: &&Fdb| entry.dev == Some(a) && entry.master == Some(bridge);
        watch.known().filter(at_port).count()
    };
    assert_eq!(of_bridge(&watch), 2);
    run(&host, "ip link set dev a nomaster");
    let removed = drain(&mut watch).into_iter().any(|event| {
        matches!(event, Event::Removed(entry) if entry.lladdr == Some(MacAddress([2, 0, 0, 0, 0, 1])))
    });
    assert!(removed);
    assert_eq!(of_bridge(&watch), 0);
}

/// The kernel reports the new port of an address, and does not report that the address left the old port.
#[test]
fn an_address_that_moves_is_one_entry() {
    let host = host();
    let mut netlink = host.netlink();
    let [a, c] = ["a", "c"].map(|name| index(&host, name));
    let at = |port| {
        Fdb::on(port, MAC)
            .flags(FdbFlags::MASTER)
            .state(FdbState::Static)
    };
    run(
        &host,
        "ip link add vx0 up type vxlan id 7 dstport 4789 local 127.0.0.1 dev lo",
    );
    let vxlan = netlink.link_named("vx0").expect("told").ifindex();
    let behind = |end: &str| Fdb::on(vxlan, MAC).dst(end.parse::<IpAddr>().expect("an address"));
    let mut watch = watch(&host);
    netlink.add(&at(a)).expect("added");
    netlink.replace(&at(c)).expect("moved");
    netlink.add(&behind("192.0.2.1")).expect("added");
    netlink.replace(&behind("192.0.2.2")).expect("moved");
    let told: Vec<_> = drain(&mut watch)
        .into_iter()
        .map(|event| match event {
            Event::Added(entry) => ("added", entry.dev, entry.dst),
            Event::Changed { before, after } => {
                assert_ne!((before.dev, before.dst), (after.dev, after.dst));
                ("changed", after.dev, after.dst)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let ip = |text: &str| text.parse().ok();
    assert_eq!(
        told,
        [
            ("added", Some(a), None),
            ("changed", Some(c), None),
            ("added", Some(vxlan), ip("192.0.2.1")),
            ("changed", Some(vxlan), ip("192.0.2.2")),
        ]
    );
    assert_gets_up_to_date(&host, &mut watch, "moving");
    // An address that is flooded to has several ends.
    let flooded = |end: &str| behind(end).lladdr(MacAddress([0; 6]));
    netlink.append(&flooded("192.0.2.1")).expect("appended");
    netlink.append(&flooded("192.0.2.2")).expect("appended");
    assert_eq!(drain(&mut watch).len(), 2);
    assert_gets_up_to_date(&host, &mut watch, "appending");
    let key: FdbKey = flooded("192.0.2.1").key().expect("a key");
    assert_eq!(
        (key.dst, behind("192.0.2.1").key().expect("a key").dst),
        (ip("192.0.2.1"), None)
    );
}
