//! Round trip: the library reads what ip(8) adds, deletes it, adds the same again, and reads its own JSON.

use std::fmt::Debug;

use crate::witness::ip_json;
use netlink::{Nexthop, Object, Route, Rule};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tapline_lab::{Host, Net};

const ROUTES: &str = "\
    route add 192.0.2.0/24 via 10.1.0.2 table 77
    route add default via 10.1.0.2 dev left0 proto static metric 5 table 77
    route add default via fd00:1::2 dev left0 proto static metric 5 table 77
    route add 198.51.100.7 dev left0 table 77
    route add 198.51.100.0/25 dev left0 scope host src 10.1.0.1 table 77
    route add 198.51.100.128/25 via 10.1.0.2 tos 0x10 table 77
    route add 203.0.113.0/26 via inet6 fd00:1::2 dev left0 table 77
    route add 203.0.113.64/26 via 10.99.0.1 dev left0 onlink table 77
    route add blackhole 203.0.113.128/26 table 77
    route add unreachable 203.0.113.192/27 metric 9 table 77
    route add prohibit 203.0.113.224/28 table 77
    route add throw 203.0.113.240/28 proto bgp table 77
    route add local 192.0.0.8 dev lo table 77
    route add 100.64.0.0/16 via 10.1.0.2 mtu lock 1300 advmss 1200 window 4000 rtt 300ms rttvar 50ms table 77
    route add 100.65.0.0/16 via 10.1.0.2 cwnd lock 5 initcwnd 20 initrwnd 30 quickack 1 features ecn table 77
    route add 100.66.0.0/16 via 10.1.0.2 ssthresh 7 reordering 4 rto_min 40ms congctl reno table 77
    route add 100.67.0.0/16 table 77 nexthop via 10.1.0.2 weight 2 nexthop via 10.1.0.3 dev left0
    route add 100.68.0.0/16 table 77 nexthop via inet6 fd00:1::2 dev left0 nexthop via 10.1.0.7 onlink dev left0
    route add 2001:db8:1::/48 via fd00:1::2 metric 77 pref high table 77
    route add 2001:db8:2::/48 table 77 nexthop via fd00:1::2 weight 9 nexthop via fd00:1::3 dev left0
    route add 2001:db8:3::1 dev left0 mtu 1400 hoplimit 9 pref low table 77
    route add unreachable 2001:db8:4::/48 table 77
    route add 2001:db8:5::/48 from 2001:db8:6::/64 via fd00:1::2 table 77
    route add 10.9.0.0/16 encap ip id 5 dst 10.9.9.9 src 10.9.9.8 ttl 64 tos 4 dev left0 table 77
    route add 10.10.0.0/16 encap ip6 id 6 dst fd00::9 hoplimit 64 dev left0 table 77
    -6 route add fd05::/64 encap seg6 mode encap segs fd00::5,fd00::6 dev left0 table 77
    -6 route add fd06::/64 encap seg6 mode inline segs fd00::7 dev left0 table 77
    -6 route add fd07::/64 table 77 nexthop encap ip6 id 7 dst fd00::9 via fd00:1::2 nexthop via fd00:1::3";

/// Lines of ip(8) that add rules.
pub const RULES: &str = "\
    rule add from 10.0.0.0/8 lookup 100 priority 1000
    rule add from 10.0.0.1 to 192.0.2.0/24 iif lo lookup 70000 priority 1001
    rule add fwmark 0x1/0xff lookup main priority 1002
    rule add fwmark 7 oif none0 lookup main priority 1003
    rule add uidrange 1-5 ipproto tcp sport 5 dport 80-90 lookup 100 priority 1004
    rule add not to 10.0.0.0/8 goto 32766 priority 1005
    rule add l3mdev priority 1006
    rule add blackhole priority 1007
    rule add from 192.0.2.0/24 unreachable priority 1008
    rule add prohibit to 192.0.2.1 priority 1009
    rule add lookup 100 suppress_prefixlength 0 suppress_ifgroup 4 priority 1010
    rule add tos 0x10 lookup 100 priority 1011 protocol bgp
    rule add tun_id 77 lookup 100 priority 1012
    rule add goto 1014 priority 1013
    -6 rule add from 2001:db8::/32 lookup 100 priority 1000
    -6 rule add to fd00::1 iif lo lookup 100 priority 1001
    -6 rule add fwmark 5 unreachable priority 1002";

/// Lines of ip(8) that add nexthops.
pub const NEXTHOPS: &str = "\
    nexthop add id 1 via 10.1.0.2 dev left0
    nexthop add id 2 via 10.1.0.3 dev left0 proto bgp
    nexthop add id 3 via 10.99.0.1 dev left0 onlink
    nexthop add id 4 via fd00:1::2 dev left0
    nexthop add id 5 blackhole
    nexthop add id 6 dev left0
    nexthop add id 7 via 10.1.0.9 fdb
    nexthop add id 10 group 1/2,5
    nexthop add id 11 group 1/2 type resilient buckets 32 idle_timer 60 unbalanced_timer 120
    nexthop add id 12 encap ip id 9 dst 10.9.9.9 dev left0
    nexthop add id 13 group 7 fdb";

/// Adds the objects of `lines` by ip(8), and deletes and adds what `filter` lists of them.
fn check<O: Object + Serialize + DeserializeOwned + Debug>(lines: &str, show: &[&str], filter: &O) {
    let [host, _peer] = Net::new().pair();
    for line in lines.lines() {
        host.ip(line.trim());
    }
    let state = |host: &Host| {
        let lines = show.iter().map(|line| {
            let words: Vec<_> = line.split(' ').collect();
            let mut shown = ip_json(host, &words);
            let objects = shown.as_array_mut().expect("a list");
            objects.sort_by_key(Value::to_string);
            shown
        });
        lines.collect::<Vec<_>>()
    };
    let before = state(&host);
    let mut netlink = host.netlink();
    let list = || host.netlink().list(filter).expect("a list").items;
    let objects = list();
    assert!(objects.len() >= lines.lines().count());
    for object in &objects {
        let text = serde_json::to_string(object).expect("JSON");
        assert_eq!(serde_json::from_str::<O>(&text).expect("JSON"), *object);
        let matching = objects.iter().filter(|it| Object::matches(*it, object));
        assert_eq!(matching.count(), 1, "{text}");
    }
    for object in objects.iter().rev() {
        netlink
            .del(object)
            .unwrap_or_else(|error| panic!("{object:?}: {error:?}"));
        netlink.get(object).expect_err("it is gone");
    }
    assert_eq!(list(), []);
    for object in &objects {
        netlink
            .add(&object.clone().settable())
            .unwrap_or_else(|error| panic!("{object:?}: {error:?}"));
    }
    assert_eq!(state(&host), before);
}

#[test]
fn routes_can_be_added_again() {
    let show = ["-4 route show table 77", "-6 route show table 77"];
    check(ROUTES, &show, &Route::new().table(77.into()));
}

#[test]
fn rules_can_be_added_again() {
    check(RULES, &["-4 rule show", "-6 rule show"], &Rule::new());
}

#[test]
fn nexthops_can_be_added_again() {
    check(NEXTHOPS, &["nexthop show"], &Nexthop::new());
}
