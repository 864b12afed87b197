//! Two hosts in network namespaces, connected by a veth pair.
//!
//! Neighbour entries are static, and IPv6 sends nothing on its own, so only the demo's traffic crosses the link.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd};

use rustix::event::PollFlags;
use tapline::net::{
    Addr, Event, IfIndex, IfName, Link, MacAddress, Neigh, Netlink, OperState, Prefix, Route, Veth,
    Watch,
};
use tapline::{Namespace, NamespaceError};

use super::deadline::Deadline;
use crate::failure::{Exit, Failure, chain};

/// Interface names.
pub const LEFT: &str = "left0";
pub const RIGHT: &str = "right0";

/// Prefix lengths of the network.
const PREFIX4: u8 = 24;
const PREFIX6: u8 = 64;

/// The sending host and the capturing host.
pub struct Hosts {
    pub left: Host,
    pub right: Host,
}

/// A host and its end of the link. Its addresses are from the documentation ranges (RFC 5737, RFC 3849).
pub struct Host {
    namespace: Namespace,
    netlink: Netlink,
    pub name: IfName,
    pub index: IfIndex,
    pub mac: MacAddress,
    pub v4: Ipv4Addr,
    pub v6: Ipv6Addr,
}

/// Counters of an interface, in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceCounters {
    pub rx_packets: u64,
    pub rx_bytes: u64,
    pub tx_packets: u64,
    pub tx_bytes: u64,
}

impl InterfaceCounters {
    pub fn packets(&self) -> u64 {
        self.rx_packets + self.tx_packets
    }

    pub fn bytes(&self) -> u64 {
        self.rx_bytes + self.tx_bytes
    }

    /// The difference to an earlier reading.
    pub fn since(&self, before: Self) -> Self {
        Self {
            rx_packets: self.rx_packets - before.rx_packets,
            rx_bytes: self.rx_bytes - before.rx_bytes,
            tx_packets: self.tx_packets - before.tx_packets,
            tx_bytes: self.tx_bytes - before.tx_bytes,
        }
    }
}

impl Hosts {
    /// Creates and connects both hosts. Returns when packets can cross.
    pub fn create(deadline: &Deadline<'_>) -> Result<Self, Failure> {
        let mut left = Host::create(LEFT, 1)?;
        let mut right = Host::create(RIGHT, 2)?;
        let end = |host: &Host| Link::named(host.name).address(host.mac.into());
        let far = end(&right).namespace(right.namespace.clone());
        let link = left.netlink.create(&end(&left).kind(Veth::to(far)))?;
        left.index = link.ifindex();
        right.index = right.netlink.link_named(RIGHT)?.ifindex();
        for host in [&mut left, &mut right] {
            // Without ARP an interface joins no solicited-node group and so sends no MLD report
            // (`addrconf_join_solict`, net/ipv6/addrconf.c).
            let up = Link::at(host.index).up(true).arp(false);
            host.netlink.set(&up)?;
        }
        for host in [&mut left, &mut right] {
            host.wait_until_up(deadline)?;
            host.add_addresses(deadline)?;
        }
        left.add_neighbours(&right)?;
        right.add_neighbours(&left)?;
        Ok(Self { left, right })
    }
}

