//! Routes that are refused, by the kernel or before it is asked.

mod names;

use std::net::IpAddr;

use names::{Names, ip, split};
use netlink::table::Words;
use netlink::{Cause, Encap, Family, Hop, Prefix, Route};
use tapline_lab::{Host, Net};

fn read(host: &Host, line: &str) -> Route {
    let (words, mut names) = (split(line), Names(host.netlink()));
    let route = Route::read_words(&mut Words::new(&words, &mut names), None);
    route.unwrap_or_else(|error| panic!("{line}: {error}"))
}

#[test]
fn refusals_say_what_and_where() {
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    let mut refused = |line: &str| {
        let error = netlink.add(&read(&host, line)).expect_err(line);
        (error.to_string(), error.errno())
    };
    let invalid = Some(rustix::io::Errno::INVAL.raw_os_error());
    assert_eq!(
        refused("10.0.0.1/8 dev left0"),
        (
            "cannot add route 10.0.0.1/8 (Invalid prefix for given prefix length)".into(),
            invalid
        )
    );
    assert_eq!(
        refused("192.0.2.0/24 via 172.16.0.1").0,
        "cannot add route 192.0.2.0/24 (Nexthop has invalid gateway)"
    );
    assert_eq!(
        refused("192.0.2.0/24 nhid 9").0,
        "cannot add route 192.0.2.0/24 (Nexthop id does not exist)"
    );
    let prefix = "192.0.2.0/24".parse().expect("a network");
    // A destination of one byte.
    let damaged = Encap::Other {
        kind: 2,
        bytes: vec![5, 0, 2, 0, 9, 0, 0, 0],
    };
    let damaged = Route::to(prefix)
        .dev(host.interface().index)
        .encap(Box::new(damaged));
    let error = netlink.add(&damaged).expect_err("it is damaged");
    assert_eq!(
        error.to_string(),
        "cannot add route 192.0.2.0/24 (encap.ip-dst: Attribute failed policy validation)"
    );
    let line = "192.0.2.0/24 via 10.1.0.2";
    ip(&host, &format!("route add {line}"));
    let twice = netlink.add(&read(&host, line)).expect_err("there is one");
    assert_eq!(twice.errno(), Some(rustix::io::Errno::EXIST.raw_os_error()));
    let absent = netlink.del(&read(&host, "192.0.3.0/24")).expect_err("none");
    assert_eq!(absent.errno(), Some(rustix::io::Errno::SRCH.raw_os_error()));
}

#[test]
fn what_cannot_be_said_is_not_sent() {
    let host = Host::new("host");
    let prefix = |text: &str| text.parse::<Prefix>().expect("a network");
    let address = |text: &str| text.parse::<IpAddr>().expect("an address");
    let too_long = Prefix::new(address("10.0.0.0"), 33);
    let hop = Hop::new().gateway(address("fd00::1"));
    let many = vec![Hop::new(); 1000];
    for (route, reason) in [
        (
            Route::new(),
            "a route leads somewhere: no destination is given",
        ),
        (Route::to(too_long), "a prefix of inet has at most 32 bits"),
        (
            Route::to(prefix("10.0.0.0/8")).gateway(address("fd00::1")),
            "fd00::1 is of another family than destination 10.0.0.0/8",
        ),
        (
            Route::to(prefix("fd00::/8")).prefsrc(address("10.0.0.1")),
            "10.0.0.1 is of another family than destination fd00::/8",
        ),
        (
            Route::to(prefix("10.0.0.0/8")).nexthops(vec![hop]),
            "fd00::1 is of another family than destination 10.0.0.0/8",
        ),
        (
            Route::to(prefix("10.0.0.0/8")).family(Family::V6),
            "destination 10.0.0.0/8 is not of the family given",
        ),
        (
            Route::to(prefix("10.0.0.0/8")).nexthops(vec![Hop::new().weight(257)]),
            "the weight of a next hop is 1 to 256",
        ),
        (
            Route::to(prefix("10.0.0.0/8")).nexthops(many),
            "more next hops than a message has room for",
        ),
    ] {
        let error = host.netlink().add(&route).expect_err("unfit");
        match error.cause {
            Cause::Unfit(unfit) => assert_eq!(unfit.reason, reason),
            cause => panic!("{cause:?}"),
        }
    }
}
