//! Addresses, routes, nexthops, rules, neighbours and forwarding entries are made and shown as iproute2
//! would. Compared with its JSON and its text.

mod support;

use lab::Host;
use serde_json::Value;
use support::stack::{assert_has_all, done, json_of, objects, refused, theirs, trimmed};

/// A host with a link that is up, of which the other end is `vb`.
fn host() -> Host {
    let host = Host::new("host");
    done(
        &host,
        "link add va type veth peer name vb address 02:00:00:00:00:09",
    );
    done(&host, "link set va up");
    done(&host, "link set vb up");
    done(&host, "addr add 10.0.0.1/24 brd + dev va");
    done(&host, "addr add 2001:db8::1/64 nodad dev va");
    host
}

#[test]
fn addresses_are_those_of_ip() {
    let host = host();
    let addresses = |shown: &Value| shown["addr_info"].as_array().cloned().expect("a list");
    let shown = json_of(&host, "ip", "addr show dev va");
    let ours = objects(&done(&host, "addr show --json dev va"));
    assert_has_all(&addresses(&ours[0]), &addresses(&shown[0]));
    assert_eq!(ours[0]["ifname"], "va");
    done(&host, "addr del 10.0.0.1/24 dev va");
    assert_eq!(
        objects(&done(&host, "addr show --json -4 dev va")),
        [] as [Value; 0]
    );
    let (text, status) = refused(&host, "addr del 10.0.0.1/24 dev va");
    assert!(
        text.starts_with("tapline: cannot remove address 10.0.0.1 of link va"),
        "{text}"
    );
    assert_eq!(status, 1);
}

#[test]
fn routes_are_those_of_ip() {
    let host = host();
    for line in [
        "add default via 10.0.0.254",
        "add 192.0.2.0/24 via 10.0.0.3 metric 7 mtu 1400",
        "add 198.51.100.0/24 nexthop via 10.0.0.4 dev va weight 2 nexthop via 10.0.0.5 dev va",
        "add 203.0.113.0/24 dev va table 77 proto static",
        "add blackhole 233.252.0.0/24",
        "add 2001:db8:7::/48 via 2001:db8::7",
    ] {
        done(&host, &format!("route {line}"));
    }
    for (ours, line) in [
        ("route show", "route show"),
        ("route show table 77", "route show table 77"),
        ("route show 192.0.2.0/24", "route show 192.0.2.0/24"),
    ] {
        assert_eq!(
            trimmed(&done(&host, ours)).len(),
            trimmed(&theirs(&host, "ip", line)).len()
        );
    }
    assert_eq!(
        trimmed(&done(&host, "route")),
        trimmed(&theirs(&host, "ip", "route"))
    );
    assert_has_all(
        &objects(&done(&host, "route --json")),
        &json_of(&host, "ip", "route"),
    );
    let ours = objects(&done(&host, "route -6 --json"));
    assert_has_all(&ours, &json_of(&host, "ip", "-6 route"));
    let all = objects(&done(&host, "route show table all --json"));
    assert_eq!(
        all.len(),
        json_of(&host, "ip", "route show table all").len()
    );
    let way = &objects(&done(&host, "route get 192.0.2.9 --json"))[0];
    let theirs = &json_of(&host, "ip", "route get 192.0.2.9")[0];
    for key in ["dst", "gateway", "dev", "prefsrc"] {
        assert_eq!(way[key], theirs[key], "{key}");
    }
    done(&host, "route del 192.0.2.0/24");
    let (text, status) = refused(&host, "route del 192.0.2.0/24");
    assert_eq!(
        text,
        "tapline: cannot remove route 192.0.2.0/24: No such process"
    );
    assert_eq!(status, 1);
    assert_eq!(refused(&host, "route add 10.0.0.0/33 dev va").1, 2);
}

