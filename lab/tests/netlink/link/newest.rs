//! Link kinds that neither the running kernel nor user-mode-linux has: the kernel reports what was set.

use crate::VM;
use crate::witness::{assert_reported, json, named, run};
use netlink::{LinkKind, Netkit, NetkitMode, NetkitPolicy};
use tapline_lab::Host;

/// The kind of a link, as iproute2 shows it.
#[track_caller]
fn kind_shown(host: &Host, name: &str) -> String {
    let shown = json(host, &format!("ip link show {name}"));
    let kind = shown[0]["linkinfo"]["info_kind"].as_str();
    kind.expect("a kind").to_owned()
}

#[test]
fn a_wireguard_link_is_made_and_removed() {
    if VM.has_run() {
        return;
    }
    let host = Host::new("host");
    let wanted = named("wg0").kind(LinkKind::Wireguard).mtu(1380);
    host.netlink().add(&wanted).expect("made");
    assert_reported(&host, &wanted);
    assert_eq!(kind_shown(&host, "wg0"), "wireguard");
    host.netlink().del(&named("wg0")).expect("removed");
    run(&host, "ip link add wg1 type wireguard");
    assert_reported(&host, &named("wg1").kind(LinkKind::Wireguard));
}

#[test]
fn a_netkit_pair_is_made_and_removed() {
    if VM.has_run() {
        return;
    }
    let host = Host::new("host");
    let data = Netkit::new()
        .mode(NetkitMode::L2)
        .policy(NetkitPolicy::Blackhole);
    let pair = data.clone().peer(Box::new(named("nk1").up(true)));
    host.netlink()
        .add(&named("nk0").up(true).kind(pair))
        .expect("made");
    assert_reported(&host, &named("nk0").kind(data.primary(true)));
    assert_reported(
        &host,
        &named("nk1").up(true).kind(Netkit::new().primary(false)),
    );
    assert_eq!(kind_shown(&host, "nk0"), "netkit");
    host.netlink().del(&named("nk0")).expect("removed");
    host.netlink()
        .link_named("nk1")
        .expect_err("its end went along");
    run(&host, "ip link add nk2 type netkit");
    let of_ip = Netkit::new().mode(NetkitMode::L3).primary(true);
    assert_reported(&host, &named("nk2").kind(of_ip));
}
