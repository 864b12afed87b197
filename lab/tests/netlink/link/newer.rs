//! Options that the installed iproute2 and user-mode-linux lack: the kernel reports what was set. The attribute numbers
//! are compared with other bindings of the kernel's headers.

use std::net::Ipv6Addr;

use crate::witness::{assert_reported, named};
use netlink::{Bridge, BridgePort, LabelPolicy, Macvlan, MacvlanMode, Veth, Vxlan};
use tapline_lab::Host;
use tapline_lab::skip::{self, Feature, kernel_at_least};

const NEWER_OPTIONS: Feature = Feature {
    name: "link options of Linux 6.7",
    probe: || kernel_at_least(6, 7),
};

#[test]
fn newer_options_are_reported_as_they_were_said() {
    if skip::without(&NEWER_OPTIONS) {
        return;
    }
    let host = Host::new("host");
    let mut netlink = host.netlink();
    let bridge = named("br0").kind(Bridge::new().fdb_max_learned(77));
    let made = netlink.create(&bridge).expect("made");
    assert_reported(&host, &bridge);
    assert_reported(&host, &named("br0").kind(Bridge::new().fdb_n_learned(0)));

    let pair = named("one").kind(Veth::to(named("two")));
    netlink.add(&pair.master(made.ifindex())).expect("made");
    let port = BridgePort::new()
        .neigh_vlan_suppress(true)
        .backup_nhid(5)
        .locked(true)
        .mab(true)
        .learning(true);
    let port = named("one").port(port);
    netlink.set(&port).expect("set");
    assert_reported(&host, &port);

    let limit = Macvlan::new().mode(MacvlanMode::Bridge).bclim(7);
    let mut upper = named("mac0").kind(limit);
    let lower = netlink.link_named("two").expect("told");
    upper.lower = lower.index;
    netlink.add(&upper).expect("made");
    assert_reported(&host, &upper);

    let tunnel = Vxlan::new()
        .id(5)
        .port(4789)
        .local6(Ipv6Addr::LOCALHOST)
        .localbypass(false);
    let tunnel = named("vx0").kind(tunnel.label_policy(LabelPolicy::Inherit));
    netlink.add(&tunnel).expect("made");
    assert_reported(&host, &tunnel);
}
