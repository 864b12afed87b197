//! A plain route is encoded and decoded without memory allocations.

use std::net::{IpAddr, Ipv4Addr};

use tapline_netlink::codec::Request;
use tapline_netlink::{IfIndex, Object, Prefix, Route, Verb};

#[test]
fn a_plain_route_allocates_nothing() {
    let route = Route::to(Prefix::new([20, 0, 0, 0], 8))
        .gateway(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)))
        .dev(IfIndex(2))
        .metric(5);
    let mut request = Request::default();
    // Room is made by the first and kept.
    Object::encode(&route, Verb::Add, &mut request).expect("it can be said");
    let counted = allocation_counter::measure(|| {
        request.clear();
        Object::encode(&route, Verb::Add, &mut request).expect("it can be said");
        let read = Route::decode(request.body()).expect("well formed");
        assert!(read.is_some_and(|read| read.matches(&route)));
    });
    assert_eq!(counted.count_total, 0);
}
