//! Link kinds that a machine may lack, under user-mode-linux: defaults on the command line are those of ip(8), and VRFs
//! are found by name.

use crate::UML;
use crate::support::stack::{done, json_of, objects, tapline, theirs, trimmed};
use lab::Host;
use serde_json::Value;

/// What ip(8) shows of a link, without what differs from one to the next.
#[track_caller]
fn shown(host: &Host, link: &str) -> Value {
    json_of(host, "ip", &format!("-d link show {link}"))[0]["linkinfo"].take()
}

#[test]
fn a_link_without_a_word_is_that_of_ip() {
    if UML.has_run() {
        return;
    }
    let host = Host::new("host");
    done(&host, "link add lower type dummy");
    for (below, kind) in [
        ("", "ip6tnl remote 2001:db8::1 local 2001:db8::2"),
        (
            "",
            "ip6tnl remote 2001:db8::1 mode ipip6 encaplimit none hoplimit 9",
        ),
        ("", "ip6tnl external"),
        ("", "ip6gre remote 2001:db8::1 local 2001:db8::2"),
        ("", "ip6gretap remote 2001:db8::1 tclass 5 flowlabel 7"),
        ("", "ipip remote 192.0.2.1 local 192.0.2.2"),
        ("", "sit remote 192.0.2.1 local 192.0.2.2"),
        ("", "gre remote 192.0.2.1 local 192.0.2.2"),
        ("", "gretap remote 192.0.2.1 local 192.0.2.2"),
        ("", "vxlan id 5"),
        ("", "vxlan id 5 dstport 4789"),
        ("", "geneve id 5 remote 192.0.2.1"),
        ("", "vrf table 10"),
        ("link lower", "vlan id 5"),
        ("link lower", "vlan id 5 gvrp on protocol 802.1ad"),
    ] {
        let line = format!("link add new0 {below} type {kind}");
        theirs(&host, "ip", &line);
        let wanted = shown(&host, "new0");
        theirs(&host, "ip", "link del new0");
        done(&host, &line);
        assert_eq!(shown(&host, "new0"), wanted, "{kind}");
        if kind.starts_with("vlan") {
            let ours = done(&host, "-d link show new0");
            let theirs = theirs(&host, "ip", "-d link show new0");
            let details = |text: &str| {
                let line = text.lines().find(|line| line.contains("vlan protocol"));
                line.map(|line| {
                    line.split_whitespace()
                        .take(6)
                        .collect::<Vec<_>>()
                        .join(" ")
                })
            };
            assert_eq!(details(&ours), details(&theirs), "{kind}");
        }
        done(&host, "link del new0");
    }
}

#[test]
fn a_vxlan_without_a_port_is_reported() {
    if UML.has_run() {
        return;
    }
    let host = Host::new("host");
    let said = |line: &str| String::from_utf8(tapline(&host, line).stderr).expect("text");
    assert!(said("link add v0 type vxlan id 5").contains("8472"));
    assert_eq!(said("link add v1 type vxlan id 6 dstport 4789"), "");
    assert_eq!(said("link add v2 type vxlan id 7 dstport 0"), "");
}

#[test]
fn a_vrf_is_printed_by_its_name() {
    if UML.has_run() {
        return;
    }
    let host = Host::new("host");
    done(&host, "link add red type vrf table 10");
    done(&host, "link set red up");
    done(&host, "link add va type veth peer name vb");
    done(&host, "link set va vrf red up");
    done(&host, "link set vb up");
    assert_eq!(json_of(&host, "ip", "link show va")[0]["master"], "red");
    done(&host, "addr add 10.0.0.1/24 dev va");
    done(&host, "route add 10.9.0.0/24 via 10.0.0.7 vrf red");
    for line in [
        "route show vrf red",
        "-br addr show vrf red",
        "link show vrf red",
    ] {
        let shown = trimmed(&theirs(&host, "ip", line));
        assert!(!shown.is_empty());
        assert_eq!(trimmed(&done(&host, line)), shown, "{line}");
    }
    for line in ["vrf", "vrf show", "vrf list red"] {
        let shown = trimmed(&theirs(&host, "ip", line));
        assert!(shown.last().is_some_and(|line| line.ends_with("10")));
        assert_eq!(trimmed(&done(&host, line)), shown, "{line}");
    }
    let ours = objects(&done(&host, "-j vrf"));
    assert_eq!(ours, json_of(&host, "ip", "vrf"));
    let way = theirs(&host, "ip", "route get 10.9.0.1 vrf red");
    let ours = done(&host, "route get 10.9.0.1 vrf red");
    assert_eq!(trimmed(&ours)[0], trimmed(&way)[0]);
    done(&host, "route del 10.9.0.0/24 vrf red");
    assert!(!theirs(&host, "ip", "route show vrf red").contains("10.9.0.0"));
}
