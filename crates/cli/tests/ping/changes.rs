//! Targets that change during a run: repeated name lookups, and a file that is read again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::symlink;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::dns::{self, NameServer, Record};
use crate::support::nft::{counters, load};
use crate::support::ping::{start, start_with_files};
use crate::support::run::Running;
use crate::support::scrape::{address, ask};
use crate::support::{Scene, assert_has, ip, number};

/// The addresses 10.1.0.2 and so on, which all are right's.
const HOSTS: [u8; 4] = [2, 3, 4, 5];

/// Gives right the addresses, and counts the echo requests to each.
fn scene() -> Scene {
    let scene = Scene::new();
    let mac = scene.right.interface().mac;
    let [mut declared, mut rules] = [(); 2].map(|()| String::new());
    for host in HOSTS {
        if host != 2 {
            let address = format!("10.1.0.{host}");
            ip(
                &scene.right,
                &format!("address add {address}/24 dev right0"),
            );
            ip(
                &scene.left,
                &format!("neighbour replace {address} lladdr {mac} dev left0"),
            );
        }
        let _ = writeln!(declared, "counter to_{host} {{}}");
        let rule = format!("ip daddr 10.1.0.{host} counter name to_{host}");
        let _ = writeln!(rules, "icmp type echo-request {rule}");
    }
    load(
        &scene.right,
        &format!(
            "table inet echoes {{ {declared} chain input {{ type filter hook input priority 0\n{rules} }}\n}}"
        ),
    );
    scene
}

/// Echo requests by address, as nftables at right has counted them.
fn counted(scene: &Scene) -> BTreeMap<String, u64> {
    let all = counters(&scene.right)
        .into_iter()
        .filter(|(_, count)| *count > 0);
    all.map(|(name, count)| (name.replace("to_", "10.1.0."), count))
        .collect()
}

/// Waits for a change, and checks it.
#[track_caller]
fn change(running: &mut Running, expected: &Value) -> Value {
    let event = running.event(|event| event["event"] == "target_change");
    assert_has(&event, expected);
    event
}

/// Waits until the target is answered.
fn reply(running: &mut Running, address: &str) {
    running.event(|event| event["event"] == "reply" && event["address"] == address);
}

fn text(event: &Value, key: &str) -> String {
    event[key].as_str().expect("text").to_owned()
}

/// As over sockets, but for the interface, which no address selects.
#[test]
fn a_run_by_xdp_starts_with_a_name_that_has_no_address() {
    let scene = scene();
    let server = NameServer::new(&scene.left);
    let line = "--backend xdp --json -q --resolve-every 100ms -i 20ms -W 0.2 h.test.";
    let ended = start_with_files(&scene, &dns::files(&scene), line).finish();
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    let refusal = ended.stderr.last().expect("a refusal");
    let expected = "tapline: no interface reaches a target (add a route, or give -I IF; ";
    assert!(refusal.starts_with(expected), "{refusal}");

    let line = format!("-I left0 {line}");
    let mut running = start_with_files(&scene, &dns::files(&scene), &line);
    running.event(|event| event["event"] == "start");
    let at = |host: u8| Record::Address(Ipv4Addr::new(10, 1, 0, host));
    for (host, name) in [(2, "resolved"), (3, "address")] {
        server.set("h", at(host));
        let address = format!("10.1.0.{host}");
        change(&mut running, &json!({"change": name, "address": address}));
        lab::wait::until("it is pinged", || counted(&scene).contains_key(&address));
    }
    let ended = running.stop();
    let summary = ended.events().pop().expect("a summary");
    let all: u64 = counted(&scene).values().sum();
    assert_eq!(number(&summary, "sent"), all);
}

