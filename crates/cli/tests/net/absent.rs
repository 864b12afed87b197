//! Missing objects are an error where they are one with ip(8), and an empty list where ip(8) prints one.

use crate::support::stack::{batch, pair_host, refused, tapline};
use lab::Host;

fn host() -> Host {
    pair_host(&[
        "link add br0 type bridge",
        "link set vb master br0",
        "nexthop add id 1 dev va",
    ])
}

/// Whether a program of iproute2 is done with this command.
fn is_done_by(host: &Host, program: &str, line: &str) -> bool {
    let mut command = host.command(program);
    let output = command.args(line.split_whitespace()).output();
    output.expect("iproute2 runs").status.success()
}

const OF_IP: [&str; 65] = [
    "nexthop show id 77",
    "nexthop show id 1",
    "nexthop list id 0",
    "nexthop get id 77",
    "nexthop show dev nosuch",
    "nexthop show groups",
    "nexthop show vrf nosuch",
    "nexthop show master br0",
    "nexthop flush id 77",
    "nexthop del id 77",
    "route show table 77",
    "route show table 77 dev va",
    "route show table default",
    "route show table main",
    "route show table local",
    "route show table all",
    "route show table nosuch",
    "-6 route show table 77",
    "-6 route show table main",
    "route show 192.0.2.0/24",
    "route show vrf nosuch",
    "route get 192.0.2.1",
    "route flush table 77",
    "-6 route flush table 77",
    "route flush 192.0.2.0/24",
    "route del 192.0.2.0/24",
    "rule show pref 77",
    "rule show table 77",
    "rule show from 10.0.0.0/8",
    "rule show iif nosuch",
    "rule del pref 77",
    "rule flush table 77",
    "neigh show 10.0.0.9",
    "neigh show dev nosuch",
    "neigh get 10.0.0.9 dev va",
    "neigh show 10.0.0.9 dev va",
    "neigh show nud permanent",
    "neigh flush dev va",
    "neigh flush 10.0.0.9",
    "neigh del 10.0.0.9 dev va",
    "addr show to 10.9.0.0/16",
    "addr show dev nosuch",
    "addr show label foo",
    "addr show type vlan",
    "addr flush dev va to 10.9.0.0/16",
    "addr flush label foo",
    "addr del 10.0.0.7/24 dev va",
    "link show type vlan",
    "link show nosuch",
    "link show dev nosuch",
    "link show master br0",
    "link show master nosuch",
    "link show vrf nosuch",
    "link show group 77",
    "link show group nosuch",
    "link show type nosuch",
    "link del nosuch",
    "link set nosuch up",
    "tuntap show dev nosuch",
    "tuntap show mode tap",
    "vrf",
    "vrf show nosuch",
    "vrf show va",
    "netns list-id",
    "netns list-id nsid 5",
];

const OF_BRIDGE: [&str; 10] = [
    "fdb show dev nosuch",
    "fdb show br nosuch",
    "fdb show br va",
    "fdb get 02:00:00:00:00:99 br br0",
    "fdb get 02:00:00:00:00:99 dev vb",
    "fdb show dynamic",
    "fdb show state nosuch",
    "mdb show dev nosuch",
    "mdb show dev br0",
    "mdb show dev br0 grp 239.1.1.1",
];

#[test]
fn what_is_absent_fails_where_it_does_with_ip() {
    let host = host();
    let of_ip = OF_IP.map(|line| ("ip", line));
    let of_bridge = OF_BRIDGE.map(|line| ("bridge", line));
    for (program, line) in of_ip.into_iter().chain(of_bridge) {
        let wanted = is_done_by(&host, program, line);
        let output = tapline(&host, line);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), wanted, "{line}: {errors}");
        assert_eq!(errors.is_empty(), wanted, "{line}: {errors}");
    }
}

#[test]
fn what_is_absent_is_named() {
    let host = host();
    for (line, words) in [
        ("nexthop show id 77", "cannot get nexthop 77: No such file"),
        ("route show table 77", "cannot list routes (ipv4: FIB table"),
        ("-6 route flush table 77", "(ipv6: FIB table does not exist"),
    ] {
        let (text, status) = refused(&host, line);
        assert!(text.contains(words), "{line}: {text}");
        assert_eq!(status, 1, "{line}");
    }
    let (lines, status) = batch(&host, "", "route flush table 77\n");
    assert_eq!((&lines[0]["line"], status), (&1.into(), 1));
}
