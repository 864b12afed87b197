//! Options of rules, bridge ports, routes and neighbours, in iproute2's syntax. Compared with its JSON and its text.

use std::collections::BTreeSet;
use std::process::Stdio;

use crate::support::stack::{assert_refused, done, json_of, objects, refused, theirs, words};
use lab::Host;
use serde_json::Value;

/// A printed rule can be typed again.
#[test]
fn a_printed_rule_deletes_itself() {
    let host = Host::new("host");
    done(
        &host,
        "rule add not from 10.0.0.0/8 ipproto tcp dport 80 table 7",
    );
    done(&host, "rule add dport 80-90 sport 1 ipproto udp table 8");
    let printed = done(&host, "rule");
    let lines: Vec<_> = printed
        .lines()
        .filter(|line| line.contains("dport"))
        .collect();
    assert_eq!(lines.len(), 2);
    for line in &lines {
        let (priority, rule) = line.split_once(':').expect("a priority");
        done(&host, &format!("rule del {rule} priority {priority}"));
    }
    assert!(!theirs(&host, "ip", "rule").contains("dport"));
    done(&host, "rule flush");
    assert_eq!(
        theirs(&host, "ip", "rule").trim_end(),
        "0:\tfrom all lookup local"
    );
}

/// Words of a port that stand still.
fn port_words(text: &str) -> Vec<(String, String)> {
    let line = text
        .lines()
        .find(|line| line.contains("bridge_slave"))
        .expect("a port");
    let words: Vec<_> = line.split_whitespace().skip(1).map(str::to_owned).collect();
    let (pairs, _) = words.as_chunks::<2>();
    let pairs = pairs
        .iter()
        .map(|[word, value]| (word.clone(), value.clone()));
    pairs
        .filter(|(word, _)| !word.ends_with("_timer"))
        .collect()
}

#[test]
fn bridges_and_their_ports_are_those_of_ip() {
    let host = Host::new("host");
    done(
        &host,
        "link add br0 type bridge group_fwd_mask 0x4010 mcast_querier 1 up",
    );
    done(&host, "link add va type veth peer name vb");
    done(
        &host,
        "link set va master br0 up type bridge_slave isolated on group_fwd_mask 0x4034",
    );
    let theirs_of = |link: &str| json_of(&host, "ip", &format!("-d link show {link}"));
    let ours_of = |link: &str| objects(&done(&host, &format!("--json -d link show {link}")));
    for (link, data) in [("va", "info_slave_data"), ("br0", "info_data")] {
        let (ours, theirs) = (ours_of(link), theirs_of(link));
        let (ours, theirs) = (&ours[0]["linkinfo"], &theirs[0]["linkinfo"]);
        let fields = theirs[data].as_object().expect("fields");
        assert!(fields.len() > 25, "{theirs}");
        for (key, value) in fields.iter().filter(|(key, _)| !key.ends_with("_timer")) {
            assert_eq!(&ours[data][key], value, "{key}");
        }
        let timers = fields.keys().filter(|key| key.ends_with("_timer"));
        assert!(
            timers.into_iter().all(|key| ours[data][key].is_f64()),
            "{ours}"
        );
    }
    let (ours, theirs) = (
        done(&host, "-d link show va"),
        theirs(&host, "ip", "-d link show va"),
    );
    let (ours, theirs): (BTreeSet<_>, BTreeSet<_>) = (
        port_words(&ours).into_iter().collect(),
        port_words(&theirs).into_iter().collect(),
    );
    assert!(
        theirs.len() > 25 && ours.is_superset(&theirs),
        "{ours:?}\n{theirs:?}"
    );
}