#[test]
fn a_name_appears_moves_fails_and_disappears() {
    let scene = scene();
    let server = NameServer::new(&scene.left);
    let line = "--json -v --resolve-every 100ms --metrics 0 -i 20ms -W 10s h.test. 10.1.0.5";
    let mut running = start_with_files(&scene, &dns::files(&scene), line);
    let to = address(&running.ready());
    assert_eq!(
        running.error_line(),
        "tapline: cannot resolve h.test.: Name or service not known; it is looked up again every 100ms"
    );
    let at = |host: u8| Record::Address(Ipv4Addr::new(10, 1, 0, host));

    server.set("h", at(2));
    let has =
        json!({"target": "h.test.", "change": "resolved", "address": "10.1.0.2", "previous": null});
    change(&mut running, &has);
    reply(&mut running, "10.1.0.2");

    server.set("h", at(3));
    let has = json!({"change": "address", "address": "10.1.0.3", "previous": "10.1.0.2"});
    let closed = change(&mut running, &has);
    let account = &closed["account"];
    assert_eq!(counted(&scene)["10.1.0.2"], number(account, "sent"));
    assert_eq!(number(account, "received"), number(account, "sent"));
    reply(&mut running, "10.1.0.3");

    // The resolver does not know at the moment: nothing is given up.
    server.set("h", Record::Failure);
    let failed = change(
        &mut running,
        &json!({"change": "lookup_failed", "address": "10.1.0.3"}),
    );
    assert_eq!(
        text(&failed, "reason"),
        "Temporary failure in name resolution"
    );
    reply(&mut running, "10.1.0.3");

    server.set("h", Record::NoSuchName);
    let has = json!({
        "change": "unresolved", "address": null, "previous": "10.1.0.3", "reason": "Name or service not known",
    });
    let closed = change(&mut running, &has);
    let sent = number(&closed["account"], "sent");
    assert_eq!(
        (
            number(&closed["account"], "received"),
            counted(&scene)["10.1.0.3"]
        ),
        (sent, sent)
    );

    server.set("h", at(2));
    change(
        &mut running,
        &json!({"change": "resolved", "address": "10.1.0.2", "previous": null}),
    );
    reply(&mut running, "10.1.0.2");
    // The metrics are posted once per second.
    let count = |body: &str, sample: &str| {
        let line = body.lines().find_map(|line| line.strip_prefix(sample));
        line.map(|value| value.trim().parse::<f64>().expect("a number"))
    };
    loop {
        let body = ask(&scene.left, to, b"GET /metrics HTTP/1.1\r\n\r\n")
            .expect("an answer")
            .body;
        let of = |change: &str| {
            count(
                &body,
                &format!("tapline_ping_target_changes_total{{change=\"{change}\"}}"),
            )
        };
        if of("resolved") == Some(2.0) {
            assert_eq!(
                ["address", "unresolved", "lookup_failed"].map(of),
                [Some(1.0); 3]
            );
            assert_eq!(
                count(&body, "tapline_ping_targets{state=\"pinged\"}"),
                Some(2.0)
            );
            let to_3 = "tapline_ping_sent_probes_total{target=\"h.test.\",address=\"10.1.0.3\"}";
            assert_eq!(count(&body, to_3), Some(sent as f64));
            break;
        }
        reply(&mut running, "10.1.0.5");
    }

    let ended = running.stop();
    let rows = ended.events_of("target");
    assert_has(
        &rows[0],
        &json!({"target": "h.test.", "address": "10.1.0.2"}),
    );
    let accounts = rows[0]["addresses"].as_array().expect("accounts").iter();
    let mut by_address: BTreeMap<_, _> = accounts
        .map(|account| (text(account, "address"), number(account, "sent")))
        .collect();
    assert_eq!(number(&rows[0], "sent"), by_address.values().sum::<u64>());
    by_address.insert("10.1.0.5".to_owned(), number(&rows[1], "sent"));
    assert_eq!(by_address, counted(&scene));
    let summary = ended.summary();
    assert_eq!(summary.number("lost") + summary.number("late"), 0);
}

