//! The fake kernel replies as the kernel does: each change is made in both, then error numbers and lists are compared.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::net::IpAddr;

use crate::UML;
use crate::witness::name;
use netlink::transport::FakeKernel;
use netlink::{
    Addr, Broadcast, Fdb, FdbFlags, Group, Hop, IfIndex, Lifetime, Link, LinkKind, MacAddress,
    Macvlan, MacvlanMode, Neigh, Netlink, NetlinkError, Nexthop, Object, PortVlan, Prefix, Route,
    RouteQuery, RouteType, Veth, Vlan, Vxlan,
};
use tapline_lab::Host;

/// The kernel of a namespace, and a fake one with the same loopback.
struct Both {
    kernel: Netlink,
    fake: Netlink,
    differences: Vec<String>,
    /// The differences that have been reported, which later lists have too.
    known: BTreeSet<String>,
    _host: Host,
}

type Change<'a> = &'a dyn Fn(&mut Netlink) -> Result<(), NetlinkError>;

/// The loopback, which the kernel has from the start.
const LOOPBACK: IfIndex = IfIndex(1);
/// A link that does not exist.
const MISSING: IfIndex = IfIndex(77);

impl Both {
    fn new() -> Self {
        let host = Host::new("host");
        let fake = FakeKernel::new().keeping::<Fdb>();
        let mut fake = fake.netlink().expect("a socket");
        let loopback = Link::named(name("lo")).index(LOOPBACK).up(true);
        fake.add(&loopback).expect("a loopback");
        Self {
            kernel: host.netlink(),
            fake,
            differences: Vec::new(),
            known: BTreeSet::new(),
            _host: host,
        }
    }

    /// Makes a change in both and compares.
    fn make(&mut self, what: &str, change: Change<'_>) {
        let [expected, found] = [&mut self.kernel, &mut self.fake].map(|netlink| {
            let result = change(netlink);
            let result = result.map_err(|error| {
                let errno = error.errno().unwrap_or_else(|| panic!("{what}: {error:?}"));
                std::io::Error::from_raw_os_error(errno).to_string()
            });
            (result, state(netlink))
        });
        if found.0 != expected.0 {
            let (found, expected) = (found.0, expected.0);
            self.differ(format!("{what}: {found:?}, the kernel {expected:?}"));
        }
        let only = |own: &[String], other: &[String], which: &str| {
            let only = own.iter().filter(|line| !other.contains(line));
            only.map(|line| format!("only in {which}: {line}"))
                .collect::<Vec<_>>()
        };
        for difference in [
            only(&found.1, &expected.1, "the fake kernel"),
            only(&expected.1, &found.1, "the kernel"),
        ]
        .concat()
        {
            if self.known.insert(difference.clone()) {
                self.differ(format!("after {what}, {difference}"));
            }
        }
    }

    fn differ(&mut self, difference: String) {
        self.differences.push(difference);
    }

    fn add<O: Object>(&mut self, object: &O) {
        let what = format!("adding {}", given(object));
        self.make(&what, &|netlink| netlink.add(object));
    }

    fn set<O: Object>(&mut self, object: &O) {
        let what = format!("setting {}", given(object));
        self.make(&what, &|netlink| netlink.set(object));
    }

    fn del<O: Object>(&mut self, object: &O) {
        let what = format!("deleting {}", given(object));
        self.make(&what, &|netlink| netlink.del(object));
    }

    /// Where packets to `to` go.
    fn look_up(&mut self, to: &str) {
        let query = RouteQuery::address(to.parse::<IpAddr>().expect("an address"));
        let [expected, found] = [&mut self.kernel, &mut self.fake].map(|netlink| {
            let found = netlink.lookup(&query).map_err(|error| error.errno());
            found.map(|route| (route.dev, route.kind, route.table, route.gateway))
        });
        if found != expected {
            self.differ(format!("to {to}: {found:?}, the kernel {expected:?}"));
        }
    }

    #[track_caller]
    fn finish(self) {
        let count = self.differences.len();
        assert!(count == 0, "{count}:\n{}", self.differences.join("\n"));
    }
}

/// The fields of an object that are given.
fn given(object: &impl Debug) -> String {
    let text = format!("{object:?}");
    let fields = text.split(", ").filter(|field| !field.ends_with(": None"));
    fields.collect::<Vec<_>>().join(", ")
}

