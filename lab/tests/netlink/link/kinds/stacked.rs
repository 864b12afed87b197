//! Kinds that stand on a link below or by themselves.

use crate::witness::parse;
use netlink::{
    Ipvlan, IpvlanFlags, IpvlanMode, LinkKind, MacAddrMode, Macvlan, MacvlanFlags, MacvlanMode,
    QosMapping, Tun, TunMode, Vlan, VlanFlags, VlanProtocol, Vrf,
};

use super::compare::{compare, host, shown};

#[test]
fn plain_kinds() {
    let Some(host) = host() else { return };
    compare(&host, None, LinkKind::Dummy, "");
    compare(&host, None, LinkKind::Ifb, "");
}

#[test]
fn vlans() {
    let Some(host) = host() else { return };
    let vlan = || Vlan::new().id(5);
    compare(&host, Some("lower0"), vlan(), "id 5");
    let provider = vlan().protocol(VlanProtocol::Dot1Ad);
    compare(&host, Some("lower0"), provider, "proto 802.1ad id 5");
    let flags = VlanFlags::new().reorder_hdr(false).gvrp(true).mvrp(true);
    let flags = flags.loose_binding(true).bridge_binding(true);
    let line = "id 5 reorder_hdr off gvrp on mvrp on loose_binding on bridge_binding on";
    compare(&host, Some("lower0"), vlan().flags(flags), line);
    let maps = |pairs: &[(u32, u32)]| {
        let pairs = pairs.iter().map(|&(from, to)| QosMapping { from, to });
        pairs.collect::<Vec<_>>()
    };
    let mapped = vlan()
        .ingress_qos(maps(&[(1, 2), (3, 4)]))
        .egress_qos(maps(&[(0, 7)]));
    let line = "id 5 ingress-qos-map 1:2 3:4 egress-qos-map 0:7";
    compare(&host, Some("lower0"), mapped, line);
}

#[test]
fn routing_domains() {
    let Some(host) = host() else { return };
    compare(&host, None, Vrf::new().table(77), "table 77");
    compare(&host, None, Vrf::new().table(253), "table default");
    host.ip("link add red type vrf table 1000");
    host.ip("link set lower0 master red");
    let told = host.netlink().link_named("lower0").expect("told");
    let ours = serde_json::to_value(told.port_kind()).expect("JSON");
    let theirs = shown(&host, "lower0");
    assert_eq!(
        ours["info_slave_kind"],
        theirs["linkinfo"]["info_slave_kind"]
    );
    assert_eq!(
        ours["info_slave_data"],
        theirs["linkinfo"]["info_slave_data"]
    );
}

#[test]
fn macvlans() {
    let Some(host) = host() else { return };
    for (mode, word) in [
        (MacvlanMode::Private, "private"),
        (MacvlanMode::Vepa, "vepa"),
        (MacvlanMode::Bridge, "bridge"),
        (MacvlanMode::Passthru, "passthru"),
    ] {
        let wanted = Macvlan::new().mode(mode);
        compare(
            &host,
            Some("lower0"),
            wanted.clone(),
            &format!("mode {word}"),
        );
        let tap = LinkKind::Macvtap(wanted);
        compare(&host, Some("lower0"), tap, &format!("mode {word}"));
    }
    let queue = Macvlan::new().mode(MacvlanMode::Bridge).bcqueuelen(50);
    compare(&host, Some("lower0"), queue, "mode bridge bcqueuelen 50");
    let flags = MacvlanFlags::new().nopromisc(true);
    let quiet = Macvlan::new().mode(MacvlanMode::Passthru).flags(flags);
    compare(&host, Some("lower0"), quiet, "mode passthru nopromisc");
}

#[test]
fn addresses_of_a_macvlan_in_source_mode() {
    let Some(host) = host() else { return };
    host.ip("link add new0 link lower0 type macvlan mode source");
    let addresses = vec![parse("02:00:00:00:00:01"), parse("02:00:00:00:00:02")];
    let mut netlink = host.netlink();
    let link = netlink.link_named("new0").expect("told");
    let change = |data: Macvlan| netlink::Link::at(link.ifindex()).kind(data);
    let all = Macvlan::new()
        .macaddr_mode(MacAddrMode::Set)
        .macaddr_data(addresses);
    let line = "macaddr set 02:00:00:00:00:01 02:00:00:00:00:02";
    let read = super::compare::in_words(&host, "macvlan", line);
    assert_eq!(read, all.clone().into());
    netlink.set(&change(all)).expect("set");
    let one = Macvlan::new()
        .macaddr_mode(MacAddrMode::Del)
        .macaddr(parse("02:00:00:00:00:01"));
    netlink.set(&change(one)).expect("removed");
    let shown = shown(&host, "new0");
    let data = &shown["linkinfo"]["info_data"];
    assert_eq!(data["macaddr_count"], 1);
    assert_eq!(data["macaddr_data"][0], "02:00:00:00:00:02");
    host.ip("link set new0 type macvlan macaddr add 02:00:00:00:00:03");
    let told = netlink.link_named("new0").expect("told");
    let Some(LinkKind::Macvlan(told)) = told.link_kind() else {
        panic!("{told:?}")
    };
    let mut list = told.macaddr_data.clone().expect("addresses");
    list.sort();
    assert_eq!(
        list,
        [parse("02:00:00:00:00:02"), parse("02:00:00:00:00:03")]
    );
    assert_eq!(told.macaddr_count, Some(2));
}

#[test]
fn ipvlans() {
    let Some(host) = host() else { return };
    for (mode, word) in [
        (IpvlanMode::L2, "l2"),
        (IpvlanMode::L3, "l3"),
        (IpvlanMode::L3s, "l3s"),
    ] {
        for (flags, flag) in [
            (IpvlanFlags::Bridge, "bridge"),
            (IpvlanFlags::Private, "private"),
            (IpvlanFlags::Vepa, "vepa"),
        ] {
            let wanted = Ipvlan::new().mode(mode).flags(flags);
            compare(
                &host,
                Some("lower0"),
                wanted,
                &format!("mode {word} {flag}"),
            );
        }
    }
}

#[test]
fn tun_and_tap_are_reported() {
    let Some(host) = host() else { return };
    for (mode, line) in [
        (TunMode::Tun, "tuntap add new0 mode tun user 5 pi"),
        (
            TunMode::Tap,
            "tuntap add new0 mode tap group 6 vnet_hdr multi_queue",
        ),
    ] {
        host.ip(line);
        let told = host.netlink().link_named("new0").expect("told");
        let Some(LinkKind::Tun(tun)) = told.link_kind() else {
            panic!("{told:?}")
        };
        let theirs = &shown(&host, "new0")["linkinfo"]["info_data"];
        let is_tap = mode == TunMode::Tap;
        let expected = if is_tap {
            Tun::new()
                .mode(mode)
                .group(6)
                .pi(false)
                .vnet_hdr(true)
                .multi_queue(true)
        } else {
            Tun::new()
                .mode(mode)
                .user(5)
                .pi(true)
                .vnet_hdr(false)
                .multi_queue(false)
        };
        let mut expected = expected.persist(true);
        expected.numqueues = tun.numqueues;
        expected.numdisabled = tun.numdisabled;
        assert_eq!(*tun, expected);
        assert_eq!(theirs["type"], if is_tap { "tap" } else { "tun" });
        for key in ["pi", "vnet_hdr", "multi_queue", "persist"] {
            let ours = serde_json::to_value(tun).expect("JSON");
            assert_eq!(ours[key], theirs[key], "{key}");
        }
        host.netlink().del(&told).expect("removed");
    }
}
