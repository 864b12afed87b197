//! `tapline tuntap` and `tapline link add … type tun` do what ip-tuntap(8) does. Compared with its JSON and
//! its text, and with `ip -d -json link`.

use crate::support::stack::{done, objects, refused, theirs, trimmed};
use lab::Host;
use serde_json::Value;

#[track_caller]
fn json(host: &Host, line: &str) -> Vec<Value> {
    serde_json::from_str(&theirs(host, "ip", &format!("-json {line}"))).expect("JSON")
}

/// What `ip LINE` prints, which reads files of the namespace.
#[track_caller]
fn tuntap(host: &Host, line: &str) -> String {
    let mut command = host.command("/usr/bin/unshare");
    let line = format!("mount -t sysfs sysfs /sys && ip {line}");
    let output = command.args(["--mount", "--", "sh", "-c", &line]).output();
    let text = String::from_utf8(output.expect("it runs").stdout).expect("text");
    // ip(8) calls the bit of `pi` by another name as well.
    text.replace(",\"filter\"", "").replace(" filter", "")
}

/// What is particular to the kind of each link, by its name.
fn kinds(host: &Host) -> Vec<(String, Value)> {
    let links = json(host, "-d link show");
    let tuns = links
        .iter()
        .filter(|link| link["linkinfo"]["info_kind"] == "tun");
    let name = |link: &Value| link["ifname"].as_str().expect("a name").to_owned();
    tuns.map(|link| (name(link), link["linkinfo"].clone()))
        .collect()
}

#[test]
fn they_are_made_and_shown_as_by_ip() {
    let [ours, theirs_of] = ["ours", "theirs"].map(Host::new);
    for line in [
        "tuntap add t0 mode tun",
        "tuntap add dev t1 mode tap user 5 group 6",
        "tuntap add name t2 mode tap user nobody pi vnet_hdr",
        "tuntap add t3 mode tun multi_queue",
    ] {
        done(&ours, line);
        theirs(&theirs_of, "ip", line);
    }
    done(&ours, "link add t4 mtu 1400 type tun mode tap user 7");
    theirs(&theirs_of, "ip", "tuntap add t4 mode tap user 7");
    theirs(&theirs_of, "ip", "link set t4 mtu 1400");
    let made = kinds(&ours);
    assert_eq!(made.len(), 5);
    assert_eq!(made, kinds(&theirs_of));
    assert_eq!(json(&ours, "link show t4")[0]["mtu"], 1400);

    let mut shown = objects(&done(&ours, "tuntap show --json"));
    let expected = tuntap(&ours, "-json tuntap show");
    let mut expected: Vec<Value> = serde_json::from_str(&expected).expect("JSON");
    let by_name = |shown: &Value| shown["ifname"].to_string();
    shown.sort_by_key(by_name);
    expected.sort_by_key(by_name);
    assert_eq!(shown, expected);
    let mut text = trimmed(&done(&ours, "tuntap"));
    let mut expected = trimmed(&tuntap(&ours, "tuntap"));
    text.sort();
    expected.sort();
    assert_eq!(text, expected);
    assert_eq!(
        objects(&done(&ours, "tuntap show --json mode tun")).len(),
        2
    );
    assert_eq!(objects(&done(&ours, "tuntap show --json dev t2")).len(), 1);
}

#[test]
fn they_are_removed_and_refusals_are_reported() {
    let host = Host::new("host");
    done(&host, "tuntap add t0 mode tun");
    let (text, status) = refused(&host, "tuntap add t0 mode tun");
    assert_eq!(text, "tapline: cannot add link t0: Device or resource busy");
    assert_eq!(status, 1);
    let (text, status) = refused(&host, "tuntap del t0 mode tap");
    assert!(text.contains("t0 is a tun"), "{text}");
    assert_eq!(status, 2);
    let (text, status) = refused(&host, "tuntap del lo mode tap");
    assert!(text.contains("lo is neither a tun nor a tap"), "{text}");
    assert_eq!(status, 2);
    assert_eq!(refused(&host, "tuntap add t1").1, 2);
    assert_eq!(refused(&host, "tuntap add mode tap").1, 2);
    assert_eq!(refused(&host, "tuntap set t0 pi").1, 2);
    let (text, status) = refused(&host, "tuntap add t1 mode tap user nosuchuser");
    assert!(text.contains("\"nosuchuser\" is not a user"), "{text}");
    assert_eq!(status, 2);
    done(&host, "tuntap del t0 mode tun");
    done(&host, "tuntap add t1 mode tap");
    done(&host, "link del t1");
    assert_eq!(done(&host, "tuntap"), "");
    assert_eq!(tuntap(&host, "tuntap"), "");
}
