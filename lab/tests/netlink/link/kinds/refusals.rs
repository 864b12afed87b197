//! Errors of rejected requests contain the kernel's text and the attribute that it names.

use netlink::{Bond, BondMode, LinkKind, Tun, TunMode, Veth, Vlan, Vrf, Vxlan};
use tapline_lab::Host;

use super::compare::host;
use crate::witness::named;

#[track_caller]
fn refused(host: &Host, lower: bool, kind: impl Into<LinkKind>) -> String {
    let mut netlink = host.netlink();
    let mut link = named("new0").kind(kind);
    if lower {
        link.lower = netlink.link_named("lower0").expect("told").index;
    }
    let error = netlink.add(&link).expect_err("refused");
    netlink.link_named("new0").expect_err("there is none");
    error.to_string()
}

#[test]
fn a_vlan_has_twelve_bits() {
    let Some(host) = host() else { return };
    // The text is that of vlan_validate, net/8021q/vlan_netlink.c.
    assert_eq!(
        refused(&host, true, Vlan::new().id(5000)),
        "cannot add link new0 (linkinfo.data.vlan-id: 8021q: Invalid VLAN id)"
    );
}

#[test]
fn a_vrf_has_a_table_and_a_vxlan_a_number_of_24_bits() {
    let Some(host) = host() else { return };
    // vrf_newlink, drivers/net/vrf.c.
    let said = refused(&host, false, Vrf::new());
    assert_eq!(said, "cannot add link new0 (VRF table id is missing)");
    // vxlan_validate, drivers/net/vxlan/vxlan_core.c.
    let said = refused(&host, false, Vxlan::new().id(1 << 24).port(4789));
    let expected =
        "cannot add link new0 (linkinfo.data.vxlan-id: VXLAN ID must be lower than 16777216)";
    assert_eq!(said, expected);
}

#[test]
fn an_unknown_bond_mode_is_rejected() {
    let Some(host) = host() else { return };
    let said = refused(&host, false, Bond::new().mode(BondMode::Other(77)));
    assert!(said.starts_with("cannot add link new0"), "{said}");
}

#[test]
fn what_cannot_be_said_is_not_sent() {
    let Some(host) = host() else { return };
    assert_eq!(refused(&host, false, Tun::new()), "cannot add link new0");
    let gone = Tun::new().mode(TunMode::Tap).persist(false);
    assert_eq!(refused(&host, false, gone), "cannot add link new0");
    // The driver would pass over it.
    assert_eq!(
        refused(&host, true, Tun::new().mode(TunMode::Tap)),
        "cannot add link new0"
    );
    let peer = named("far0")
        .up(true)
        .in_namespace(host.namespace().try_clone().expect("a descriptor"));
    assert_eq!(
        refused(&host, false, Veth::to(peer)),
        "cannot add link new0"
    );
}