/// Everything that a fake kernel stores, one line each. Without what it does not have: the routes of the loopback, the
/// multicast routes of IPv6, and the forwarding entries that belong to devices from the start. Without the local routes of
/// IPv6, which the kernel adds later (`addrconf_dad_completed`).
fn state(netlink: &mut Netlink) -> Vec<String> {
    fn list<O: Object>(netlink: &mut Netlink) -> Vec<O> {
        netlink.list(&O::default()).expect("a list").items
    }
    let mut lines: Vec<_> = list::<Link>(netlink)
        .into_iter()
        .map(|link| {
            let kind = link.kind_name();
            let place = (link.index, link.name, link.lower, link.master);
            format!("link {place:?} {kind:?} {:?}", link.up)
        })
        .collect();
    for addr in list::<Addr>(netlink) {
        let Some(local) = addr.local.filter(|_| addr.dev != Some(LOOPBACK)) else {
            continue;
        };
        let of = (addr.dev, local, addr.prefixlen, addr.peer);
        let life = (addr.valid_life_time, addr.preferred_life_time);
        let flags = (addr.dynamic, addr.deprecated, addr.secondary, addr.nodad);
        let other = (addr.metric, addr.broadcast, addr.scope, addr.noprefixroute);
        lines.push(format!("address {of:?} {life:?} {flags:?} {other:?}"));
    }
    let is_kept = |route: &Route| {
        let is_own = !matches!(route.kind, Some(RouteType::Multicast | RouteType::Anycast));
        let is_late = route.is_local() && route.dst.is_some_and(|to| to.ip.is_ipv6());
        is_own && !is_late && route.dev != Some(LOOPBACK)
    };
    for route in list::<Route>(netlink).iter().filter(|it| is_kept(it)) {
        let to = (route.dst, route.kind, route.table, route.metric);
        let way = (route.dev, route.gateway, route.prefsrc, route.nhid);
        // The kernel reports the next hops of a nexthop object.
        let hops = route
            .nexthops
            .iter()
            .flatten()
            .map(|hop| (hop.dev, hop.gateway));
        let hops: Vec<_> = hops.filter(|_| route.nhid.is_none()).collect();
        let way = match way {
            (_, _, source, Some(id)) => (None, None, source, Some(id)),
            way => way,
        };
        let origin = (route.protocol, route.scope);
        lines.push(format!("route {to:?} {way:?} {hops:?} {origin:?}"));
    }
    for nexthop in list::<Nexthop>(netlink) {
        let group = nexthop.group.as_ref();
        lines.push(format!(
            "nexthop {:?} {:?} {group:?}",
            nexthop.id, nexthop.dev
        ));
    }
    for neigh in list::<Neigh>(netlink) {
        // The kernel adds neighbours that need no resolution itself.
        if neigh.state == Some(netlink::NeighState::Permanent) {
            lines.push(format!("neighbour {:?} {:?}", neigh.dev, neigh.dst));
        }
    }
    for entry in list::<Fdb>(netlink) {
        if entry.lladdr.is_some_and(|mac| mac.0[..2] == [2, 7]) {
            let flags = entry.flags.unwrap_or_default();
            let is_bridge = entry.master.is_some() || flags.contains(FdbFlags::MASTER);
            lines.push(format!(
                "entry {:?} {:?} {is_bridge}",
                entry.dev, entry.lladdr
            ));
        }
    }
    lines.sort();
    lines
}

fn ifb(text: &str) -> Link {
    Link::named(name(text)).kind(LinkKind::Ifb)
}

fn bridge(text: &str) -> Link {
    Link::named(name(text)).kind(LinkKind::named("bridge"))
}

fn pair(text: &str, peer: Link) -> Link {
    Link::named(name(text)).kind(Veth::to(peer))
}

fn macvlan(text: &str) -> Link {
    Link::named(name(text)).kind(Macvlan::new().mode(MacvlanMode::Bridge))
}

fn called(text: &str) -> Link {
    Link::named(name(text))
}

fn prefix(text: &str) -> Prefix {
    text.parse().expect("a prefix")
}

#[test]
fn indexes_and_names_are_those_of_the_kernel() {
    let mut both = Both::new();
    both.add(&bridge("br0").index(IfIndex(7)));
    both.add(&ifb("i0").index(IfIndex(7)));
    both.add(&bridge("br0").index(IfIndex(9)));
    both.add(&bridge("br0"));
    both.add(&ifb("i3").index(IfIndex(3)));
    for text in ["i0", "i1", "i2"] {
        both.add(&ifb(text));
        // What is only asked does not take an index.
        for netlink in [&mut both.kernel, &mut both.fake] {
            netlink.link_named("br0").expect("there");
            netlink.links().expect("a list");
        }
    }
    both.del(&called("i2"));
    both.del(&called("i2"));
    both.add(&ifb("i2"));
    both.set(&called("i2").index(IfIndex(3)));
    let index = both.fake.link_named("i2").expect("there").ifindex();
    both.set(&called("br0").index(index));
    both.set(&called("i2").index(index));
    both.set(&called("other").index(index));
    both.set(&called("missing").up(true));
    both.set(&Link::at(MISSING).up(true));
    both.del(&Link::at(MISSING));
    both.add(&Link::new().kind(LinkKind::Ifb));
    both.add(&Link::new().kind(LinkKind::Ifb));
    both.add(&ifb("p%d"));
    both.add(&ifb("p%d"));
    both.finish();
}

