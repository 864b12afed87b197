//! Nexthop objects and groups are changed, listed and rejected as by ip(8).

use super::again::NEXTHOPS;
use crate::witness::{ip_json, refused_with};
use netlink::{
    Cause, Event, Group, GroupMember, GroupType, Nexthop, Object, ResilientArgs, Route, Watch,
};
use rustix::io::Errno;
use tapline_lab::Net;

#[test]
fn a_change_reaches_the_routes() {
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    let mut watch = host.run(|| Watch::open(Nexthop::new())).expect("a watch");
    let dev = host.interface().index;
    let via = |gateway: [u8; 4]| Nexthop::numbered(1).gateway(gateway.into()).dev(dev);
    netlink.add(&via([10, 1, 0, 2])).expect("a nexthop");
    let dst = "192.0.2.0/24".parse().expect("a network");
    netlink.add(&Route::to(dst).nhid(1)).expect("a route");
    netlink.replace(&via([10, 1, 0, 3])).expect("changed");
    let route = netlink.get(&Route::to(dst)).expect("the route");
    assert_eq!(
        (route.nhid, route.gateway),
        (Some(1), Some([10, 1, 0, 3].into()))
    );
    assert_eq!(
        ip_json(&host, &["route", "show", "192.0.2.0/24"])[0]["gateway"],
        "10.1.0.3"
    );
    let mut next = || watch.try_next().expect("events").expect("an event");
    // The kernel reports a route together with the attributes of its nexthop. In a request, only the nexthop's id counts.
    netlink.del(&route).expect("it goes");
    let again = route.clone().settable();
    netlink.add(&again).expect("it comes back");
    let Event::Added(first) = next() else {
        panic!("not added")
    };
    let Event::Changed { before, after } = next() else {
        panic!("not changed")
    };
    assert_eq!((before, after.gateway), (first, Some([10, 1, 0, 3].into())));
    netlink.del(&Nexthop::numbered(1)).expect("it goes");
    let gone = netlink.get(&Route::to(dst)).expect_err("with its routes");
    assert!(matches!(gone.cause, Cause::Absent));
}

#[test]
fn lists_are_chosen_by_the_kernel() {
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    for line in NEXTHOPS.lines() {
        host.ip(line.trim());
    }
    let ids = |filter: &Nexthop, netlink: &mut netlink::Netlink| {
        let items = netlink.list(filter).expect("nexthops").items;
        items.iter().filter_map(|it| it.id).collect::<Vec<_>>()
    };
    assert_eq!(
        ids(&Nexthop::new().groups(true), &mut netlink),
        [10, 11, 13]
    );
    let dev = Nexthop::new().dev(host.interface().index);
    assert_eq!(ids(&dev, &mut netlink), [1, 2, 3, 4, 6, 12]);
    assert_eq!(ids(&Nexthop::new().blackhole(true), &mut netlink), [5]);
}

#[test]
fn refusals_say_what_and_where() {
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    let dev = host.interface().index;
    let group = |members: &[GroupMember]| Nexthop::numbered(10).group(Group(members.to_vec()));
    let of_8 = group(&[GroupMember { id: 8, weight: 1 }]);
    let buckets = |count| Box::new(ResilientArgs::new().buckets(count));
    let resilient = of_8.clone().group_type(GroupType::Resilient);
    let mut refused = |nexthop: &Nexthop| {
        let error = netlink.add(nexthop).expect_err("refused");
        error.to_string()
    };
    assert_eq!(
        refused(
            &Nexthop::numbered(1)
                .gateway([172, 16, 0, 1].into())
                .dev(dev)
        ),
        "cannot add nexthop 1 (Nexthop has invalid gateway)"
    );
    assert_eq!(refused(&of_8), "cannot add nexthop 10 (Invalid nexthop id)");
    assert_eq!(
        refused(&resilient.resilient_args(buckets(0))),
        "cannot add nexthop 10 (Number of buckets needs to be non-0)"
    );
    let unfit = |nexthop: Nexthop| {
        let error = host.netlink().add(&nexthop).expect_err("unfit");
        match error.cause {
            Cause::Invalid(unfit) => unfit.reason,
            cause => panic!("{cause:?}"),
        }
    };
    let heavy = group(&[GroupMember {
        id: 8,
        weight: 65537,
    }]);
    assert_eq!(
        unfit(heavy),
        "the weight of a member must be between 1 and 65536"
    );
    let odd = of_8.clone().resilient_args(buckets(4));
    assert_eq!(
        unfit(odd),
        "buckets and timers require a group of type resilient"
    );
    refused_with(host.netlink().get(&Nexthop::numbered(99)), Errno::NOENT);
}
