//! Extended counters, compared with `ip stats`.

use std::net::UdpSocket;

use crate::witness::{self, assert_invalid, index, json, only, refused_with, run};
use netlink::{BridgeStatistics, IfIndex, KindStatistics, LinkStatistics, Stats};
use rustix::io::Errno;
use tapline_lab::{Host, Net};

#[test]
fn the_counters_of_a_link_are_those_of_ip() {
    let [left, right] = Net::new().pair();
    let receiver = right
        .run(|| UdpSocket::bind((right.interface().v4, 7000)))
        .expect("a socket");
    let sender = left.run(|| UdpSocket::bind("0.0.0.0:0")).expect("a socket");
    for _ in 0..5 {
        sender
            .send_to(&[0; 100], receiver.local_addr().expect("told"))
            .expect("sent");
        receiver.recv(&mut [0; 200]).expect("received");
    }
    let mut netlink = left.netlink();
    let told = netlink
        .get(&Stats::of(left.interface().index))
        .expect("told");
    let counts = told.stats64.expect("counted");
    assert_eq!((counts.tx_packets, counts.tx_bytes), (5, 5 * 142));
    let list = json(
        &left,
        &format!("ip stats show dev {} group link", left.interface().name),
    );
    let shown = &only(&list)["stats64"];
    assert_eq!(shown["tx"]["packets"], counts.tx_packets);
    assert_eq!(shown["tx"]["bytes"], counts.tx_bytes);
    assert_eq!(shown["rx"]["packets"], counts.rx_packets);
    let all = netlink.list(&Stats::new()).expect("told").items;
    assert_eq!(all.len(), 2);
    assert_eq!(all[1].stats64, Some(counts));
    assert_eq!(left.counters(), counts);
}

#[test]
fn what_a_bridge_counts_of_a_port_is_that_of_ip() {
    let (host, a, _) = witness::host();
    run(
        &host,
        "ip link add br0 up type bridge stp_state 1 mcast_stats_enabled 1",
    );
    run(&host, "ip link set dev a master br0");
    let bridge = index(&host, "br0");
    let asked = KindStatistics::new().bridge(BridgeStatistics::new());
    let mut netlink = host.netlink();
    let question = Stats::of(a).xstats_slave(asked.clone());
    let told = netlink.get(&question).expect("told");
    assert_eq!(told.stats64, None);
    let port = told
        .xstats_slave
        .and_then(|kind| kind.bridge)
        .expect("counted");
    let stp = port.stp.expect("it speaks the spanning tree");
    let list = json(
        &host,
        "ip stats show dev a group xstats_slave subgroup bridge suite stp",
    );
    let shown = &only(&list)["stp"];
    for (key, ours) in [
        ("tx_bpdu", stp.tx_bpdu),
        ("rx_bpdu", stp.rx_bpdu),
        ("transition_blk", stp.transition_blk),
        ("transition_fwd", stp.transition_fwd),
    ] {
        assert!(
            shown[key].as_u64().is_some_and(|shown| shown >= ours),
            "{key} of {shown}: {ours}"
        );
    }
    assert!(port.mcast.is_some());
    let told = netlink.get(&Stats::of(bridge).xstats(asked)).expect("told");
    assert!(
        told.xstats
            .and_then(|kind| kind.bridge)
            .and_then(|bridge| bridge.mcast)
            .is_some()
    );
}

#[test]
fn counters_are_reported_and_not_made() {
    let host = Host::new("host");
    let mut netlink = host.netlink();
    let error = refused_with(netlink.get(&Stats::of(IfIndex(4711))), Errno::NODEV);
    assert_eq!(error.to_string(), "cannot get statistics of link 4711");
    let counters = Stats::of(IfIndex(1)).stats64(LinkStatistics::default());
    for refused in [
        netlink.add(&counters),
        netlink.set(&counters),
        netlink.del(&counters),
    ] {
        assert_invalid(refused);
    }
    assert_invalid(netlink.get(&Stats::new()));
}