#[test]
fn a_link_has_modes_and_other_names() {
    let host = Host::new("host");
    done(&host, "link add f0 type ifb");
    let shown = || json_of(&host, "ip", "link show f0").remove(0);
    done(
        &host,
        "link set f0 mode dormant dynamic on txqlen 5 alias x",
    );
    assert_eq!(
        (&shown()["linkmode"], &shown()["txqlen"]),
        (&"DORMANT".into(), &5.into())
    );
    assert!(
        shown()["flags"]
            .as_array()
            .is_some_and(|flags| flags.contains(&"DYNAMIC".into()))
    );
    done(&host, "link set f0 mode default dynamic off");
    assert_eq!(shown()["linkmode"], "DEFAULT");
    assert!(
        shown()["flags"]
            .as_array()
            .is_some_and(|flags| !flags.contains(&"DYNAMIC".into()))
    );
    done(
        &host,
        "link property add dev f0 altname a-name-beyond-fifteen altname other",
    );
    assert_eq!(
        shown()["altnames"],
        Value::from(vec!["a-name-beyond-fifteen", "other"])
    );
    done(&host, "link set a-name-beyond-fifteen mtu 1400");
    done(&host, "link property del f0 altname other");
    assert_eq!(
        shown()["altnames"],
        Value::from(vec!["a-name-beyond-fifteen"])
    );
    assert_eq!(shown()["mtu"], 1400);
    for line in [
        "link property",
        "link property frob f0",
        "link property add f0",
    ] {
        assert_eq!(refused(&host, line).1, 2, "{line}");
    }
    let (text, status) = refused(&host, "link set f0 mode frob");
    assert!(
        text.contains("\"frob\" is not one of default and dormant"),
        "{text}"
    );
    assert_eq!(status, 2);
}

