//! Driver data of links, compared with ethtool(8).

use std::collections::BTreeSet;

use crate::witness::refused_with;
use netlink::{Ethtool, IfName, NetDevices};
use rustix::io::Errno;
use serde_json::Value;
use tapline_lab::{Host, Net};

fn ethtool(host: &Host, flag: &str) -> Value {
    let text = host.output_of(&format!("ethtool --json {flag} {}", host.interface().name));
    serde_json::from_str::<Value>(&text).expect("JSON")[0].clone()
}

/// ethtool's own names for what the kernel calls otherwise.
fn kernel_name(name: &str) -> &str {
    match name {
        "large-receive-offload" => "rx-lro",
        "generic-receive-offload" => "rx-gro",
        "generic-segmentation-offload" => "tx-generic-segmentation",
        "rx-vlan-offload" => "rx-vlan-hw-parse",
        "tx-vlan-offload" => "tx-vlan-hw-insert",
        "ntuple-filters" => "rx-ntuple-filter",
        "receive-hashing" => "rx-hashing",
        "rx-checksumming" => "rx-checksum",
        other => other,
    }
}

/// Groups of features, which ethtool shows beside their members.
const GROUPS: [&str; 3] = [
    "tx-checksumming",
    "scatter-gather",
    "tcp-segmentation-offload",
];

#[test]
fn features_are_what_ethtool_tells() {
    let [left, _right] = Net::new().pair();
    let name = left.interface().name;
    let told = ethtool(&left, "-k");
    let told = told.as_object().expect("features");
    let chosen = |key: &str| {
        let is_it = move |(name, value): (&String, &Value)| {
            let chosen = value[key] == true && !GROUPS.contains(&name.as_str());
            chosen.then(|| kernel_name(name).to_owned())
        };
        told.iter()
            .filter(|(name, _)| *name != "ifname")
            .filter_map(is_it)
            .collect()
    };
    let (active, fixed): (BTreeSet<String>, BTreeSet<String>) = (chosen("active"), chosen("fixed"));
    let mut handle = left.run(Ethtool::open).expect("ethtool's family");
    let features = handle.features(name).expect("told");
    assert_eq!(
        features.active.iter().cloned().collect::<BTreeSet<_>>(),
        active
    );
    assert!(
        features.changeable.iter().all(|name| !fixed.contains(name)),
        "{features:?}"
    );
    let all = active.iter().chain(&features.changeable);
    let unfixed: Vec<_> = all.filter(|name| !fixed.contains(*name)).collect();
    assert!(
        unfixed.iter().all(|name| features.is_changeable(name)),
        "{unfixed:?}"
    );
}

#[test]
fn a_feature_that_is_switched_ethtool_tells_so() {
    let [left, _right] = Net::new().pair();
    let name = left.interface().name;
    let mut handle = left.run(Ethtool::open).expect("ethtool's family");
    for on in [true, false, true] {
        handle
            .set_feature(name, "rx-gro", on)
            .expect("it is switched");
        assert_eq!(
            ethtool(&left, "-k")["generic-receive-offload"]["active"],
            on
        );
        assert_eq!(handle.features(name).expect("told").is_active("rx-gro"), on);
    }
    refused_with(
        handle.set_feature(name, "rx-dreams", true),
        Errno::OPNOTSUPP,
    );
}

#[test]
fn queues_and_stamps_are_what_ethtool_tells() {
    let [left, _right] = Net::new().pair();
    let name = left.interface().name;
    let mut handle = left.run(Ethtool::open).expect("ethtool's family");
    let channels = handle
        .channels(name)
        .expect("told")
        .expect("a veth has queues");
    let text = left.output_of(&format!("ethtool -l {name}"));
    let numbers: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("RX:"))
        .map(|value| value.trim().parse().ok())
        .collect();
    assert_eq!([channels.receive_max, channels.receive], numbers[..]);
    let stamps = handle
        .time_stamping(name)
        .expect("told")
        .expect("a veth is stamped");
    let text = left.output_of(&format!("ethtool -T {name}"));
    assert!(!stamps.capabilities.is_empty());
    for capability in &stamps.capabilities {
        assert!(
            text.lines().any(|line| line.trim() == capability),
            "{capability} in {text}"
        );
    }
    assert_eq!(
        stamps.clock.is_none(),
        text.contains("PTP Hardware Clock: none")
    );
    // The driver of a veth has neither.
    assert_eq!(handle.ring_sizes(name).expect("told"), None);
    assert_eq!(handle.coalescing(name).expect("told"), None);
}

/// The kernel's veth driver declares these (`veth_setup` and `veth_set_xdp_features`,
/// drivers/net/veth.c).
#[test]
fn a_veth_runs_xdp() {
    let [left, _right] = Net::new().pair();
    let mut handle = left.run(NetDevices::open).expect("the netdev family");
    let xdp = handle.xdp(left.interface().index).expect("told");
    assert!(
        xdp.runs() && xdp.redirects() && xdp.takes_fragments(),
        "{xdp:?}"
    );
    assert!(
        xdp.tells_time() && xdp.tells_hash() && xdp.tells_vlan(),
        "{xdp:?}"
    );
    assert!(!xdp.is_zero_copy(), "{xdp:?}");
    let loopback = handle.xdp(netlink::IfIndex(1)).expect("told");
    assert!(!loopback.runs(), "{loopback:?}");
}

#[test]
fn a_veth_polls_when_it_joins_packets() {
    let [left, _right] = Net::new().pair();
    let mut handle = left.run(NetDevices::open).expect("the netdev family");
    let index = left.interface().index;
    let count = |handle: &mut NetDevices| {
        let listing = handle.napi_instances(index).expect("told");
        assert!(!listing.interrupted);
        listing.items.len()
    };
    assert_eq!(count(&mut handle), 0);
    left.set_gro(netlink::Gro::On);
    assert_eq!(count(&mut handle), 1);
    let listing = handle.napi_instances(index).expect("told");
    assert_eq!(listing.items[0].defer_hard_irqs, Some(0));
    assert_eq!(listing.items[0].interrupt, None);
}

#[test]
fn neighbour_tables_are_what_ip_tells() {
    let [left, _right] = Net::new().pair();
    let tables = left.netlink().neighbour_tables().expect("told");
    for name in ["arp_cache", "ndisc_cache"] {
        let text = left.ip(&format!("-s ntable show name {name}"));
        let after = |key: &str| {
            let mut words = text.split_whitespace().skip_while(|word| *word != key);
            words.nth(1).and_then(|word| word.parse().ok())
        };
        let mut found = tables.items.iter().filter(|table| table.name == name);
        let table = found.next().expect("the table");
        assert!(found.next().is_none(), "{tables:?}");
        assert_eq!(table.keep, after("thresh1"), "{text}");
        assert_eq!(table.soft_limit, after("thresh2"));
        assert_eq!(table.limit, after("thresh3"));
        assert!(
            table.limit.is_some() && table.entries > Some(0),
            "{table:?}"
        );
    }
}

#[test]
fn an_unknown_link_has_no_driver() {
    let host = Host::new("host");
    let mut handle = host.run(Ethtool::open).expect("ethtool's family");
    let name = IfName::new("nowhere").expect("a name");
    let error = refused_with(handle.features(name), Errno::NODEV);
    assert!(
        error
            .to_string()
            .starts_with("cannot get features of link nowhere"),
        "{error}"
    );
}