/// As NetworkManager and others do it, with and without a directory of its own to which `/etc/resolv.conf` is a link.
#[test]
fn a_new_list_of_name_servers_is_used_when_it_replaces_the_old_one() {
    for is_link in [false, true] {
        let scene = scene();
        // Without a list, the C library asks 127.0.0.1.
        let server = NameServer::at(&scene.left, "127.0.0.2");
        server.set("h", Record::Address(Ipv4Addr::new(10, 1, 0, 2)));
        let [etc, own] = ["etc", "own"].map(|name| scene.file(name));
        for folder in [&etc, &own] {
            fs::create_dir(folder).expect("a folder");
        }
        fs::write(format!("{etc}/nsswitch.conf"), "hosts: files dns\n").expect("a file");
        let list = if is_link {
            let list = format!("{own}/resolv.conf");
            symlink(&list, format!("{etc}/resolv.conf")).expect("a link");
            list
        } else {
            format!("{etc}/resolv.conf")
        };
        fs::write(&list, "nameserver 127.0.0.2\n").expect("a file");
        let line = "--json -v --resolve-every 100ms -i 20ms h.test.";
        let mut running = start_with_files(&scene, &[[etc.as_str(), "/etc"]], line);
        reply(&mut running, "10.1.0.2");

        let other = NameServer::at(&scene.left, "127.0.0.3");
        other.set("h", Record::Address(Ipv4Addr::new(10, 1, 0, 3)));
        fs::write(format!("{list}.new"), "nameserver 127.0.0.3\n").expect("a file");
        fs::rename(format!("{list}.new"), &list).expect("renamed");
        let change = running.event(|event| event["event"] == "target_change");
        assert_has(
            &change,
            &json!({"change": "address", "address": "10.1.0.3"}),
        );
        reply(&mut running, "10.1.0.3");
        running.stop();
    }
}

#[test]
fn text_and_csv_say_that_a_name_has_no_address() {
    let scene = scene();
    let _server = NameServer::new(&scene.left);
    let files = dns::files(&scene);
    let line = "--resolve-every 1m -c 1 h.test. 10.1.0.2";
    let ended = start_with_files(&scene, &files, line).finish();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    ended.assert_says("h.test.  : xmt/rcv/%loss = 0/0/-");
    ended.assert_mentions("2 targets: 1 answered, 0 did not, 1 was not pinged");
    let ended = start_with_files(&scene, &files, &format!("--csv -q {line}")).finish();
    ended.assert_says("h.test.,,0,0,0,0,0,0,0,0,0,,,,,,,,0");
    let ended = start_with_files(&scene, &files, "--resolve-every 1m -c 1 h.test.").finish();
    ended.assert_says("PING h.test. (no address) 56 data bytes");
    // Without the flag it is skipped, and a name alone is an error.
    let ended = start_with_files(&scene, &files, "-c 1 h.test.").finish();
    assert_eq!(
        ended.refusal(2),
        "cannot resolve h.test.: Name or service not known"
    );
}

#[test]
fn an_address_that_is_excluded_is_never_pinged() {
    let scene = scene();
    let server = NameServer::new(&scene.left);
    server.set("h", Record::Address(Ipv4Addr::new(10, 1, 0, 2)));
    let line = "--json -v --resolve-every 100ms -i 20ms --exclude 10.1.0.3 h.test. 10.1.0.5";
    let mut running = start_with_files(&scene, &dns::files(&scene), line);
    reply(&mut running, "10.1.0.2");
    server.set("h", Record::Address(Ipv4Addr::new(10, 1, 0, 3)));
    let closed = change(
        &mut running,
        &json!({"change": "unresolved", "previous": "10.1.0.2"}),
    );
    assert_eq!(
        text(&closed, "reason"),
        "no address of the requested family, or all are excluded"
    );
    reply(&mut running, "10.1.0.5");
    running.stop();
    assert_eq!(counted(&scene).get("10.1.0.3"), None);
}