#[test]
fn links_are_deleted_with_those_that_they_need() {
    let mut both = Both::new();
    both.add(&pair("v0", called("v1")));
    both.add(&pair("v2", called("v1")));
    both.add(&Link::new().kind(Veth::new()));
    both.add(&pair("v2", Link::new()));
    both.add(&macvlan("m0"));
    both.add(&macvlan("m0").lower(MISSING));
    let index = |both: &mut Both, text| both.fake.link_named(text).expect("there").ifindex();
    let (v0, v2) = (index(&mut both, "v0"), index(&mut both, "v2"));
    both.add(&macvlan("m0").lower(v0));
    both.add(&macvlan("m2").lower(v2));
    both.add(&bridge("br0"));
    let br0 = index(&mut both, "br0");
    both.add(&ifb("i0"));
    both.set(&called("i0").master(MISSING));
    both.set(&called("i0").master(br0));
    both.add(&ifb("i1").master(br0));
    both.set(&called("i1").master(IfIndex(0)));
    both.del(&called("br0"));
    both.del(&called("v1"));
    both.del(&called("m2"));
    both.del(&called("v2"));
    // The kernel has given each of these an index before it refuses them.
    both.add(&pair("v2", called("v2")));
    both.add(&ifb("i4").master(MISSING));
    both.finish();
}

/// Kinds that the kernel of the test machine may lack.
#[test]
fn rare_links_are_deleted_with_their_lower_link() {
    if UML.has_run() {
        return;
    }
    let mut both = Both::new();
    let dummy = |text: &str| called(text).kind(LinkKind::Dummy);
    let vlan = |text: &str| called(text).kind(Vlan::new().id(7));
    both.add(&dummy("d0"));
    let d0 = both.fake.link_named("d0").expect("there").ifindex();
    both.add(&vlan("d0.7"));
    both.add(&vlan("d0.7").lower(MISSING));
    both.add(&vlan("d0.7").lower(d0));
    let vxlan = |link| called("x0").kind(Vxlan::new().id(7).link(link));
    both.add(&vxlan(MISSING));
    both.add(&vxlan(d0));
    both.del(&called("d0"));
    both.finish();
}

/// Two pairs whose ends `a` and `b` are up, with their indexes.
fn with_pairs() -> (Both, IfIndex, IfIndex) {
    let mut both = Both::new();
    for (end, peer) in [("a", "ap"), ("b", "bp")] {
        both.add(&pair(end, called(peer)));
        // No addresses of their own.
        for text in [peer, end] {
            for netlink in [&mut both.kernel, &mut both.fake] {
                let link = netlink.link_named(text).expect("there").ifindex();
                let quiet = Link::at(link).address_mode(netlink::AddrGenMode::None);
                netlink.set(&quiet.up(true)).expect("set");
            }
        }
    }
    let [a, b] = ["a", "b"].map(|text| both.fake.link_named(text).expect("there").ifindex());
    (both, a, b)
}

#[test]
fn addresses_have_the_routes_of_the_kernel() {
    let (mut both, a, b) = with_pairs();
    let on = |text: &str| Addr::on(a, prefix(text));
    both.look_up("10.0.0.9");
    both.add(&on("10.0.0.1/24"));
    both.look_up("10.0.0.9");
    both.add(&on("10.0.0.1/24"));
    both.add(&on("10.0.0.2/24"));
    both.add(&on("10.1.0.1/24").broadcast(Broadcast::Ones));
    both.add(&on("10.2.0.1/32"));
    both.add(&on("10.3.0.1/31"));
    both.add(&on("10.4.0.1/24").noprefixroute(true));
    both.add(&on("10.5.0.1/24").peer("10.6.0.9".parse().expect("an address")));
    both.add(&on("10.7.0.1/24").metric(5));
    both.add(&Addr::on(b, prefix("10.0.0.1/24")));
    both.look_up("10.7.0.9");
    both.set(&Link::at(a).up(false));
    both.look_up("10.7.0.9");
    both.add(&on("10.8.0.1/24"));
    both.set(&Link::at(a).up(true));
    both.look_up("10.7.0.9");
    both.del(&on("10.0.0.1/24"));
    both.del(&on("10.0.0.1/24"));
    both.del(&on("10.7.0.1/24"));
    both.look_up("10.7.0.9");
    both.add(&on("fd00::1/64").nodad(true));
    both.add(&on("fd00::1/128").nodad(true));
    both.add(&on("fd01::1/128").nodad(true));
    both.look_up("fd00::9");
    both.del(&on("fd00::1/64"));
    both.look_up("fd00::9");
    for addr in [on("10.9.0.1/24"), on("fd09::1/64")] {
        both.add(&addr.clone().dev(MISSING));
        both.set(&addr.clone().dev(MISSING));
        both.del(&addr.dev(MISSING));
    }
    both.del(&called("ap"));
    both.finish();
}

