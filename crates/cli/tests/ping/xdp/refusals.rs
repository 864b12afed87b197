//! What `tapline ping --backend xdp` rejects, and the error messages.

use super::runs::responder;
use crate::support::ping::ping;
use crate::support::run::spawn;
use crate::support::{Scene, ip_json, number};

/// An address of the link on another interface may be that of another host.
#[test]
fn a_run_has_one_interface() {
    let scene = Scene::new();
    scene.left.ip("link add veth7 type veth peer name veth8");
    for link in ["veth7", "veth8"] {
        scene.left.ip(&format!("link set {link} up"));
    }
    let ended = ping(
        &scene,
        "--backend xdp -q -c 1 -I left0 fe80::1%left0 fe80::1%veth7",
    );
    assert_eq!(
        ended.refusal(2),
        "fe80::1 is on interface veth7, and a run by XDP has one interface, here left0 (ping them in a run for each \
         interface, or use --backend raw)"
    );
}

#[test]
fn an_uplink_takes_a_high_rate_with_consent_only() {
    let scene = Scene::new();
    let _responder = responder(&scene);
    scene.left.ip("route add default via 10.1.0.2");
    let fast = "--backend xdp -q -c 500 -W 30 -i 0 --rate 20kpps 10.1.0.2";
    let ended = ping(&scene, fast);
    assert_eq!(
        ended.refusal(2),
        "interface left0 is an uplink, with a route wider than 10.0.0.0/8 or fc00::/7, and the rate is above 10 000 per second; give \
         --yes-on-uplink to ping on it"
    );
    let ended = ping(&scene, &format!("--yes-on-uplink {fast}"));
    ended.assert_mentions("500 packets transmitted, 500 received");
    let ended = ping(&scene, &fast.replace("20kpps", "10kpps"));
    ended.assert_mentions("500 packets transmitted, 500 received");
}

#[test]
fn a_payload_fits_into_the_mtu() {
    let scene = Scene::new();
    scene.left.ip("link set left0 mtu 1300");
    assert_eq!(
        number(&ip_json(&scene.left, "link show left0")[0], "mtu"),
        1300
    );
    let ended = ping(&scene, "--backend xdp -q -c 1 -s 1273 10.1.0.2");
    assert_eq!(
        ended.refusal(2),
        "interface left0 has an MTU of 1300 bytes: the payload may have 1272 (use -s, or --backend raw)"
    );
}

/// Also if the route of the target selects it.
#[test]
fn an_interface_without_mac_addresses_is_refused() {
    let scene = Scene::new();
    for line in [
        "tuntap add tun7 mode tun",
        "address add 192.0.2.1/24 dev tun7",
        "link set tun7 up",
    ] {
        scene.left.ip(line);
    }
    assert_eq!(
        ip_json(&scene.left, "link show tun7")[0]["link_type"],
        "none"
    );
    for interface in ["-I tun7 ", ""] {
        let line = format!("--backend xdp -q -c 1 {interface}192.0.2.2");
        assert_eq!(
            ping(&scene, &line).refusal(2),
            "interface tun7 has no MAC address, which XDP frames need (use --backend raw)"
        );
    }
}

#[test]
fn an_interface_without_address_or_carrier_is_named() {
    let scene = Scene::new();
    scene.left.ip("link add veth7 type veth peer name veth8");
    let refused = |words: &str| {
        let line = format!("--backend xdp -q -c 1 -I veth7 {words}");
        ping(&scene, &line).refusal(2).to_owned()
    };
    let down = "interface veth7 is down ('ip link set veth7 up' brings it up)";
    assert_eq!(refused("198.51.100.1"), down);
    for link in ["veth7", "veth8"] {
        scene.left.ip(&format!("link set {link} up"));
    }
    assert_eq!(
        refused("198.51.100.1"),
        "interface veth7 has no IPv4 address ('ip address add' gives it one)"
    );
    scene.left.ip("address add 192.0.2.1/24 dev veth7");
    assert_eq!(
        refused("198.51.100.1"),
        "interface veth7 reaches none of the targets ('ip route get ADDRESS' shows the way: give its interface with -I, or \
         add a route)"
    );
}

/// Each way for requests needs another capability beside those of the programs.
#[test]
fn the_capabilities_of_the_way_are_named() {
    let scene = Scene::new();
    for (kept, path, missing) in [
        (",+bpf,+net_admin,+perfmon", "xdp", "CAP_NET_RAW"),
        ("", "xdp", "CAP_NET_RAW"),
        ("", "live-frames", "CAP_SYS_ADMIN"),
    ] {
        let line = format!("ping --backend xdp --send-path {path} -q -c 1 10.1.0.1");
        let ended = spawn(scene.privileged_by(kept, &line)).finish();
        let needed =
            format!("(needs CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON and {missing}; run with sudo)");
        let refusal = ended.refusal(3);
        assert!(refusal.ends_with(&needed), "{refusal}");
    }
}

/// Without an interval and a rate, a run is as fast as it can be.
#[test]
fn a_rate_above_that_of_sockets_is_reported() {
    let scene = Scene::new();
    let said = "--backend xdp sends more probes per second than sockets can";
    for (line, is_said) in [
        ("-c 5 --rate max -i 0 10.1.0.2", true),
        ("-q -c 5 --rate max -i 0 10.1.0.2", false),
        ("-c 5 --rate 400kpps -i 0 10.1.0.2", true),
        ("-c 5 -i 0 10.1.0.2", false),
        ("-c 5 --backend raw --rate max -i 0 10.1.0.2", false),
    ] {
        let ended = ping(&scene, line);
        let found = ended.stderr.iter().any(|line| line.contains(said));
        assert_eq!(found, is_said, "{line}: {ended:?}");
    }
}
