//! Commands have the same effect as the same commands of ip(8). Compared with its text and JSON.

use crate::support::stack::{done, json_of, objects, pair_host, refused, theirs, trimmed};
use lab::Host;

fn host() -> Host {
    pair_host(&[
        "route add default via 10.0.0.3",
        "route add 192.0.2.0/24 via 10.0.0.3",
        "neigh add 10.0.0.10 lladdr 02:00:00:00:00:0a dev va nud stale",
        "neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev va",
    ])
}

/// Lines in an order of their own.
fn sorted(text: &str) -> Vec<String> {
    let mut lines = trimmed(text);
    lines.sort();
    lines
}

#[test]
fn all_means_all() {
    let host = host();
    for line in [
        "route show all",
        "route show any",
        "route show root all",
        "route show exact any",
        "route show default",
        "route show 0/0",
        "route show root 10/8",
        "route show 192.0.2/24",
        "-4 route show all",
        "-4 route show match any",
        "route show tos 0",
        "route show metric 0",
        "route show scope link",
        "neigh show all",
        "neigh show to any",
        "neigh show 10.0/16",
    ] {
        let shown = sorted(&theirs(&host, "ip", line));
        assert!(!shown.is_empty(), "{line}");
        assert_eq!(sorted(&done(&host, line)), shown, "{line}");
    }
    done(&host, "neigh flush all");
    assert_eq!(trimmed(&theirs(&host, "ip", "-4 neigh")).len(), 1);
    done(&host, "route flush all");
    assert_eq!(theirs(&host, "ip", "route"), "");
}

/// ip(8) reads an index in decimal digits, also behind a zero.
#[test]
fn the_index_and_the_state_of_a_link_are_those_of_ip() {
    let [ours, others] = [host(), host()];
    for line in [
        "link add i0 index 0100 type bridge",
        "link set lo state dormant",
    ] {
        done(&ours, line);
        theirs(&others, "ip", line);
    }
    let [ours, theirs] = [&ours, &others].map(|host| {
        let [bridge, lo] =
            ["link show i0", "link show lo"].map(|line| json_of(host, "ip", line).remove(0));
        (bridge["ifindex"].clone(), lo["operstate"].clone())
    });
    assert_eq!(ours, theirs);
    assert_eq!(ours, (100.into(), "DORMANT".into()));
}

#[test]
fn a_packet_of_a_named_protocol_has_the_route_of_ip() {
    let host = host();
    let line = "route get 192.0.2.5 ipproto tcp sport 5 dport 6";
    let ours = objects(&done(&host, &format!("{line} --json"))).remove(0);
    let theirs = json_of(&host, "ip", line).remove(0);
    assert_eq!(ours["gateway"], "10.0.0.3");
    assert_eq!(ours["gateway"], theirs["gateway"]);
}

#[test]
fn new_links_are_those_of_ip() {
    let [ours, others] = [host(), host()];
    for line in [
        "external dstport 4790",
        "external learning dstport 4791",
        "id 5 group 239.1.1.1 dev va dstport 4792",
        "id 5 dstport 4793 ageing none maxaddress unlimited",
        "id 5 dstport 4794 remote fd00::5 label 100 hoplimit 0x10",
    ] {
        let line = format!("link add vx type vxlan {line}");
        done(&ours, &line);
        theirs(&others, "ip", &line);
        let [ours, theirs] = [&ours, &others].map(|host| {
            let shown = json_of(host, "ip", "-d link show vx").remove(0);
            done(host, "link del vx");
            (shown["linkinfo"].clone(), shown["group"].clone())
        });
        assert_eq!(ours, theirs, "{line}");
    }
    for line in ["link add", "link add f0", "link add f0 mtu 1400"] {
        let (text, code) = refused(&ours, line);
        assert!(text.contains("type is required"), "{line}: {text}");
        assert_eq!(code, 2, "{line}");
    }
    let (text, code) = refused(&ours, "link add sixteen-bytes-xx type dummy");
    assert!(text.contains("longer than 15 bytes"), "{text}");
    assert_eq!(code, 2);
    let line = "neigh add 10.0.0.7 managed dev va";
    done(&ours, line);
    theirs(&others, "ip", line);
    let [ours, theirs] = [&ours, &others].map(|host| {
        let shown = json_of(host, "ip", "neigh show 10.0.0.7").remove(0);
        let states = shown["state"].as_array().expect("states").clone();
        (
            shown["managed"].clone(),
            states.contains(&"PERMANENT".into()),
        )
    });
    assert_eq!(ours, theirs);
    assert!(!ours.1);
}

#[test]
fn a_peer_that_is_down_is_reported() {
    let host = host();
    done(&host, "link set vb down");
    assert!(theirs(&host, "ip", "link show va").contains(",M-DOWN>"));
    for line in ["link show va", "link", "addr show va", "-br link"] {
        let words = |text: String| {
            let lines = trimmed(&text).into_iter();
            let flags = lines.filter_map(|line| {
                let flags = line.split_once('<')?.1.split_once('>')?.0;
                Some(flags.to_owned())
            });
            flags.collect::<Vec<_>>()
        };
        let shown = words(theirs(&host, "ip", line));
        assert!(!shown.is_empty(), "{line}");
        assert_eq!(words(done(&host, line)), shown, "{line}");
    }
    for line in ["link show va", "-br link show va", "addr show va"] {
        let ours = objects(&done(&host, &format!("--json {line}")));
        let theirs = json_of(&host, "ip", line);
        assert_eq!(ours[0]["flags"], theirs[0]["flags"], "{line}");
    }
}
