//! Rules are deleted, watched and rejected as by ip(8).

use super::again::RULES;
use crate::witness::{assert_invalid, parse, refused_with};
use netlink::{
    Addr, Cause, Event, Family, IfIndex, Mdb, PortVlan, Prefix, Route, RouteTable, Rule,
    RuleAction, Watch,
};
use rustix::io::Errno;
use tapline_lab::Host;

#[test]
fn a_removal_needs_only_the_fields_that_identify_a_rule() {
    let host = Host::new("host");
    let mut netlink = host.netlink();
    let rule = Rule::new().src(parse("10.0.0.0/8")).fwmark(1);
    let rule = rule.table(100.into()).priority(9);
    netlink.add(&rule).expect("a rule");
    netlink.del(&Rule::new().priority(9)).expect("it goes");
    let absent = refused_with(netlink.del(&Rule::new().priority(9)), Errno::NOENT);
    assert_eq!(absent.to_string(), "cannot remove rule 9");
}

#[test]
fn rules_come_and_go_as_ip_makes_them() {
    let host = Host::new("host");
    let mut watch = host.run(|| Watch::open(Rule::new())).expect("a watch");
    let mut known = 0;
    while let Some(event) = watch.try_next().expect("events") {
        assert!(matches!(event, Event::Added(_)), "{event:?}");
        known += 1;
    }
    assert_eq!(
        known, 5,
        "three of IPv4 and two of IPv6 are there from the start"
    );
    for line in RULES.lines() {
        host.ip(line.trim());
        let added = watch.try_next().expect("events");
        let Some(Event::Added(rule)) = added else {
            panic!("{line}: {added:?}")
        };
        let listed = host.netlink().list(&Rule::new()).expect("rules").items;
        assert!(listed.contains(&rule), "{line}: {rule:?}");
        host.ip(&line
            .trim()
            .replace(" add ", " del ")
            .replace("rule add", "rule del"));
        let removed = watch.try_next().expect("events");
        assert_eq!(removed, Some(Event::Removed(rule)), "{line}");
    }
}

#[test]
fn a_rule_without_a_table_looks_up_in_main_as_with_ip() {
    let [ours, theirs] = ["ours", "theirs"].map(Host::new);
    let mut netlink = ours.netlink();
    let rule = |text: &str| Rule::new().src(parse(text));
    let blackhole = Rule::new().action(RuleAction::Blackhole);
    for rule in [
        rule("10.2.0.0/16"),
        rule("2001:db8::/32"),
        Rule::new().priority(7),
        blackhole.priority(8),
        Rule::new().goto(32_766).priority(9),
        Rule::new().l3mdev(true).priority(10),
        Rule::new().priority(11).table(70.into()),
    ] {
        netlink.add(&rule).expect("a rule");
    }
    for line in [
        "rule add from 10.2.0.0/16",
        "-6 rule add from 2001:db8::/32",
        "rule add pref 7",
        "rule add blackhole pref 8",
        "rule add goto 32766 pref 9",
        "rule add l3mdev pref 10",
        "rule add pref 11 lookup 70",
    ] {
        theirs.ip(line);
    }
    for family in ["-4", "-6"] {
        let shown = |host: &Host| host.ip(&format!("-json {family} rule show"));
        assert_eq!(shown(&ours), shown(&theirs));
    }
}

#[test]
fn no_rule_is_neither_added_nor_deleted_nor_read() {
    let host = Host::new("host");
    let mut netlink = host.netlink();
    let before = host.ip("rule show");
    let v6 = Rule::new().family(Family::V6);
    assert_invalid(netlink.add(&Rule::new()));
    assert_invalid(netlink.add(&v6));
    // What the kernel ignores when it deletes: it would take the first rule.
    let everything = || Prefix::new([0, 0, 0, 0], 0);
    for nothing in [
        Rule::new(),
        v6,
        Rule::new().src(everything()).dst(everything()),
        Rule::new().not(true),
        Rule::new().fwmark(0).ipproto(0).tun_id(0).l3mdev(false),
        Rule::new().table(0.into()),
        Rule::new().suppress_prefixlen(-1),
    ] {
        assert_invalid(netlink.del(&nothing));
        assert_invalid(netlink.get(&nothing));
    }
    assert_eq!(host.ip("rule show"), before);
    let local = netlink.get(&Rule::new().priority(0)).expect("the first");
    assert_eq!(local.table, Some(RouteTable::Local));
    netlink.del(&Rule::new().priority(0)).expect("the first");
    assert!(!host.ip("rule show").contains("lookup local"));
}

#[test]
fn an_object_is_read_by_its_key_only() {
    let host = Host::new("host");
    let mut netlink = host.netlink();
    assert_invalid(netlink.get(&Addr::new()));
    assert_invalid(netlink.get(&Addr::new().dev(IfIndex(1))));
    assert_invalid(netlink.get(&Route::new()));
    assert_invalid(netlink.get(&Route::new().table(RouteTable::Local)));
    assert_invalid(netlink.get(&PortVlan::new()));
    assert_invalid(netlink.get(&Mdb::new()));
}

#[test]
fn what_cannot_be_is_refused() {
    let host = Host::new("host");
    let mut netlink = host.netlink();
    let mut unfit = |rule: Rule| match netlink.add(&rule).expect_err("unfit").cause {
        Cause::Invalid(unfit) => unfit.reason,
        cause => panic!("{cause:?}"),
    };
    let mixed = Rule::new().src(parse("10.0.0.0/8")).dst(parse("fd00::/8"));
    assert_eq!(unfit(mixed), "fd00::/8 does not belong to family inet");
    let long = Prefix::new([10, 0, 0, 0], 33);
    assert_eq!(
        unfit(Rule::new().src(long)),
        "the prefix length of inet is at most 32"
    );
    assert_invalid(netlink.set(&Rule::new().priority(3)));
    let refused = netlink.add(&Rule::new().goto(5).priority(9));
    let refused = refused.expect_err("backwards");
    assert_eq!(
        refused.to_string(),
        "cannot add rule 9 (Backward goto not supported)"
    );
    let invalid = Errno::INVAL.raw_os_error();
    assert_eq!(refused.errno(), Some(invalid));
}
