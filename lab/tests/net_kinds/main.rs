//! Links of every kind: made by us and by iproute2 they are the same, to iproute2 and to us; the words of
//! its command line mean to us what they mean to it; its JSON is ours.

#[path = "../ip_json/mod.rs"]
mod ip_json;

mod bond;
mod bridge;
mod compare;
mod phases;
mod refusals;
mod stacked;
mod tunnels;

use tapline_lab::{skip, uml};

/// The modules of the kinds, in an order in which each finds what it needs.
const MODULES: [&str; 20] = [
    "8021q",
    "bonding",
    "bridge",
    "dummy",
    "fou",
    "fou6",
    "geneve",
    "ifb",
    "ip_gre",
    "ip6_gre",
    "ip6_tunnel",
    "ipip",
    "ipvlan",
    "macvlan",
    "macvtap",
    "sit",
    "tun",
    "veth",
    "vrf",
    "vxlan",
];

#[test]
fn every_kind_is_as_iproute2_has_it() {
    if skip::without(&uml::USER_MODE_LINUX) {
        return;
    }
    uml::run(&MODULES);
}
