//! Rules: made by us and by ip(8) alike, told and shown alike.

mod ip_json;
mod names;

use ip_json::ip_json;
use names::{Names, ip, split};
use netlink::table::Words;
use netlink::{Cause, Detail, Event, Family, Rule, Watch};
use serde_json::{Value, json};
use tapline_lab::Host;

/// The words behind `ip rule add`.
const RULES: [&str; 14] = [
    "from 10.0.0.0/8 lookup 100 priority 1000",
    "from 10.0.0.1 to 192.0.2.0/24 iif lo lookup 70000 priority 1001",
    "fwmark 0x1/0xff lookup main priority 1002",
    "fwmark 7 oif none0 lookup main priority 1003",
    "uidrange 1-5 ipproto tcp sport 5 dport 80-90 lookup 100 priority 1004",
    "not to 10.0.0.0/8 goto 32766 priority 1005",
    "l3mdev priority 1006",
    "blackhole priority 1007",
    "from 192.0.2.0/24 unreachable priority 1008",
    "prohibit to 192.0.2.1 priority 1009",
    "lookup 100 suppress_prefixlength 0 suppress_ifgroup 4 priority 1010",
    "tos 0x10 lookup 100 priority 1011 protocol bgp",
    "tun_id 77 lookup 100 priority 1012",
    "goto 1014 priority 1013",
];

/// And behind `ip -6 rule add`.
const RULES_V6: [&str; 3] = [
    "from 2001:db8::/32 lookup 100 priority 1000",
    "to fd00::1 iif lo lookup 100 priority 1001",
    "fwmark 5 unreachable priority 1002",
];

