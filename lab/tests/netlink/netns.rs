//! Names and numbers of namespaces are those of `ip netns`.
//!
//! The test runs itself on a host, with a `/run` of its own: the machine's names are not touched.

use std::process::Command;
use std::{env, fs};

use crate::witness::{assert_error, assert_invalid, wait_for_events};
use netlink::{Event, NamespaceNames, NamespaceNumber, NamespaceOperation, Netlink, Watch};
use rustix::io::Errno;
use serde_json::Value;
use tapline_lab::{Host, rerun};

const MARK: &str = "TAPLINE_LAB_NAMES";

#[test]
fn names_and_numbers_are_those_of_ip_netns() {
    if env::var_os(MARK).is_some() {
        names();
        numbers();
        return;
    }
    let host = Host::new("host");
    let mut command = host.command("/usr/bin/unshare");
    command
        .args([
            "--mount",
            "--",
            "sh",
            "-c",
            "mount -t tmpfs tmpfs /run && exec \"$@\"",
            "sh",
        ])
        .arg(rerun::program())
        .args(rerun::arguments())
        .env(MARK, "1");
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(said.contains("1 passed"), "{said}");
}

#[track_caller]
fn ip(line: &str) -> Vec<u8> {
    let output = Command::new("ip")
        .args(line.split(' '))
        .output()
        .expect("ip runs");
    assert!(
        output.status.success(),
        "{line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

#[track_caller]
fn json(line: &str) -> Value {
    match ip(&format!("-json {line}")).as_slice() {
        [] => Value::Array(Vec::new()),
        text => serde_json::from_slice(text).expect("JSON"),
    }
}

fn shown() -> Vec<String> {
    let list = json("netns list");
    let list = list.as_array().expect("a list").iter();
    let mut names: Vec<_> = list
        .map(|shown| shown["name"].as_str().expect("a name").to_owned())
        .collect();
    names.sort();
    names
}

fn listed() -> Vec<String> {
    let list = NamespaceNames::default().list().expect("names");
    list.into_iter().map(|named| named.name).collect()
}

fn names() {
    let names = NamespaceNames::default();
    assert_eq!(listed(), [] as [&str; 0]);
    let one = names.add("one").expect("added");
    ip("netns add two");
    assert_eq!(listed(), ["one", "two"]);
    assert_eq!(shown(), ["one", "two"]);
    let again = names.get("one").expect("found");
    assert_eq!(again.id().expect("told"), one.id().expect("told"));
    // It is entered by its name, by them and by us.
    ip("-n one link add v type ifb");
    let links = names
        .get("one")
        .expect("found")
        .command("ip")
        .expect("a command")
        .args(["-json", "link"])
        .output();
    let links: Value = serde_json::from_slice(&links.expect("it runs").stdout).expect("JSON");
    assert_eq!(links[1]["ifname"], "v");
    drop((one, again));
    assert!(!ip("-n one link show dev v").is_empty());
    let error = names.add("one").expect_err("it is there");
    assert_eq!(
        (error.operation, error.source.raw_os_error()),
        (
            NamespaceOperation::CreateFile,
            Some(Errno::EXIST.raw_os_error())
        )
    );
    assert_eq!(error.to_string(), "cannot create /run/netns/one");
    for bad in ["", ".", "..", "a/b", "a\0b", &"x".repeat(256)] {
        let error = names.add(bad).expect_err("no name");
        assert_eq!(
            error.source.raw_os_error(),
            Some(Errno::INVAL.raw_os_error()),
            "{bad:?}"
        );
    }
    names.del("two").expect("theirs is removed");
    ip("netns del one");
    assert_eq!(listed(), shown());
    let error = names.del("one").expect_err("it is gone");
    assert_eq!(
        (error.operation, error.source.raw_os_error()),
        (
            NamespaceOperation::RemoveFile,
            Some(Errno::NOENT.raw_os_error())
        )
    );
    names.get("one").expect_err("it is gone");
    assert_eq!(fs::read_dir("/run/netns").expect("the folder").count(), 0);
}

fn numbers() {
    let names = NamespaceNames::default();
    let [one, two] = ["one", "two"].map(|name| names.add(name).expect("added"));
    let mut netlink = Netlink::open().expect("a handle");
    let of = |namespace: &abi::namespace::NetNamespace| {
        NamespaceNumber::new().namespace(namespace.try_clone().expect("a descriptor").into())
    };
    assert_eq!(netlink.get(&of(&one)).expect("told").nsid, Some(-1));
    let mut watch = Watch::open(NamespaceNumber::new()).expect("a watch");
    netlink.add(&of(&one).nsid(7)).expect("numbered");
    ip("netns set two 9");
    assert_eq!(netlink.get(&of(&one)).expect("told").nsid, Some(7));
    assert_eq!(netlink.get(&of(&two)).expect("told").nsid, Some(9));
    let list = json("netns list-id");
    let shown: Vec<_> = list
        .as_array()
        .expect("a list")
        .iter()
        .map(|shown| (shown["nsid"].as_i64(), shown["name"].as_str()))
        .collect();
    assert_eq!(shown, [(Some(7), Some("one")), (Some(9), Some("two"))]);
    let told = netlink.list(&NamespaceNumber::new()).expect("told").items;
    let told: Vec<_> = told
        .iter()
        .map(|number| serde_json::to_value(number).expect("JSON"))
        .collect();
    assert_eq!(
        told,
        [
            serde_json::json!({"nsid": 7}),
            serde_json::json!({"nsid": 9})
        ]
    );
    assert_error(
        netlink.add(&of(&one).nsid(8)),
        "cannot add network namespace id 8 (fd: Peer netns already has a nsid assigned)",
    );
    assert_invalid(netlink.add(&NamespaceNumber::new().nsid(8)));
    assert_invalid(netlink.del(&of(&one)));
    for number in [7, 9] {
        assert_eq!(
            next(&mut watch),
            Event::Added(NamespaceNumber::new().nsid(number))
        );
    }
    drop(two);
    names.del("two").expect("removed");
    assert_eq!(
        next(&mut watch),
        Event::Removed(NamespaceNumber::new().nsid(9))
    );
    names.del("one").expect("removed");
}

#[track_caller]
fn next(watch: &mut Watch<NamespaceNumber>) -> Event<NamespaceNumber> {
    if let Some(event) = watch.try_next().expect("events") {
        return event;
    }
    wait_for_events(watch, "no event");
    watch.try_next().expect("events").expect("an event")
}
