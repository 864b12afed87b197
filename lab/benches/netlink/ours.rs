//! The same tasks with tapline.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;

use netlink::{
    Batch, Bridge, IfIndex, IfName, Link, LinkKind, Netlink, Nexthop, OnError, Prefix, Route,
    RouteProtocol, Veth,
};

use crate::harness::Spread;

/// Group of the created links, so that one request can delete them all.
const GROUP: u32 = 7;
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 2);

fn name(letter: char, number: u32) -> IfName {
    IfName::new(format!("{letter}{number}")).expect("a short name")
}

fn nanoseconds(begin: Instant) -> f64 {
    begin.elapsed().as_nanos() as f64
}

fn median(times: &[f64]) -> f64 {
    Spread::of(times).expect("some times").median
}

/// Median times to create a link and to set it up.
pub fn links(netlink: &mut Netlink, count: u32) -> [f64; 2] {
    let create = (0..count).map(|number| {
        let name = name('l', number);
        let begin = Instant::now();
        let link = Link::named(name).group(GROUP).kind(LinkKind::Ifb);
        netlink.add(&link).expect("a link is made");
        nanoseconds(begin)
    });
    let create: Vec<_> = create.collect();
    let up = (0..count).map(|number| {
        let link = netlink
            .get(&Link::named(name('l', number)))
            .expect("it is there");
        let index = link.ifindex();
        let begin = Instant::now();
        netlink
            .set(&Link::at(index).up(true))
            .expect("it is set up");
        nanoseconds(begin)
    });
    let up: Vec<_> = up.collect();
    [median(&create), median(&up)]
}

pub fn bridges(netlink: &mut Netlink, count: u32) -> f64 {
    let times = (0..count).map(|number| {
        let name = name('l', number);
        let begin = Instant::now();
        let bridge = Bridge::new().ageing_time(12_300).mcast_snooping(false);
        let link = Link::named(name)
            .up(true)
            .mtu(1400)
            .address("02:00:00:00:00:07".parse().expect("an address"))
            .group(GROUP)
            .kind(bridge);
        netlink.add(&link).expect("a bridge is made");
        nanoseconds(begin)
    });
    median(&times.collect::<Vec<_>>())
}

/// Where the routes point.
#[derive(Clone, Copy)]
pub enum Way {
    Gateway(IfIndex),
    Nexthop(u32),
}

fn route(number: u32, table: u32, way: Way) -> Route {
    let ip = Ipv4Addr::from_bits(0x1400_0000 + number);
    let route = Route::to(Prefix::host(ip))
        .table(table.into())
        .protocol(RouteProtocol::Static);
    match way {
        Way::Gateway(link) => route.gateway(IpAddr::V4(GATEWAY)).dev(link),
        Way::Nexthop(id) => route.nhid(id),
    }
}

/// Adds routes one by one and waits for each acknowledgement.
pub fn routes(netlink: &mut Netlink, count: u32, way: Way) -> f64 {
    let begin = Instant::now();
    for number in 0..count {
        netlink.add(&route(number, 100, way)).expect("a route");
    }
    nanoseconds(begin)
}

pub fn route_batch(netlink: &mut Netlink, count: u32, table: u32, way: Way) -> f64 {
    in_batch(netlink, |batch| {
        for number in 0..count {
            batch.add(&route(number, table, way));
        }
    })
}

/// Like [`routes`], but with a shared template for all routes.
pub fn route_to_each(netlink: &mut Netlink, count: u32, table: u32, way: Way) -> f64 {
    let to = |number| Prefix::host(Ipv4Addr::from_bits(0x1400_0000 + number));
    in_batch(netlink, |batch| {
        batch.add_to_each(&route(0, table, way), (0..count).map(to));
    })
}

fn in_batch(netlink: &mut Netlink, fill: impl FnOnce(&mut Batch<'_>)) -> f64 {
    let begin = Instant::now();
    let mut batch = netlink.batch(OnError::Continue);
    fill(&mut batch);
    let outcome = batch.finish();
    let took = nanoseconds(begin);
    assert!(outcome.is_done(), "{:?}", outcome.failed.first());
    took
}

pub fn add_nexthop(netlink: &mut Netlink, link: IfIndex) {
    let nexthop = Nexthop::numbered(1).gateway(GATEWAY.into()).dev(link);
    netlink.add(&nexthop).expect("a nexthop");
}

/// Iterates over the routes of a table: how many, and how long it took.
pub fn each(netlink: &mut Netlink, table: u32) -> (u32, f64) {
    let filter = Route::new().family(netlink::Family::V4).table(table.into());
    let mut count = 0;
    let begin = Instant::now();
    let whole = netlink.each(&filter, |route| {
        black_box(&route);
        count += 1;
    });
    let took = nanoseconds(begin);
    assert!(whole.expect("routes"), "nothing changes meanwhile");
    (count, took)
}

/// Like [`each`], but collects the routes in a list.
pub fn list(netlink: &mut Netlink, table: u32) -> (u32, f64) {
    let filter = Route::new().family(netlink::Family::V4).table(table.into());
    let begin = Instant::now();
    let listing = netlink.list(&filter).expect("routes");
    let took = nanoseconds(begin);
    (black_box(&listing.items).len() as u32, took)
}

pub fn add_veths(netlink: &mut Netlink, pairs: u32) {
    in_batch(netlink, |batch| {
        for number in 0..pairs {
            let far = Link::named(name('q', number)).group(GROUP);
            let near = Link::named(name('p', number)).group(GROUP);
            batch.add(&near.kind(Veth::to(far)));
        }
    });
}

pub fn delete_group(netlink: &mut Netlink) -> f64 {
    let begin = Instant::now();
    netlink.del(&Link::new().group(GROUP)).expect("they go");
    nanoseconds(begin)
}

/// Deletes all routes of a link by setting it down and up.
pub fn shake(netlink: &mut Netlink, link: IfIndex) {
    for up in [false, true] {
        netlink
            .set(&Link::at(link).up(up))
            .expect("the link changes");
    }
}

/// Memory of this process, in KiB: current and peak.
pub fn memory() -> [u64; 2] {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    ["VmRSS:", "VmHWM:"].map(|field| {
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let number = line.and_then(|line| line.split_whitespace().next());
        number
            .and_then(|number| number.parse().ok())
            .expect("a number of KiB")
    })
}