#[test]
fn nexthops_and_rules_are_those_of_ip() {
    let host = host();
    done(&host, "nexthop add id 5 via 10.0.0.9 dev va");
    done(&host, "nexthop add id 7 via 10.0.0.10 dev va");
    done(&host, "nexthop add id 6 group 5/7,2");
    done(&host, "route add 192.0.2.0/24 nhid 6");
    assert_eq!(
        trimmed(&done(&host, "nexthop")),
        trimmed(&theirs(&host, "ip", "nexthop"))
    );
    assert_has_all(
        &objects(&done(&host, "nexthop --json")),
        &json_of(&host, "ip", "nexthop"),
    );

    done(&host, "rule add from 10.1.0.0/16 lookup 77 priority 900");
    done(
        &host,
        "rule add fwmark 0x7/0xff iif va lookup main priority 901",
    );
    assert_eq!(
        trimmed(&done(&host, "rule")),
        trimmed(&theirs(&host, "ip", "rule"))
    );
    assert_has_all(
        &objects(&done(&host, "rule --json")),
        &json_of(&host, "ip", "rule"),
    );
    done(&host, "rule add from 10.2.0.0/16 priority 902");
    let shown = theirs(&host, "ip", "rule show priority 902");
    assert_eq!(shown.trim(), "902:\tfrom 10.2.0.0/16 lookup main");
    done(&host, "rule del priority 902");
    for verb in ["add", "del"] {
        assert_eq!(refused(&host, &format!("rule {verb}")).1, 2);
    }
    done(&host, "rule del priority 900");
    assert_eq!(objects(&done(&host, "rule --json")).len(), 4);
}

#[test]
fn neighbours_and_forwarding_entries_are_those_of_iproute2() {
    let host = host();
    done(&host, "neigh add 10.0.0.7 lladdr 02:00:00:00:00:07 dev va");
    done(
        &host,
        "neigh replace 2001:db8::7 lladdr 02:00:00:00:00:07 nud reachable dev va",
    );
    let sorted = |mut shown: Vec<Value>| {
        shown.sort_by_key(|neigh| neigh["dst"].to_string());
        shown
    };
    let ours = sorted(objects(&done(&host, "neigh --json")));
    assert_has_all(&ours, &sorted(json_of(&host, "ip", "neigh")));
    let text = done(&host, "neigh show -4");
    assert_eq!(trimmed(&text), trimmed(&theirs(&host, "ip", "-4 neigh")));

    done(&host, "link add br0 type bridge");
    done(&host, "link set vb master br0");
    done(&host, "fdb add 02:00:00:00:00:77 dev vb master static");
    let of = |shown: Vec<Value>| {
        let found = shown
            .into_iter()
            .filter(|entry| entry["mac"] == "02:00:00:00:00:77");
        found.collect::<Vec<_>>()
    };
    let ours = of(objects(&done(&host, "fdb --json")));
    assert_has_all(&ours, &of(json_of(&host, "bridge", "fdb show")));
    done(&host, "fdb del 02:00:00:00:00:77 dev vb master");
    assert!(of(objects(&done(&host, "fdb --json"))).is_empty());
}

/// Objects of several kinds, made in one batch.
#[test]
fn a_batch_makes_objects_of_all_kinds() {
    let host = host();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("commands");
    let mut commands = "neigh add 10.0.0.8 lladdr 02:00:00:00:00:08 dev va\n".to_owned();
    commands +=
        "rule add from 10.1.0.0/16 lookup 77 priority 900\nnexthop add id 5 via 10.0.0.8 dev va\n";
    for number in 0..1000 {
        let (third, fourth) = (100 + number / 250, number % 250);
        commands.extend([
            "route add 10.",
            &third.to_string(),
            ".",
            &fourth.to_string(),
        ]);
        commands += ".0/24 nhid 5\n";
    }
    std::fs::write(&file, commands).expect("written");
    let text = done(&host, &format!("batch --force --json {}", file.display()));
    let summary: Value = serde_json::from_str(text.trim()).expect("one line");
    assert_eq!(
        (&summary["done"], &summary["failed"]),
        (&1003.into(), &0.into())
    );
    let routes = json_of(&host, "ip", "route show");
    let by_nexthop = routes.iter().filter(|route| route["nhid"] == 5);
    assert_eq!(by_nexthop.count(), 1000);
}
