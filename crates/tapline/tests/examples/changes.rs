//! Examples that configure the network, and watch it.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use lab::{Host, Net, wait};

use super::text;
use crate::UML;
use crate::support::example;

/// The tests of the example run here, too.
#[path = "../../examples/fake_kernel.rs"]
#[expect(dead_code, reason = "the example is also a program of its own")]
mod fake_kernel;

#[test]
fn a_link_is_created_and_its_address_reported() {
    let host = Host::new("example");
    let output = host.command(&example("netlink")).output();
    assert_eq!(
        text(output.expect("it runs")),
        "192.0.2.1/24 is on example0\n"
    );
}

#[test]
fn a_bridge_has_the_ports_and_vlans_that_bridge_shows() {
    if UML.has_run() {
        return;
    }
    let host = Host::new("example");
    for port in ["access0", "trunk0"] {
        host.ip(&format!("link add {port} type ifb"));
    }
    let mut command = host.command(&example("bridge"));
    let said = text(
        command
            .args(["access0", "trunk0"])
            .output()
            .expect("it runs"),
    );
    assert_eq!(said.lines().count(), 12, "{said}");

    let links = host.ip("-brief link show master br0");
    assert!(
        links.contains("access0") && links.contains("trunk0"),
        "{links}"
    );
    let vlans = host.output_of("bridge -compressvlans vlan show");
    let vlans: Vec<_> = vlans.split_whitespace().collect();
    let expected = [
        "access0", "10", "PVID", "Egress", "Untagged", "trunk0", "10-20",
    ];
    assert_eq!(vlans[vlans.len() - expected.len()..], expected);
}

#[test]
fn routes_are_reported_as_they_change() {
    let [_left, right] = Net::new().pair();
    let mut command = right.command(&example("watch_routes"));
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut first = String::new();
    lines.read_line(&mut first).expect("a line");
    assert_eq!(first, "added 10.1.0.0/24\n");
    right.ip("route add 192.0.2.0/24 via 10.1.0.1");
    right.ip("route add default via 10.1.0.1");
    right.ip("route del default");
    wait::until("the example ends", || {
        child.try_wait().expect("its status").is_some()
    });
    assert!(child.wait().expect("its status").success());
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("the other lines");
    assert_eq!(
        rest,
        "added 192.0.2.0/24 via 10.1.0.1\nadded default via 10.1.0.1\nremoved default via 10.1.0.1\n"
    );
}

#[test]
fn the_links_of_a_group_change() {
    let host = Host::new("example");
    for (name, group) in [("a0", 7), ("b0", 7), ("c0", 0)] {
        host.ip(&format!("link add {name} group {group} type ifb"));
    }
    let mut command = host.command(&example("fake_kernel"));
    let said = text(command.args(["7", "9000"]).output().expect("it runs"));
    assert_eq!(said, "2 links changed\n");
    for (name, mtu) in [("a0", "mtu 9000"), ("b0", "mtu 9000"), ("c0", "mtu 1500")] {
        let link = host.ip(&format!("link show {name}"));
        assert!(link.contains(mtu), "{link}");
    }
}
