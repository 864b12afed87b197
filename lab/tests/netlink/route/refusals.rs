//! Routes that the kernel or the library rejects.

use std::net::IpAddr;

use crate::witness::{assert_error, refused_with};
use netlink::{Cause, Encap, Family, Hop, Prefix, Route};
use rustix::io::Errno;
use tapline_lab::{Host, Net};

#[test]
fn refusals_say_what_and_where() {
    let [host, _there] = Net::new().pair();
    let mut netlink = host.netlink();
    let to = |text: &str| Route::to(text.parse().expect("a network"));
    let mut refused = |route: Route| {
        let error = netlink.add(&route).expect_err("refused");
        (error.to_string(), error.errno())
    };
    let invalid = Some(Errno::INVAL.raw_os_error());
    assert_eq!(
        refused(to("10.0.0.1/8").dev(host.interface().index)),
        (
            "cannot add route 10.0.0.1/8 (Invalid prefix for given prefix length)".into(),
            invalid
        )
    );
    assert_eq!(
        refused(to("192.0.2.0/24").gateway([172, 16, 0, 1].into())).0,
        "cannot add route 192.0.2.0/24 (Nexthop has invalid gateway)"
    );
    assert_eq!(
        refused(to("192.0.2.0/24").nhid(9)).0,
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
    assert_error(
        netlink.add(&damaged),
        "cannot add route 192.0.2.0/24 (encap.ip-dst: Attribute failed policy validation)",
    );
    host.ip("route add 192.0.2.0/24 via 10.1.0.2");
    let twice = to("192.0.2.0/24").gateway([10, 1, 0, 2].into());
    refused_with(netlink.add(&twice), Errno::EXIST);
    refused_with(netlink.del(&to("192.0.3.0/24")), Errno::SRCH);
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
        (Route::new(), "no destination is given"),
        (
            Route::to(too_long),
            "the prefix length of inet is at most 32",
        ),
        (
            Route::to(prefix("10.0.0.0/8")).gateway(address("fd00::1")),
            "fd00::1 and destination 10.0.0.0/8 belong to different families",
        ),
        (
            Route::to(prefix("fd00::/8")).prefsrc(address("10.0.0.1")),
            "10.0.0.1 and destination fd00::/8 belong to different families",
        ),
        (
            Route::to(prefix("10.0.0.0/8")).nexthops(vec![hop]),
            "fd00::1 and destination 10.0.0.0/8 belong to different families",
        ),
        (
            Route::to(prefix("10.0.0.0/8")).family(Family::V6),
            "destination 10.0.0.0/8 does not belong to the given family",
        ),
        (
            Route::to(prefix("10.0.0.0/8")).nexthops(vec![Hop::new().weight(257)]),
            "the weight of a next hop must be between 1 and 256",
        ),
        (
            Route::to(prefix("10.0.0.0/8")).nexthops(many),
            "too many next hops for one message",
        ),
    ] {
        let error = host.netlink().add(&route).expect_err("unfit");
        match error.cause {
            Cause::Invalid(unfit) => assert_eq!(unfit.reason, reason),
            cause => panic!("{cause:?}"),
        }
    }
}
