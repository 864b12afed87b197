//! Counters and rules of nftables: an independent account of what passes a host.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;

use lab::Host;
use serde_json::Value;

use super::output;

/// Loads a ruleset on `host`.
#[track_caller]
pub fn load(host: &Host, rules: &str) {
    let mut command = host.command("nft");
    command.args(["-f", "-"]).stdin(Stdio::piped());
    let mut child = command.spawn().expect("nft starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(rules.as_bytes()).expect("nft reads");
    drop(input);
    assert!(child.wait().expect("a status").success(), "{rules}");
}

/// Packets of each named counter of `host`.
#[track_caller]
pub fn counters(host: &Host) -> BTreeMap<String, u64> {
    let listed = output(host, "nft", "--json list counters");
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    let items = listed["nftables"].as_array().expect("a list");
    let counters = items.iter().filter_map(|item| item.get("counter"));
    counters
        .map(|counter| {
            let name = counter["name"].as_str().expect("a name").to_owned();
            (name, counter["packets"].as_u64().expect("a number"))
        })
        .collect()
}