#[test]
fn the_file_is_read_again_on_sighup() {
    let scene = scene();
    let list = scene.write("list", "10.1.0.2 # stays\n10.1.0.3\n");
    let mut running = start(&scene, &format!("--json -v -i 20ms -f {list}"));
    for address in ["10.1.0.2", "10.1.0.3"] {
        reply(&mut running, address);
    }

    scene.write("list", "10.1.0.2 fd00:1::2\n10.1.0.4\n");
    running.signal(Signal::HUP);
    for added in ["fd00:1::2", "10.1.0.4"] {
        change(&mut running, &json!({"change": "added", "target": added}));
    }
    let replaced = running.event(|event| event["event"] == "targets_replaced");
    assert_has(
        &replaced,
        &json!({"added": 2, "removed": 1, "unchanged": 1}),
    );
    let removed = change(
        &mut running,
        &json!({"change": "removed", "target": "10.1.0.3"}),
    );
    let account = removed["account"].clone();
    assert_eq!(number(&account, "sent"), counted(&scene)["10.1.0.3"]);
    for added in ["10.1.0.4", "fd00:1::2"] {
        reply(&mut running, added);
    }

    // A broken list, and none: the targets stay.
    let broken = ["10.1.0.5\n10.0.0.0/33\n", ""];
    let told = [
        "list: line 2: '10.0.0.0/33' is not a name, address, prefix or range",
        "the list has no targets",
    ];
    for (text, told) in broken.into_iter().zip(told) {
        scene.write("list", text);
        running.signal(Signal::HUP);
        let line = running.error_line();
        assert!(
            line.starts_with("tapline: ") && line.contains(told),
            "{line}"
        );
        assert!(line.ends_with("; the targets stay as they are"), "{line}");
    }
    fs::remove_file(&list).expect("it is there");
    running.signal(Signal::HUP);
    let line = running.error_line();
    assert!(
        line.contains("cannot read targets from ") && line.contains("No such file"),
        "{line}"
    );
    reply(&mut running, "10.1.0.2");

    let ended = running.stop();
    assert_eq!(ended.status.code(), Some(0));
    let mut by_address: BTreeMap<_, _> = (ended.events_of("target").iter())
        .map(|row| (text(row, "address"), number(row, "sent")))
        .collect();
    let over_ipv6 = by_address.remove("fd00:1::2").expect("a row");
    by_address.insert("10.1.0.3".to_owned(), number(&account, "sent"));
    assert_eq!(by_address, counted(&scene));
    let summary = ended.summary();
    assert_has(&summary.0["removed"], &json!({"targets": 1}));
    assert_has(&summary.0["removed"], &account);
    assert_eq!(
        summary.number("sent"),
        by_address.values().sum::<u64>() + over_ipv6
    );
    assert_eq!(summary.number("targets"), 3);
}

#[test]
fn without_a_file_sighup_ends_the_run() {
    let scene = scene();
    let mut running = start(&scene, "--json -i 20ms 10.1.0.2");
    reply(&mut running, "10.1.0.2");
    running.signal(Signal::HUP);
    running.finish().exit(0);
}

#[test]
fn a_reload_is_reported_in_text_and_changes_the_summary() {
    let scene = scene();
    let list = scene.write("list", "10.1.0.2\n");
    let mut running = start(&scene, &format!("-i 20ms -f {list}"));
    while !running
        .line()
        .starts_with("64 bytes from 10.1.0.2: icmp_seq=1 ")
    {}
    scene.write("list", "10.1.0.3\n");
    running.signal(Signal::HUP);
    let mut told = [(); 3].map(|()| running.error_line());
    told.sort();
    assert!(
        told[0].starts_with("tapline: 10.1.0.2 removed: "),
        "{told:?}"
    );
    let expected = [
        "tapline: 10.1.0.3 added",
        "tapline: targets read again: 1 added, 1 removed, 0 unchanged",
    ];
    assert_eq!(told[1..], expected);
    while !running.line().starts_with("64 bytes from 10.1.0.3: ") {}
    let ended = running.stop();
    let sent = counted(&scene);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let row = format!("10.1.0.3 : xmt/rcv/%loss = {0}/{0}/0%", sent["10.1.0.3"]);
    ended.assert_mentions(&row);
    let removed = format!(
        "1 target: 1 answered, 0 did not; 1 target removed after {} probes",
        sent["10.1.0.2"]
    );
    ended.assert_says(&removed);
}
