//! Two hosts in network namespaces, joined by a veth pair.
//!
//! The hosts know each other's hardware addresses, and IPv6 is kept from introducing itself, so
//! nothing but the demo's own traffic crosses the link.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd};

use abi::namespace::{NamespaceError, NetNamespace};
use netlink::{
    Addr, Event, IfIndex, IfName, Link, MacAddress, Neigh, Netlink, OperState, Prefix, Route, Veth,
    Watch,
};
use rustix::event::PollFlags;

use super::patience::Patience;
use crate::failure::{Exit, Failure, chain};

/// Names of the interfaces.
pub const LEFT: &str = "left0";
pub const RIGHT: &str = "right0";

/// Length of the network's prefix, in bits.
const PREFIX4: u8 = 24;
const PREFIX6: u8 = 64;

/// Who sends, and who is captured on.
pub struct Hosts {
    pub left: Host,
    pub right: Host,
}

/// A host and its end of the link. Addresses are of the ranges for documentation (RFC 5737, RFC 3849).
pub struct Host {
    namespace: NetNamespace,
    netlink: Netlink,
    pub name: IfName,
    pub index: IfIndex,
    pub mac: MacAddress,
    pub v4: Ipv4Addr,
    pub v6: Ipv6Addr,
}

/// What an interface has counted, in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub rx_packets: u64,
    pub rx_bytes: u64,
    pub tx_packets: u64,
    pub tx_bytes: u64,
}

impl Counters {
    pub fn packets(&self) -> u64 {
        self.rx_packets + self.tx_packets
    }

    pub fn bytes(&self) -> u64 {
        self.rx_bytes + self.tx_bytes
    }

    /// What has been counted since `before`.
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
    /// Makes both and joins them; returns when packets can cross.
    pub fn make(patience: &Patience<'_>) -> Result<Self, Failure> {
        let mut left = Host::make(LEFT, 1)?;
        let mut right = Host::make(RIGHT, 2)?;
        let end = |host: &Host| Link::named(host.name).address(host.mac.into());
        let far = end(&right).namespace_fd(right.namespace.as_fd().as_raw_fd());
        let link = left.netlink.create(&end(&left).kind(Veth::to(far)))?;
        left.index = link.ifindex();
        right.index = right.netlink.link_named(RIGHT)?.ifindex();
        for host in [&mut left, &mut right] {
            // Without ARP an interface joins no solicited-node group, so it reports none either
            // (`addrconf_join_solict`, net/ipv6/addrconf.c).
            let up = Link::at(host.index).up(true).arp(false);
            host.netlink.set(&up)?;
        }
        for host in [&mut left, &mut right] {
            host.until_up(patience)?;
            host.address(patience)?;
        }
        left.introduce(&right)?;
        right.introduce(&left)?;
        Ok(Self { left, right })
    }
}

impl Host {
    /// A host that is not joined yet; `number` tells its addresses from others'.
    fn make(name: &'static str, number: u8) -> Result<Self, Failure> {
        let namespace = NetNamespace::create().map_err(|error| refused(&error))?;
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
        host.keep_quiet()?;
        Ok(host)
    }

    /// Keeps interfaces yet to come from having a link-local IPv6 address and asking for routers.
    fn keep_quiet(&self) -> Result<(), Failure> {
        let path = "/proc/sys/net/ipv6/conf/default/addr_gen_mode";
        let what = format!("{path} of a test host");
        match self.run(|| std::fs::write(path, "1"))? {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Failure::new(
                Exit::Unsupported,
                "the demo needs IPv6, which this kernel has not",
            )),
            Err(error) => Err(Failure::job_on(format!("cannot write {what}"), &error)),
            Ok(()) => Ok(()),
        }
    }

    /// Returns when the link can carry packets.
    fn until_up(&mut self, patience: &Patience<'_>) -> Result<(), Failure> {
        // Recent kernels note a carrier when they are asked for the link (`linkwatch_sync_dev`,
        // net/core/link_watch.c), others up to a second after it has come.
        if self.netlink.link(self.index)?.state == Some(OperState::Up) {
            return Ok(());
        }
        let mut watch = Watch::open_in(&self.namespace, Link::at(self.index))?;
        loop {
            match watch.next_event()? {
                Some(Event::Added(link) | Event::Changed { after: link, .. })
                    if link.state == Some(OperState::Up) =>
                {
                    return Ok(());
                }
                Some(_) => {}
                None => patience.wait("the link", &[(watch.as_fd(), PollFlags::IN)])?,
            }
        }
    }

    /// Gives the interface its addresses; returns when they are in force.
    fn address(&mut self, patience: &Patience<'_>) -> Result<(), Failure> {
        let mut routes = self.run(|| Watch::open(Route::new()))??;
        let v4 = Addr::on(self.index, Prefix::new(self.v4, PREFIX4));
        let v6 = Addr::on(self.index, Prefix::new(self.v6, PREFIX6));
        for addr in [v4, v6.nodad(true)] {
            self.netlink.add(&addr)?;
        }
        // An IPv4 address is in force at once, an IPv6 address with its local route.
        loop {
            match routes.next_event()? {
                Some(Event::Added(route))
                    if route.is_local() && route.dst == Some(Prefix::host(self.v6)) =>
                {
                    return Ok(());
                }
                Some(_) => {}
                None => patience.wait("the address", &[(routes.as_fd(), PollFlags::IN)])?,
            }
        }
    }

    /// Tells it the hardware addresses of the other and of all, for good.
    fn introduce(&mut self, other: &Self) -> Result<(), Failure> {
        // An interface without ARP takes broadcasts for its own unless it is told better.
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

    /// Runs `job` on the host; sockets that it opens stay the host's.
    pub fn run<T: Send>(&self, job: impl FnOnce() -> T + Send) -> Result<T, Failure> {
        self.namespace.run(job).map_err(|error| refused(&error))
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

    /// What its interface has counted so far.
    pub fn counters(&mut self) -> Result<Counters, Failure> {
        let link = self.netlink.link(self.index)?;
        let statistics = link
            .statistics
            .ok_or_else(|| Failure::new(Exit::Failed, format!("{} has no counters", self.name)))?;
        Ok(Counters {
            rx_packets: statistics.rx_packets,
            rx_bytes: statistics.rx_bytes,
            tx_packets: statistics.tx_packets,
            tx_bytes: statistics.tx_bytes,
        })
    }

    /// The address of one family.
    pub fn ip(&self, family: Family) -> IpAddr {
        match family {
            Family::V4 => self.v4.into(),
            Family::V6 => self.v6.into(),
        }
    }

    /// The address of all hosts of the network.
    pub fn v4_broadcast(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.v4.to_bits() | u32::MAX >> PREFIX4)
    }

    /// Where other processes find its namespace as long as this one lives.
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

fn refused(error: &NamespaceError) -> Failure {
    let exit = match error.source.kind() {
        io::ErrorKind::PermissionDenied => Exit::Privilege,
        _ => Exit::Failed,
    };
    Failure::new(exit, chain(error))
}
