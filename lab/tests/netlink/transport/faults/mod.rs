//! Lost, truncated and late datagrams, and lists that change during a dump: for every kind of object the result is
//! correct or a clear error. The kernel's datagrams are recorded and replayed with faults; the results are compared
//! with those without faults.

mod check;
mod tape;

use crate::UML;
use crate::witness::{self, index, name, parse, run};

use check::check;
use netlink::transport::{FakeKernel, Fault, Faulty};
use netlink::{
    Addr, Bridge, Fdb, FdbFlags, IfIndex, Link, LinkKind, MacAddress, Mdb, MdbState,
    NamespaceNumber, Neigh, Netlink, Nexthop, Object, PortVlan, Prefix, Route, Rule, Stats,
};
use tapline_lab::Host;

/// A host with a bridge and its port `a`.
fn host() -> (Host, IfIndex, IfIndex) {
    let (host, a, _) = witness::host();
    run(&host, "ip link add br0 up type bridge");
    run(&host, "ip link set dev a master br0");
    let bridge = index(&host, "br0");
    (host, bridge, a)
}

#[test]
fn links_under_faults() {
    let (host, ..) = host();
    let link = |text| Link::named(name(text)).kind(LinkKind::Ifb);
    // The second takes a message more.
    check(
        &host,
        &[link("i0").mtu(1400), link("i1").alias("other".into())],
    );
}

#[test]
fn addresses_under_faults() {
    let (host, bridge, _) = host();
    check(
        &host,
        &["192.0.2.1/24", "198.51.100.1/32"].map(|text| Addr::on(bridge, parse(text))),
    );
    let (host, bridge, _) = self::host();
    let addr = |text| Addr::on(bridge, parse(text)).nodad(true);
    let pair = ["2001:db8::1/64", "2001:db8:7::1/64"].map(addr);
    // The kernel tells of an IPv6 address some time after it was added.
    check::changes(&host, &pair);
    check::batch(&host, &pair);
}

#[test]
fn routes_under_faults() {
    for texts in [
        ["192.0.2.0/24", "198.51.100.0/24"],
        ["2001:db8::/64", "2001:db8:7::/48"],
    ] {
        let (host, bridge, _) = host();
        check(
            &host,
            &texts.map(|text| Route::to(parse(text)).dev(bridge).metric(77)),
        );
    }
}

#[test]
fn rules_under_faults() {
    let (host, ..) = host();
    let rule = |priority| {
        Rule::new()
            .priority(priority)
            .table(77.into())
            .src(parse("192.0.2.0/24"))
    };
    check(&host, &[900, 901].map(rule));
}

#[test]
fn nexthops_under_faults() {
    let (host, bridge, _) = host();
    check(&host, &[5, 6].map(|id| Nexthop::new().id(id).dev(bridge)));
}

#[test]
fn neighbours_under_faults() {
    let (host, bridge, _) = host();
    // A bridge that is up reports its multicast groups, and has entries for them that the kernel tells of to none.
    run(&host, "ip link set dev br0 down");
    let lladdr = MacAddress([2, 0, 0, 0, 0, 9]);
    check(
        &host,
        &[7, 8].map(|last| Neigh::on(bridge, [192, 0, 2, last]).lladdr(lladdr.into())),
    );
}

#[test]
fn forwarding_entries_under_faults() {
    let (host, _, a) = host();
    let entry = |last| Fdb::on(a, MacAddress([2, 0, 0, 0, 0, last])).flags(FdbFlags::MASTER);
    check(&host, &[7, 8].map(entry));
}

#[test]
fn multicast_groups_under_faults() {
    let (host, bridge, a) = host();
    // IPv6 joins groups in its own time, and each is an entry.
    host.set_sysctl("ipv6/conf/all/disable_ipv6", "1");
    let group = |text: &str| Mdb::on(bridge, a, text.parse().expect("a group"));
    check(
        &host,
        &["239.1.1.1", "ff0e::77"].map(|text| group(text).state(MdbState::Permanent)),
    );
}

#[test]
fn vlans_under_faults() {
    if UML.has_run() {
        return;
    }
    let (host, bridge, a) = host();
    let filtering = Bridge::new().vlan_filtering(true);
    host.netlink()
        .set(&Link::at(bridge).kind(filtering))
        .expect("it filters");
    check(&host, &[5, 6].map(|vlan| PortVlan::on(a, vlan)));
}

/// Numbers of namespaces and counters are not removed.
#[test]
fn numbers_and_counters_under_faults() {
    let (host, ..) = host();
    let other = Host::new("other");
    let namespace = other.namespace().try_clone().expect("a descriptor");
    let number = NamespaceNumber::new().namespace(namespace.into());
    host.netlink().add(&number.nsid(7)).expect("numbered");
    check::list::<NamespaceNumber>(&host);
    check::list::<Stats>(&host);
}

/// A list of many datagrams, of a kernel that stands in.
#[track_caller]
fn long_list<O: Object>(make: impl Fn(u32) -> O) {
    const COUNT: u32 = 1500;
    let kernel = FakeKernel::new();
    let mut netlink = kernel.netlink().expect("a socket");
    let dev = Link::named(name("dev")).kind(LinkKind::Dummy);
    netlink.add(&dev).expect("a link for the others");
    let before = netlink.list(&O::default()).expect("a list").items.len();
    for number in 0..COUNT {
        netlink.add(&make(number)).expect("added");
    }
    let expected = netlink.list(&O::default()).expect("a list");
    assert_eq!(expected.items.len(), before + COUNT as usize);
    for fault in [Fault::Interrupted, Fault::Truncated, Fault::Overrun] {
        for place in 0..4 {
            let socket = kernel.socket().expect("a socket");
            let mut netlink = Netlink::over(Faulty::new(socket, tape::at(place, fault)));
            match netlink.list(&O::default()) {
                Ok(told) => assert_eq!(told, expected, "{fault:?} at {place}"),
                Err(error) => assert!(fault != Fault::Interrupted, "{error:?}"),
            }
        }
    }
}

#[test]
fn lists_of_many_parts_under_faults() {
    let [high, low] = [
        |number: u32| (number >> 8) as u8,
        |number: u32| number as u8,
    ];
    let ip = |number| [10, 0, high(number), low(number)];
    let lladdr = MacAddress([2, 0, 0, 0, 0, 9]);
    let dev = IfIndex(1);
    long_list(|number| Link::named(name(&format!("i{number}"))).kind(LinkKind::Dummy));
    long_list(|number| Addr::on(dev, Prefix::new(std::net::Ipv4Addr::from(ip(number)), 32)));
    long_list(|number| Route::to(Prefix::new(std::net::Ipv4Addr::from(ip(number)), 32)).dev(dev));
    long_list(|number| Nexthop::new().id(number + 1).dev(dev));
    long_list(|number| Neigh::on(dev, ip(number)).lladdr(lladdr.into()));
}
