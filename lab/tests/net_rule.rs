//! Rules are removed, watched and refused as in ip(8).

use crate::net_again::RULES;
use crate::witness::{assert_invalid, parse, refused_with};
use netlink::{Cause, Event, Prefix, Rule, Watch};
use rustix::io::Errno;
use tapline_lab::Host;

#[test]
fn a_removal_leaves_open_what_is_not_said() {
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
