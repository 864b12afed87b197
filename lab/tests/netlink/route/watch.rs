//! Notifications of route changes.

use crate::witness::{drain, wait_for_events};
use netlink::{Route, Watch};
use tapline_lab::{Host, Net};

/// Routes that a fresh list has and the watch does not know, and the other way round.
fn differences(watch: &mut Watch<Route>, host: &Host) -> [Vec<Route>; 2] {
    drain(watch);
    let listed = host.netlink().list(&Route::new()).expect("routes").items;
    // The kernel tells of a hop that is new before the others, and lists it behind them.
    let in_order = |mut route: Route| {
        if let Some(hops) = &mut route.nexthops {
            hops.sort_by_key(|hop| hop.gateway);
        }
        route
    };
    let listed: Vec<_> = listed.into_iter().map(in_order).collect();
    let known: Vec<_> = watch.known().cloned().map(in_order).collect();
    [(&listed, &known), (&known, &listed)].map(|(these, those)| {
        let only = these.iter().filter(|route| !those.contains(route));
        only.cloned().collect()
    })
}

/// What is known is what a fresh list says. A link that loses its carrier does so later, and its routes with it:
/// between list and event they differ.
#[track_caller]
fn assert_known(watch: &mut Watch<Route>, host: &Host, line: &str) {
    loop {
        let differences = differences(watch, host);
        if differences == [vec![], vec![]] {
            return;
        }
        wait_for_events(watch, &format!("{line}: {differences:?}"));
    }
}

#[test]
fn a_watch_knows_what_is_there_after_each_change() {
    let [host, _there] = Net::new().pair();
    let mut watch = host.run(|| Watch::open(Route::new())).expect("a watch");
    for line in [
        "route add 192.0.2.0/24 via 10.1.0.2",
        "route replace 192.0.2.0/24 via 10.1.0.3",
        "route change 192.0.2.0/24 via 10.1.0.4 mtu 1400",
        "-6 route add 2001:db8::/32 via fd00:1::2",
        "-6 route append 2001:db8::/32 via fd00:1::3",
        "-6 route append 2001:db8::/32 via fd00:1::4",
        "-6 route del 2001:db8::/32 via fd00:1::3",
        "-6 route del 2001:db8::/32 via fd00:1::4",
        "-6 route replace 2001:db8::/32 via fd00:1::9",
        "link add v0 type veth peer name v1",
        "link set v0 up",
        "link set v1 up",
        "addr add 10.2.0.1/24 dev v0",
        "addr add 10.2.0.1/24 dev v1",
        "-6 route add fe80::/64 dev v0 metric 256",
        "-6 route append fe80::/64 dev v1 metric 256",
        "route add 198.51.100.0/24 via 10.2.0.2 dev v1",
        "route add 198.51.101.0/24 dev left0 src 10.2.0.1",
        "addr del 10.2.0.1/24 dev v0",
        "link set v1 down",
        "nexthop add id 1 via 10.1.0.2 dev left0",
        "route add 203.0.113.0/24 nhid 1",
        "nexthop del id 1",
        "link del v0",
    ] {
        host.ip(line);
        assert_known(&mut watch, &host, line);
    }
}