#[test]
fn a_vxlan_says_whose_hops_its_packets_have() {
    let host = routed();
    let wanted = "type vxlan id 7 remote 10.0.0.8 dstport 4789 dev va";
    done(&host, &format!("link add v0 {wanted}"));
    done(&host, &format!("link add v1 {wanted} id 8 ttl inherit"));
    let details = |text: &str| {
        let line = text
            .lines()
            .find(|line| line.contains("vxlan id"))
            .expect("a line");
        let words = line
            .split_whitespace()
            .take_while(|word| *word != "addrgenmode");
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    for (link, inherits) in [("v0", false), ("v1", true)] {
        let line = format!("-d link show {link}");
        let text = theirs(&host, "ip", &line);
        assert_eq!(text.contains("ttl inherit"), inherits, "{text}");
        assert_eq!(details(&done(&host, &line)), details(&text));
        let theirs = &json_of(&host, "ip", &line)[0]["linkinfo"]["info_data"];
        let ours = &objects(&done(&host, &format!("--json {line}")))[0]["linkinfo"]["info_data"];
        assert_eq!(ours["ttl_inherit"], inherits);
        for key in ["id", "remote", "link", "port"] {
            assert_eq!(ours[key], theirs[key], "{key}");
        }
    }
}

#[test]
fn a_link_goes_to_the_namespace_of_a_process() {
    let (host, other) = (routed(), Host::new("other"));
    // It ends with its input.
    let mut process = other.command("/bin/cat");
    let mut process = process.stdin(Stdio::piped()).spawn().expect("it waits");
    done(
        &host,
        &format!("link set vb netns {} name vc", process.id()),
    );
    assert_eq!(json_of(&other, "ip", "link show vc").len(), 1);
    assert_eq!(refused(&host, "link show vb").1, 1);
    drop(process.stdin.take());
    process.wait().expect("it has ended");
    let (text, status) = refused(&host, "link set va netns nowhere");
    // Those that exist follow.
    let missing = "tapline: link: there is no network namespace nowhere (";
    assert!(text.starts_with(missing), "{text}");
    assert_eq!(status, 1);
}

fn routed() -> Host {
    let host = Host::new("host");
    done(&host, "link add va type veth peer name vb");
    done(&host, "link set va up");
    done(&host, "link set vb up");
    done(&host, "addr add 10.0.0.1/24 dev va");
    done(&host, "addr add 2001:db8::1/64 nodad dev va");
    for line in [
        "192.0.2.0/24 via 10.0.0.3",
        "192.0.2.0/25 via 10.0.0.3 proto static",
        "192.0.2.5 via 10.0.0.4 tos 0x10",
        "default via 10.0.0.254",
        "10.0.0.0/16 via 10.0.0.7",
        "203.0.113.0/24 dev va table 77",
        "blackhole 233.252.0.0/24",
        "2001:db8:7::/48 via 2001:db8::7",
        "default via 2001:db8::9",
    ] {
        done(&host, &format!("route add {line}"));
    }
    host
}

const ROUTES: [&str; 22] = [
    "route show root 192.0.2.0/24",
    "route show to root 192.0.2.0/25",
    "route show match 192.0.2.5",
    "route show match 192.0.2.0/25",
    "route show exact 192.0.2.0/24",
    "route show 192.0.2.0/24",
    "route show 192.0.2.5",
    "route show default",
    "-6 route show default",
    "-6 route show root 2001:db8:7::/47",
    "-6 route show match 2001:db8:7::1",
    "route show table 77",
    "route show table all",
    "-6 route show table all",
    "route show dev va",
    "route show type blackhole",
    "route show type broadcast table local",
    "route show proto static",
    "route show via 10.0.0.3",
    "route show root 192.0.2.0/24 match 192.0.2.0/25",
    "-d route show dev va",
    "route get fibmatch 192.0.2.5",
];

#[test]
fn routes_are_chosen_as_ip_does() {
    let host = routed();
    for line in ROUTES {
        let shown = words(&theirs(&host, "ip", line));
        assert_eq!(words(&done(&host, line)), shown, "{line}");
    }
    for line in [
        "route get 192.0.2.7",
        "route get to 192.0.2.7/32 from 10.0.0.1",
        "route get 192.0.2.7 oif va",
        "route get 192.0.2.7 mark 5",
        "route get 2001:db8:7::1",
    ] {
        let ours = objects(&done(&host, &format!("--json {line}")));
        for (key, value) in json_of(&host, "ip", line)[0].as_object().expect("keys") {
            // An empty list, of flags that the kernel has no more.
            if key != "cache" {
                assert_eq!(&ours[0][key], value, "{key} of {line}");
            }
        }
    }
}

/// The same flush by ip(8) and here leaves the same.
#[test]
fn routes_and_neighbours_are_flushed_as_ip_does() {
    for line in [
        "route flush proto static",
        "route flush table 77",
        "route flush root 192.0.2.0/24",
        "route flush dev va",
        "-6 route flush root 2001:db8:7::/48",
        "route flush type blackhole",
        "neigh flush dev va",
        "neigh flush to 10.0.0.0/28",
        "neigh flush dev va nud permanent",
        "nexthop flush",
    ] {
        let states = [true, false].map(|by_us| {
            let host = routed();
            done(&host, "neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev va");
            done(
                &host,
                "neigh add 10.0.0.10 lladdr 02:00:00:00:00:0a dev va nud stale",
            );
            done(
                &host,
                "neigh add 10.0.0.20 lladdr 02:00:00:00:00:0b dev va nud stale",
            );
            done(&host, "nexthop add id 5 dev va");
            if by_us {
                done(&host, line);
            } else {
                theirs(&host, "ip", line);
            }
            let questions = [
                "route show table all",
                "-6 route show table all",
                "nexthop",
                "neigh",
            ];
            questions.map(|question| {
                let mut lines = words(&theirs(&host, "ip", question));
                // The kernel makes some of its own later, and keeps those of IPv6 in no order.
                lines.retain(|line| !line.contains("proto kernel") || !line.contains(':'));
                lines.sort();
                lines
            })
        });
        assert_eq!(states[0], states[1], "{line}");
    }
}

#[test]
fn a_vrf_is_no_bridge() {
    let host = routed();
    done(&host, "link add br0 type bridge");
    for line in [
        "link set va vrf br0",
        "route add 10.9.0.0/24 dev va vrf br0",
        "route show vrf br0",
        "route get 10.0.0.9 vrf br0",
        "neigh show vrf br0",
        "addr show vrf br0",
    ] {
        assert_refused(&host, &[(line, "\"br0\" is not a VRF", 2)]);
    }
}
