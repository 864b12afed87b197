//! Joins hosts to a network.

use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink::{
    Addr, IfIndex, IfName, Link, MacAddress, Neigh, Netlink, Prefix, Route, Veth, Watch,
};

use super::host::{Host, Interface};
use super::wait;

/// A network under construction. It numbers the links between hosts.
#[derive(Debug, Default)]
pub struct Net {
    links: Cell<u8>,
}

impl Net {
    /// Creates a network without hosts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates two hosts, `left` and `right`, joined by a link that is up.
    ///
    /// # Panics
    /// Without root.
    #[track_caller]
    pub fn pair(&self) -> [Host; 2] {
        let [mut left, mut right] = ["left", "right"].map(Host::new);
        self.join(&mut left, &mut right);
        [left, right]
    }

    /// Joins two hosts by a veth pair with addresses and neighbour entries on both ends. Returns when the link can
    /// carry packets; none have been sent on it by then.
    ///
    /// # Panics
    /// If the kernel reports an error, and at the 255th link.
    #[track_caller]
    pub fn join(&self, near: &mut Host, far: &mut Host) {
        let number = self
            .links
            .get()
            .checked_add(1)
            .expect("a network of at most 254 links");
        self.links.set(number);
        let hosts = [near, far];
        let ends = [0, 1].map(|end| Plan::of(hosts[end], number, end as u8 + 1));
        let mut handles = [hosts[0].netlink(), hosts[1].netlink()];

        let far = ends[1]
            .link()
            .in_namespace(hosts[1].namespace().try_clone().expect("a descriptor"));
        let link = handles[0]
            .create(&ends[0].link().kind(Veth::to(far)))
            .expect("a veth pair is made");
        let indices = [link.ifindex(), link.lower.expect("a veth has a peer")];
        for (netlink, index) in handles.iter_mut().zip(indices) {
            let up = Link::at(index).up(true).arp(false);
            netlink.set(&up).expect("the link is set up");
        }
        for (end, (host, netlink)) in hosts.into_iter().zip(&mut handles).enumerate() {
            wait::until_up(host, netlink, indices[end]);
            let interface = ends[end].interface(indices[end]);
            let mut routes = host
                .run(|| Watch::open(Route::new()))
                .expect("a watch of routes");
            address(netlink, &interface);
            // An IPv4 address is usable immediately.
            wait::until_received_for(interface.v6.into(), &mut routes);
            introduce(
                netlink,
                &interface,
                &ends[1 - end].interface(indices[1 - end]),
            );
            host.interfaces.push(interface);
        }
    }
}

/// Settings for one end of a link.
struct Plan {
    name: IfName,
    mac: MacAddress,
    v4: Ipv4Addr,
    v6: Ipv6Addr,
}

impl Plan {
    fn of(host: &Host, link: u8, end: u8) -> Self {
        let name = format!("{}{}", host.name(), host.interfaces.len());
        let name = IfName::new(name).expect("a host's name has at most 12 letters");
        let mac = MacAddress([2, 0, 0, 0, link, end]);
        Self {
            name,
            mac,
            v4: Ipv4Addr::new(10, link, 0, end),
            v6: Ipv6Addr::new(0xfd00, link.into(), 0, 0, 0, 0, 0, end.into()),
        }
    }

    fn link(&self) -> Link {
        Link::named(self.name).address(self.mac.into())
    }

    fn interface(&self, index: IfIndex) -> Interface {
        Interface {
            name: self.name,
            index,
            mac: self.mac,
            v4: self.v4,
            v6: self.v6,
        }
    }
}

fn address(netlink: &mut Netlink, interface: &Interface) {
    let v4 = Addr::on(interface.index, Prefix::new(interface.v4, 24));
    let v6 = Addr::on(interface.index, Prefix::new(interface.v6, 64));
    for addr in [v4, v6.nodad(true)] {
        netlink.add(&addr).expect("the interface gets its address");
    }
}

/// Adds a permanent neighbour entry for the other end, so that the interface sends no ARP or NDP requests.
fn introduce(netlink: &mut Netlink, own: &Interface, other: &Interface) {
    for ip in [IpAddr::from(other.v4), other.v6.into()] {
        let neighbour = Neigh::on(own.index, ip).lladdr(other.mac.into());
        netlink
            .replace(&neighbour)
            .expect("the interface gets its neighbour");
    }
}
