//! Bridges and their ports.

use crate::witness::{named, parse};
use netlink::{Bridge, BridgeOptions, BridgePort, Link, PortKind, PortState, VlanProtocol};
use serde_json::{Value, json};

use super::compare::{compare, host, shown};

#[test]
fn bridges() {
    let Some(host) = host() else { return };
    compare(&host, None, Bridge::new(), "");
    let wanted = Bridge::new()
        .forward_delay(500)
        .hello_time(300)
        .max_age(1500)
        .ageing_time(12_300);
    let wanted = wanted
        .stp_state(1)
        .priority(4096)
        .group_fwd_mask(8)
        .group_addr(parse("01:80:c2:00:00:0e"));
    let line = "forward_delay 500 hello_time 300 max_age 1500 ageing_time 12300 stp_state 1 priority 4096 \
        group_fwd_mask 8 group_address 01:80:c2:00:00:0e";
    compare(&host, None, wanted, line);
    let options = BridgeOptions::new().no_linklocal_learn(true);
    let wanted = Bridge::new()
        .vlan_filtering(true)
        .vlan_protocol(VlanProtocol::Dot1Ad);
    let wanted = wanted
        .vlan_default_pvid(7)
        .vlan_stats_enabled(true)
        .vlan_stats_per_port(true);
    let line = "vlan_filtering 1 vlan_protocol 802.1ad vlan_default_pvid 7 vlan_stats_enabled 1 \
        vlan_stats_per_port 1 no_linklocal_learn 1";
    compare(&host, None, wanted.options(options), line);
}

#[test]
fn bridges_with_multicast() {
    let Some(host) = host() else { return };
    let wanted = Bridge::new()
        .mcast_router(2)
        .mcast_snooping(true)
        .mcast_query_use_ifaddr(true);
    let wanted = wanted
        .mcast_querier(true)
        .mcast_hash_max(1024)
        .mcast_last_member_cnt(3);
    let wanted = wanted
        .mcast_startup_query_cnt(4)
        .mcast_last_member_intvl(101)
        .mcast_membership_intvl(20_000);
    let wanted = wanted
        .mcast_querier_intvl(30_000)
        .mcast_query_intvl(12_000)
        .mcast_query_response_intvl(900);
    let wanted = wanted
        .mcast_startup_query_intvl(3000)
        .mcast_stats_enabled(true);
    let wanted = wanted.mcast_igmp_version(3).mcast_mld_version(2);
    let line = "mcast_router 2 mcast_snooping 1 mcast_query_use_ifaddr 1 mcast_querier 1 \
        mcast_hash_max 1024 mcast_last_member_count 3 mcast_startup_query_count 4 \
        mcast_last_member_interval 101 mcast_membership_interval 20000 mcast_querier_interval 30000 \
        mcast_query_interval 12000 mcast_query_response_interval 900 mcast_startup_query_interval 3000 \
        mcast_stats_enabled 1 mcast_igmp_version 3 mcast_mld_version 2";
    compare(&host, None, wanted, line);
}

/// What bridges of switches are made with: all in the message that makes it.
#[test]
fn a_switchs_bridge_in_one_message() {
    let Some(host) = host() else { return };
    let data = Bridge::new()
        .vlan_filtering(true)
        .vlan_default_pvid(0)
        .options(BridgeOptions::new().no_linklocal_learn(true));
    let wanted = named("Bridge")
        .up(true)
        .mtu(9100)
        .address(parse("02:00:00:00:00:07"))
        .kind(data);
    assert!(!netlink::Object::has_follow_up(&wanted, netlink::Verb::Add));
    host.netlink().add(&wanted).expect("made");
    let shown = shown(&host, "Bridge");
    let flags = shown["flags"].as_array().expect("flags");
    assert!(flags.contains(&json!("UP")), "{flags:?}");
    assert_eq!(
        (&shown["mtu"], &shown["address"]),
        (&json!(9100), &json!("02:00:00:00:00:07"))
    );
    let data = &shown["linkinfo"]["info_data"];
    let told: Vec<_> = ["vlan_filtering", "vlan_default_pvid", "no_linklocal_learn"]
        .iter()
        .map(|key| data[key].clone())
        .collect();
    assert_eq!(told, [json!(1), json!(0), json!(1)]);
}

/// Port options in one request with the master, set and at creation; each is what `bridge` shows.
#[test]
fn a_port_of_a_bridge() {
    let Some(host) = host() else { return };
    let mut netlink = host.netlink();
    let bridge = netlink
        .create(&named("br0").kind(Bridge::new()))
        .expect("made");
    let port = BridgePort::new()
        .priority(5)
        .cost(77)
        .hairpin(true)
        .guard(true)
        .root_block(true)
        .fastleave(true)
        .learning(false)
        .flood(false)
        .mcast_flood(false)
        .bcast_flood(false)
        .mcast_to_unicast(true)
        .neigh_suppress(true)
        .vlan_tunnel(true)
        .isolated(true)
        .locked(true)
        .group_fwd_mask(8)
        .multicast_router(2)
        .mcast_eht_hosts_limit(99);
    let is_port = named("lower0").master(bridge.ifindex()).port(port.clone());
    netlink.set(&is_port).expect("a port");
    let made = named("new0")
        .kind(netlink::LinkKind::Dummy)
        .master(bridge.ifindex());
    netlink.add(&made.port(port.clone())).expect("a new port");
    for link in ["lower0", "new0"] {
        let told = netlink.link_named(link).expect("told");
        assert!(
            netlink::Object::matches(&told, &Link::new().port(port.clone())),
            "{told:#?}"
        );
        assert_shown(&told, &shown(&host, link)["linkinfo"]);
    }
    host.ip("link set new0 type bridge_slave learning on cost 55");
    let told = netlink.link_named("new0").expect("told");
    let Some(PortKind::Bridge(ours)) = told.port_kind() else {
        panic!("{told:?}")
    };
    assert_eq!((ours.learning, ours.cost), (Some(true), Some(55)));
    assert_eq!(ours.state, Some(PortState::Disabled));
    let listed = netlink
        .list(&Link::new().master(bridge.ifindex()))
        .expect("listed");
    assert_eq!(listed.items.len(), 2);
}

fn assert_shown(link: &Link, theirs: &Value) {
    let Some(PortKind::Bridge(port)) = link.port_kind() else {
        panic!("{link:?}")
    };
    assert_eq!(theirs["info_slave_kind"], "bridge");
    let ours = serde_json::to_value(port).expect("JSON");
    let own_form = [
        "id",
        "no",
        "group_fwd_mask",
        "group_fwd_mask_str",
        "backup_port",
    ];
    for (key, value) in theirs["info_slave_data"].as_object().expect("data") {
        if own_form.contains(&key.as_str()) || key.ends_with("_timer") {
            continue;
        }
        let ours = &ours[key];
        let same = ours == value
            || ours
                .as_bool()
                .is_some_and(|on| json!(i32::from(on)) == *value);
        assert!(same, "{key}: {value}, we say {ours}");
    }
}
