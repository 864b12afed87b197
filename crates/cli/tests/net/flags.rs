//! Output flags: error counters, colours, JSON in several lines. Compared with ip(8).

use crate::support::stack::{done, json_of, refused, theirs};
use lab::Host;

fn host() -> Host {
    let host = Host::new("host");
    for line in [
        "link set lo up",
        "link add va type veth peer name vb",
        "link set va up",
        "link set vb up",
        "addr add 10.0.0.1/24 dev va",
        "addr add 2001:db8::1/64 dev va nodad",
        "link add br0 type bridge",
        "link set vb master br0",
        "neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev va",
        "route add 192.0.2.0/24 via 10.0.0.9",
        "route add 192.0.3.0/24 nexthop via 10.0.0.9 nexthop via 10.0.0.8",
        "nexthop add id 1 via 10.0.0.9 dev va",
        "rule add from 10.1.0.0/16 to 10.2.0.0/16 lookup 7",
    ] {
        done(&host, line);
    }
    host
}

#[test]
fn addresses_and_states_are_coloured() {
    let host = host();
    for (line, part) in [
        ("link show va", "state \x1b[32mUP\x1b[0m "),
        ("addr show va", "inet \x1b[35m10.0.0.1/24\x1b[0m "),
        ("addr show va", "inet6 \x1b[34m2001:db8::1/64\x1b[0m "),
        ("neigh", "lladdr \x1b[33m02:00:00:00:00:09\x1b[0m "),
    ] {
        let text = done(&host, &format!("-c {line}"));
        assert!(text.contains(part), "{line}: {text}");
    }
    let plain = done(&host, "link");
    for flag in ["-c=never", "-c=auto", "-color=auto", "--color=never"] {
        assert_eq!(done(&host, &format!("{flag} link")), plain, "{flag}");
    }
    let flags = ["-c", "-color", "-color=always", "--color"];
    let [first, others @ ..] = flags.map(|flag| done(&host, &format!("{flag} link")));
    assert_ne!(first, plain);
    assert!(others.iter().all(|text| *text == first));
    assert_eq!(done(&host, "-c -j link"), done(&host, "-j link"));
    assert_eq!(refused(&host, "-c=perhaps link").1, 2);
}

#[test]
fn json_may_stand_in_several_lines() {
    let host = host();
    let plain = done(&host, "-j route");
    for line in ["-j -p route", "-j -pretty route", "route --json --pretty"] {
        let text = done(&host, line);
        assert!(text.lines().count() > 20, "{text}");
        let values = serde_json::Deserializer::from_str(&text).into_iter();
        let lines = values.map(|value| {
            let value: serde_json::Value = value.expect("JSON");
            format!("{value}\n")
        });
        assert_eq!(lines.collect::<String>(), plain, "{line}");
    }
    assert_eq!(done(&host, "-p route"), done(&host, "route"));
}

#[test]
fn ports_are_set_in_the_words_of_bridge() {
    let [ours, others] = [host(), host()];
    for line in [
        "learning off flood off isolated on cost 7 priority 9 hairpin on",
        "guard on root_block on neigh_suppress on mcast_flood off bcast_flood off master",
        "learning on mcast_to_unicast on fastleave on mcast_router 2",
        "backup_port br0",
        "nobackup_port",
    ] {
        let line = format!("link set dev vb {line}");
        if line.contains("backup_port br0") {
            // A bridge is no port.
            assert_eq!(refused(&ours, &line).1, 1);
            continue;
        }
        done(&ours, &line);
        theirs(&others, "bridge", &line);
        let shown = [&ours, &others].map(|host| json_of(host, "bridge", "-d link show dev vb"));
        assert_eq!(shown[0], shown[1], "{line}");
    }
    done(&ours, "link set vb type bridge_slave nobackup_port");
    for word in ["self", "hwmode veb"] {
        let (text, status) = refused(&ours, &format!("link set dev vb learning off {word}"));
        assert!(
            text.contains("switches of devices are not set here"),
            "{text}"
        );
        assert_eq!(status, 2);
    }
    // It is no port.
    assert_ne!(refused(&ours, "link set dev va learning off").1, 0);
    assert_eq!(refused(&ours, "link add f0 type ifb learning off").1, 2);
}

#[test]
fn replace_makes_a_link_as_in_ip() {
    let host = host();
    done(&host, "link replace f0 mtu 1400 type ifb");
    assert_eq!(json_of(&host, "ip", "link show f0")[0]["mtu"], 1400);
    assert_eq!(refused(&host, "link replace f0 mtu 1500 type ifb").1, 1);
    assert_eq!(refused(&host, "link replace f1 mtu 1500").1, 2);
}
