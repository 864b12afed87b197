//! Bonds and their ports.

use crate::witness::{named, parse};
use netlink::{
    AdSelect, ArpAllTargets, ArpValidate, Bond, BondMode, BondPort, FailOverMac, LacpRate,
    PortKind, PrimaryReselect, XmitHashPolicy,
};

use super::compare::{compare, host, shown};

#[test]
fn bonds() {
    let Some(host) = host() else { return };
    compare(&host, None, Bond::new(), "");
    let wanted = Bond::new()
        .mode(BondMode::ActiveBackup)
        .miimon(100)
        .updelay(200)
        .downdelay(300);
    let wanted = wanted
        .peer_notify_delay(400)
        .primary_reselect(PrimaryReselect::Better);
    let wanted = wanted
        .fail_over_mac(FailOverMac::Active)
        .resend_igmp(3)
        .num_peer_notif(4);
    let wanted = wanted
        .all_slaves_active(1)
        .min_links(2)
        .lp_interval(5)
        .use_carrier(true);
    let line = "mode active-backup miimon 100 updelay 200 downdelay 300 peer_notify_delay 400 \
        primary_reselect better fail_over_mac active resend_igmp 3 num_grat_arp 4 \
        all_slaves_active 1 min_links 2 lp_interval 5 use_carrier 1";
    compare(&host, None, wanted, line);
    let wanted = Bond::new()
        .mode(BondMode::Ieee8023Ad)
        .xmit_hash_policy(XmitHashPolicy::Layer34);
    let wanted = wanted
        .ad_lacp_rate(LacpRate::Fast)
        .ad_select(AdSelect::Bandwidth)
        .ad_lacp_active(false);
    let wanted = wanted
        .ad_actor_sys_prio(7)
        .ad_user_port_key(8)
        .ad_actor_system(parse("02:00:00:00:00:aa"));
    let line = "mode 802.3ad xmit_hash_policy layer3+4 lacp_rate fast ad_select bandwidth lacp_active off \
        ad_actor_sys_prio 7 ad_user_port_key 8 ad_actor_system 02:00:00:00:00:aa";
    compare(&host, None, wanted, line);
    let wanted = Bond::new().mode(BondMode::BalanceTlb).tlb_dynamic_lb(false);
    compare(&host, None, wanted, "mode balance-tlb tlb_dynamic_lb 0");
    let wanted = Bond::new().mode(BondMode::BalanceRr).packets_per_slave(3);
    compare(&host, None, wanted, "mode balance-rr packets_per_slave 3");
}

#[test]
fn a_bond_that_asks_its_neighbours() {
    let Some(host) = host() else { return };
    let wanted = Bond::new().mode(BondMode::ActiveBackup).arp_interval(500);
    let wanted = wanted
        .arp_ip_target(vec![parse("10.0.0.1"), parse("10.0.0.2")])
        .arp_missed_max(5);
    let wanted = wanted
        .arp_validate(ArpValidate::FilterActive)
        .arp_all_targets(ArpAllTargets::All);
    let line = "mode active-backup arp_interval 500 arp_ip_target 10.0.0.1,10.0.0.2 arp_missed_max 5 \
        arp_validate filter_active arp_all_targets all";
    compare(&host, None, wanted, line);
    let wanted = Bond::new().mode(BondMode::ActiveBackup).arp_interval(500);
    let wanted = wanted.ns_ip6_target(vec![parse("fd00::1"), parse("fd00::2")]);
    let line = "mode active-backup arp_interval 500 ns_ip6_target fd00::1,fd00::2";
    compare(&host, None, wanted, line);
}

/// Port options in one request with the master: the kernel would refuse them before it changes the master.
#[test]
fn a_port_of_a_bond() {
    let Some(host) = host() else { return };
    let mut netlink = host.netlink();
    let bond = Bond::new().mode(BondMode::ActiveBackup).miimon(100);
    let bond = netlink.create(&named("bond0").kind(bond)).expect("made");
    host.ip("link set lower0 down");
    let port = BondPort::new().queue_id(3).prio(-4);
    let change = named("lower0").master(bond.ifindex()).port(port);
    netlink.set(&change).expect("it is a port");
    let told = netlink.link_named("lower0").expect("told");
    assert!(netlink::Object::matches(&told, &change), "{told:#?}");
    let theirs = &shown(&host, "lower0")["linkinfo"];
    assert_eq!(
        (
            &theirs["info_slave_kind"],
            &theirs["info_slave_data"]["queue_id"]
        ),
        (&"bond".into(), &3.into())
    );
    assert_eq!(theirs["info_slave_data"]["prio"], -4);
    let Some(PortKind::Bond(ours)) = told.port_kind() else {
        panic!("{told:?}")
    };
    let ours = serde_json::to_value(ours).expect("JSON");
    for key in [
        "state",
        "mii_status",
        "link_failure_count",
        "perm_hwaddr",
        "queue_id",
        "prio",
    ] {
        assert_eq!(ours[key], theirs["info_slave_data"][key], "{key}");
    }
    host.ip("link set lower0 type bond_slave queue_id 2");
    let told = netlink.link_named("lower0").expect("told");
    let Some(PortKind::Bond(ours)) = told.port_kind() else {
        panic!("{told:?}")
    };
    assert_eq!(ours.queue_id, Some(2));
}