#[test]
fn a_change_creates_an_address_and_resets_its_lifetimes() {
    let (mut both, a, _) = with_pairs();
    for text in ["10.0.0.1/24", "fd00::1/64"] {
        let is_v6 = text.contains(':');
        let addr = Addr::on(a, prefix(text));
        let addr = if is_v6 { addr.nodad(true) } else { addr };
        both.set(&addr);
        both.set(&addr.clone().metric(7).noprefixroute(true));
        both.set(
            &addr
                .clone()
                .valid_life_time(Lifetime(90_000))
                .preferred_life_time(Lifetime(0)),
        );
        both.set(&addr);
        both.make("replacing", &|netlink| netlink.replace(&addr));
        both.del(&addr);
    }
    both.finish();
}

#[test]
fn routes_and_neighbours_need_their_links() {
    let (mut both, a, b) = with_pairs();
    for (dev, text) in [(a, "10.0.0.1/24"), (b, "10.1.0.1/24")] {
        both.add(&Addr::on(dev, prefix(text)));
    }
    for (dev, text) in [(a, "fd00::1/64"), (b, "fd01::1/64")] {
        both.add(&Addr::on(dev, prefix(text)).nodad(true));
    }
    let to = |text: &str| Route::to(prefix(text));
    let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
    both.add(&to("192.0.2.0/24").dev(MISSING));
    both.del(&to("192.0.2.0/24").dev(MISSING));
    both.add(&to("2001:db8::/32").dev(MISSING));
    both.add(&to("192.0.2.0/24").nhid(9));
    let hops = |first: &str, second: &str| {
        let hop = |text| Hop::new().gateway(ip(text));
        vec![hop(first).dev(a), hop(second).dev(b)]
    };
    both.add(&to("192.0.2.0/24").nexthops(hops("10.0.0.2", "10.1.0.2")));
    both.add(&to("2001:db8::/32").nexthops(hops("fd00::2", "fd01::2")));
    both.add(&Nexthop::numbered(3).dev(MISSING));
    both.add(&Nexthop::numbered(4).group(Group::of([3])));
    both.add(&Nexthop::numbered(3).dev(a));
    both.add(&Nexthop::new().dev(b));
    both.add(&Nexthop::numbered(4).group(Group::of([1, 3])));
    both.add(&Nexthop::numbered(5).group(Group::of([3])));
    both.add(&to("198.51.100.0/24").nhid(3));
    both.add(&to("198.51.101.0/24").nhid(4));
    both.add(&Nexthop::numbered(6).dev(b));
    both.add(&to("198.51.102.0/24").nhid(6));
    both.del(&Nexthop::numbered(6));
    let neigh = |dev| {
        let neigh = Neigh::on(dev, [10, 0, 0, 2]);
        neigh.lladdr(MacAddress([2, 7, 0, 0, 0, 1]).into())
    };
    for dev in [a, MISSING] {
        both.add(&neigh(dev));
        both.set(&neigh(dev));
        both.make("getting", &|netlink| netlink.get(&neigh(dev)).map(drop));
    }
    both.del(&neigh(MISSING));
    both.add(&PortVlan::on(MISSING, 7));
    both.del(&Link::at(a));
    both.finish();
}

#[test]
fn forwarding_entries_of_the_device_and_of_its_bridge_are_two() {
    let (mut both, a, _) = with_pairs();
    both.add(&bridge("br0"));
    let br0 = both.fake.link_named("br0").expect("there").ifindex();
    both.set(&Link::at(a).master(br0));
    let entry = |number, flags| Fdb::on(a, MacAddress([2, 7, 0, 0, 0, number])).flags(flags);
    let (own, master) = (FdbFlags::SELF, FdbFlags::MASTER);
    both.add(&entry(1, own));
    both.del(&entry(1, master));
    both.add(&entry(1, master));
    both.add(&entry(1, master));
    both.add(&entry(1, own));
    both.add(&entry(2, own | master));
    both.add(&entry(2, master));
    both.del(&entry(2, own));
    both.del(&entry(2, own));
    both.del(&entry(1, master));
    both.add(&entry(3, own).dev(MISSING));
    both.del(&entry(3, own).dev(MISSING));
    both.del(&Link::at(a));
    both.finish();
}