impl Host {
    /// Creates a host without a link. Its addresses end in `number`.
    fn create(name: &'static str, number: u8) -> Result<Self, Failure> {
        let namespace = Namespace::create().map_err(|error| namespace_failure(&error))?;
        let netlink = Netlink::open_in(&namespace)?;
        let host = Self {
            namespace,
            netlink,
            name: IfName::new(name).map_err(|error| Failure::job(&error))?,
            index: IfIndex(0),
            mac: MacAddress([2, 0, 0, 0, 0, number]),
            v4: Ipv4Addr::new(192, 0, 2, number),
            v6: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, number.into()),
        };
        host.disable_ipv6_autoconfiguration()?;
        Ok(host)
    }

    /// Keeps interfaces from generating link-local addresses and soliciting routers.
    fn disable_ipv6_autoconfiguration(&self) -> Result<(), Failure> {
        let path = "/proc/sys/net/ipv6/conf/default/addr_gen_mode";
        let what = format!("{path} of a test host");
        match self.run(|| std::fs::write(path, "1"))? {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Failure::new(
                Exit::Unsupported,
                "the demo needs IPv6, which this kernel does not support",
            )),
            Err(error) => Err(Failure::job_on(format!("cannot write {what}"), &error)),
            Ok(()) => Ok(()),
        }
    }

    /// Waits until the link can carry packets.
    fn wait_until_up(&mut self, deadline: &Deadline<'_>) -> Result<(), Failure> {
        // Recent kernels update the carrier state on request (`linkwatch_sync_dev`, net/core/link_watch.c),
        // older ones up to a second later.
        if self.netlink.link(self.index)?.state == Some(OperState::Up) {
            return Ok(());
        }
        let mut watch = Watch::open_in(&self.namespace, Link::at(self.index))?;
        loop {
            match watch.try_next()? {
                Some(Event::Added(link) | Event::Changed { after: link, .. })
                    if link.state == Some(OperState::Up) =>
                {
                    return Ok(());
                }
                Some(_) => {}
                None => deadline.wait("the link", &[(watch.as_fd(), PollFlags::IN)])?,
            }
        }
    }

    /// Adds the addresses and waits until they are usable.
    fn add_addresses(&mut self, deadline: &Deadline<'_>) -> Result<(), Failure> {
        let mut routes = self.run(|| Watch::open(Route::new()))??;
        let v4 = Addr::on(self.index, Prefix::new(self.v4, PREFIX4));
        let v6 = Addr::on(self.index, Prefix::new(self.v6, PREFIX6));
        for addr in [v4, v6.nodad(true)] {
            self.netlink.add(&addr)?;
        }
        // An IPv4 address is usable at once, an IPv6 address when its local route exists.
        loop {
            match routes.try_next()? {
                Some(Event::Added(route))
                    if route.is_local() && route.dst == Some(Prefix::host(self.v6)) =>
                {
                    return Ok(());
                }
                Some(_) => {}
                None => deadline.wait("the address", &[(routes.as_fd(), PollFlags::IN)])?,
            }
        }
    }

    /// Adds permanent neighbour entries for the other host and for broadcast.
    fn add_neighbours(&mut self, other: &Self) -> Result<(), Failure> {
        // Without ARP the kernel would send broadcasts to the interface's own address.
        for (ip, mac) in [
            (self.v4_broadcast().into(), MacAddress([0xff; 6])),
            (IpAddr::from(other.v4), other.mac),
            (other.v6.into(), other.mac),
        ] {
            let neighbour = Neigh::on(self.index, ip).lladdr(mac.into());
            self.netlink.replace(&neighbour)?;
        }
        Ok(())
    }

    /// Runs `job` on the host. Sockets that it opens stay in the host's namespace.
    pub fn run<T: Send>(&self, job: impl FnOnce() -> T + Send) -> Result<T, Failure> {
        self.namespace
            .run(job)
            .map_err(|error| namespace_failure(&error))
    }

    /// Opens a socket on the host.
    pub fn open<T: Send>(
        &self,
        what: &str,
        open: impl FnOnce() -> io::Result<T> + Send,
    ) -> Result<T, Failure> {
        self.run(open)?
            .map_err(|error| Failure::job_on(format!("cannot open {what}"), &error))
    }

    /// The counters of its interface.
    pub fn counters(&mut self) -> Result<InterfaceCounters, Failure> {
        let link = self.netlink.link(self.index)?;
        let statistics = link
            .statistics
            .ok_or_else(|| Failure::new(Exit::Failed, format!("{} has no counters", self.name)))?;
        Ok(InterfaceCounters {
            rx_packets: statistics.rx_packets,
            rx_bytes: statistics.rx_bytes,
            tx_packets: statistics.tx_packets,
            tx_bytes: statistics.tx_bytes,
        })
    }

    /// Its address of one family.
    pub fn ip(&self, family: Family) -> IpAddr {
        match family {
            Family::V4 => self.v4.into(),
            Family::V6 => self.v6.into(),
        }
    }

    /// The broadcast address of the network.
    pub fn v4_broadcast(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.v4.to_bits() | u32::MAX >> PREFIX4)
    }

    /// A path by which other processes can enter its namespace while this process lives.
    pub fn namespace_path(&self) -> String {
        let descriptor = self.namespace.as_fd().as_raw_fd();
        format!("/proc/{}/fd/{descriptor}", std::process::id())
    }
}

/// A version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    V4,
    V6,
}

fn namespace_failure(error: &NamespaceError) -> Failure {
    let exit = match error.source.kind() {
        io::ErrorKind::PermissionDenied => Exit::Privilege,
        _ => Exit::Failed,
    };
    Failure::new(exit, chain(error))
}