fn read(host: &Host, line: &str, family: Family) -> Rule {
    let (words, mut names) = (split(line), Names(host.netlink()));
    let rule = Rule::read_words(&mut Words::new(&words, &mut names), Some(family));
    rule.unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn all() -> impl Iterator<Item = (Family, &'static str, &'static str)> {
    let v4 = RULES.into_iter().map(|line| (Family::V4, "-4", line));
    v4.chain(RULES_V6.into_iter().map(|line| (Family::V6, "-6", line)))
}

fn listed(host: &Host, family: Family) -> Vec<Rule> {
    let listing = host.netlink().list(&Rule::new().family(family));
    listing.expect("rules").items
}

#[test]
fn rules_are_made_told_and_removed() {
    let (ours, theirs) = (Host::new("ours"), Host::new("theirs"));
    let mut netlink = ours.netlink();
    for (family, flag, line) in all() {
        let wanted = read(&ours, line, family);
        netlink
            .add(&wanted)
            .unwrap_or_else(|error| panic!("{line}: {error:?}"));
        ip(&theirs, &format!("{flag} rule add {line}"));
        let told = listed(&ours, family);
        let found = told
            .iter()
            .filter(|it| netlink::Object::matches(*it, &wanted));
        assert_eq!(found.count(), 1, "{line}");
    }
    for (family, flag) in [(Family::V4, "-4"), (Family::V6, "-6")] {
        let shown = |host: &Host| ip_json(host, &[flag, "rule", "show"]);
        assert_eq!(shown(&ours), shown(&theirs));
        let told = listed(&ours, family);
        let lines = ip(&ours, &format!("-details {flag} rule show"));
        let mut names = Names(ours.netlink());
        let ours_lines = told
            .iter()
            .map(|it| split(&it.line(Detail::All, &mut names)));
        let lines: Vec<_> = lines.lines().map(split).collect();
        assert_eq!(ours_lines.collect::<Vec<_>>(), lines);
        for rule in &told {
            let text = serde_json::to_string(rule).expect("JSON");
            assert_eq!(serde_json::from_str::<Rule>(&text).expect("JSON"), *rule);
            netlink
                .del(rule)
                .unwrap_or_else(|error| panic!("{text}: {error:?}"));
        }
        assert_eq!(listed(&ours, family), []);
    }
}

#[test]
fn json_is_as_ip_has_it() {
    let host = Host::new("host");
    for (_, flag, line) in all() {
        ip(&host, &format!("{flag} rule add {line}"));
    }
    for (family, flag) in [(Family::V4, "-4"), (Family::V6, "-6")] {
        let shown = ip_json(&host, &[flag, "rule", "show"]);
        let told = listed(&host, family);
        assert_eq!(told.len(), shown.as_array().expect("a list").len());
        for (rule, shown) in told.iter().zip(shown.as_array().expect("a list")) {
            let ours = serde_json::to_value(rule).expect("JSON");
            for key in [
                "priority",
                "iif",
                "oif",
                "table",
                "goto",
                "suppress_prefixlen",
                "protocol",
            ] {
                assert_eq!(
                    ours.get(key).unwrap_or(&Value::Null),
                    &shown[key],
                    "{key}: {shown}"
                );
            }
            let network = |prefix: Option<netlink::Prefix>| match prefix {
                Some(prefix) => json!(prefix.ip),
                None => Value::Null,
            };
            let source = rule.src.map_or(json!("all"), |src| network(Some(src)));
            assert_eq!(
                (&source, &network(rule.dst)),
                (&shown["src"], &shown["dst"])
            );
        }
    }
}

#[test]
fn a_removal_leaves_open_what_is_not_said() {
    let host = Host::new("host");
    let mut netlink = host.netlink();
    netlink
        .add(&read(
            &host,
            "from 10.0.0.0/8 fwmark 1 lookup 100 priority 9",
            Family::V4,
        ))
        .expect("a rule");
    netlink.del(&Rule::new().priority(9)).expect("it goes");
    let absent = netlink
        .del(&Rule::new().priority(9))
        .expect_err("it is gone");
    assert_eq!(
        absent.errno(),
        Some(rustix::io::Errno::NOENT.raw_os_error())
    );
    assert_eq!(absent.to_string(), "cannot remove rule 9");
}

#[test]
fn rules_come_and_go_as_ip_makes_them() {
    let host = Host::new("host");
    let mut watch = host.run(|| Watch::open(Rule::new())).expect("a watch");
    let mut known = 0;
    while let Some(event) = watch.next_event().expect("events") {
        assert!(matches!(event, Event::Added(_)), "{event:?}");
        known += 1;
    }
    assert_eq!(
        known, 5,
        "three of IPv4 and two of IPv6 are there from the start"
    );
    for (family, flag, line) in all() {
        ip(&host, &format!("{flag} rule add {line}"));
        let added = watch.next_event().expect("events");
        let Some(Event::Added(rule)) = added else {
            panic!("{line}: {added:?}")
        };
        assert!(
            netlink::Object::matches(&rule, &read(&host, line, family)),
            "{line}: {rule:?}"
        );
        ip(&host, &format!("{flag} rule del {line}"));
        let removed = watch.next_event().expect("events");
        assert_eq!(removed, Some(Event::Removed(rule)), "{line}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let host = Host::new("host");
    let mut netlink = host.netlink();
    let mut unfit = |rule: Rule| match netlink.add(&rule).expect_err("unfit").cause {
        Cause::Unfit(unfit) => unfit.reason,
        cause => panic!("{cause:?}"),
    };
    let network = |text: &str| text.parse::<netlink::Prefix>().expect("a network");
    let mixed = Rule::new()
        .src(network("10.0.0.0/8"))
        .dst(network("fd00::/8"));
    assert_eq!(unfit(mixed), "fd00::/8 is not of family inet");
    let long = netlink::Prefix::new([10, 0, 0, 0], 33);
    assert_eq!(
        unfit(Rule::new().src(long)),
        "a prefix of inet has at most 32 bits"
    );
    let set = netlink.set(&Rule::new().priority(3)).expect_err("unfit");
    assert!(matches!(set.cause, Cause::Unfit(_)));
    let refused = netlink.add(&read(&host, "goto 5 priority 9", Family::V4));
    let refused = refused.expect_err("backwards");
    assert_eq!(
        refused.to_string(),
        "cannot add rule 9 (Backward goto not supported)"
    );
    let invalid = rustix::io::Errno::INVAL.raw_os_error();
    assert_eq!(refused.errno(), Some(invalid));
}
