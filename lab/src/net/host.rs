//! Hosts: network namespaces with interfaces.

use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::process::Command;

use abi::namespace::NetNamespace;
use abi::process::end_with_thread;
use netlink::{Gro, IfIndex, IfName, Link, LinkStatistics, MacAddress, Netlink, Watch};

use super::guard::refuse_the_machine;
use super::quiet::keep_quiet;
use crate::generator::send_frames;
use crate::tool;

/// A test host.
#[derive(Debug)]
pub struct Host {
    name: String,
    namespace: NetNamespace,
    pub(super) interfaces: Vec<Interface>,
}

/// A host's interface on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: IfName,
    /// Its index in the host's namespace.
    pub index: IfIndex,
    /// Its hardware address.
    pub mac: MacAddress,
    /// Its IPv4 address, with a 24-bit prefix.
    pub v4: Ipv4Addr,
    /// Its IPv6 address, with a 64-bit prefix.
    pub v6: Ipv6Addr,
}

/// Each method panics on failure, so that the panic points to the line of the test.
impl Host {
    /// Creates a host with only a loopback interface.
    ///
    /// # Panics
    /// Without root.
    #[track_caller]
    pub fn new(name: &str) -> Self {
        let namespace = NetNamespace::create();
        let namespace =
            namespace.unwrap_or_else(|error| panic!("{error} (lab needs root): {error:?}"));
        let host = Self {
            name: name.into(),
            namespace,
            interfaces: Vec::new(),
        };
        host.run(keep_quiet);
        let mut netlink = host.netlink();
        let loopback = netlink.link_named("lo").expect("a loopback");
        netlink
            .set(&Link::at(loopback.ifindex()).up(true))
            .expect("the loopback is set up");
        host
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its namespace. The guard does not cover what a test does there directly.
    pub fn namespace(&self) -> &NetNamespace {
        &self.namespace
    }

    /// Runs `job` on the host, on a thread that exits when the job returns.
    ///
    /// Sockets that the job opens stay in the host's namespace. Children spawned from [`command`](Self::command) are
    /// killed when the thread exits, so spawn them outside the job.
    #[track_caller]
    pub fn run<T: Send>(&self, job: impl FnOnce() -> T + Send) -> T {
        refuse_the_machine(&self.namespace);
        self.namespace
            .run(job)
            .unwrap_or_else(|error| panic!("{error}: {error:?}"))
    }

    /// Returns a command to spawn on the host from the test's thread. The child is killed when that thread exits.
    ///
    /// `program` is a path, or the name of a tool in [`tool`].
    #[track_caller]
    pub fn command(&self, program: &str) -> Command {
        refuse_the_machine(&self.namespace);
        let path = if program.contains('/') {
            program.into()
        } else {
            tool::path(program)
        };
        let command = self.namespace.command(path);
        let mut command = command.unwrap_or_else(|error| panic!("{error}: {error:?}"));
        end_with_thread(&mut command);
        command
    }

    /// Returns the output of `line` on the host, e.g. `bridge fdb show`.
    #[track_caller]
    pub fn output_of(&self, line: &str) -> String {
        let mut words = line.split_whitespace();
        let mut command = self.command(words.next().expect("a program"));
        let output = command.args(words).output();
        let output = output.unwrap_or_else(|error| panic!("{line}: {error}"));
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {complaint}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Returns the output of `ip LINE` on the host.
    #[track_caller]
    pub fn ip(&self, line: &str) -> String {
        self.output_of(&format!("ip {line}"))
    }

    /// Sends each of `frames` once, in order, through its first interface.
    #[track_caller]
    pub fn send<F: AsRef<[u8]>>(&self, frames: impl IntoIterator<Item = F> + Send) {
        let out = self.interface().index;
        let sent = self.run(|| send_frames(out, frames));
        sent.expect("frames are sent");
    }

    /// Sets a sysctl below `net/` in its namespace, e.g. `ipv4/ip_forward`.
    #[track_caller]
    pub fn set_sysctl(&self, name: &str, value: &str) {
        let path = format!("/proc/sys/net/{name}");
        let written = self.run(|| fs::write(&path, value));
        written.unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    /// Opens a netlink handle in its namespace.
    #[track_caller]
    pub fn netlink(&self) -> Netlink {
        self.run(Netlink::open)
            .expect("a netlink socket on the host")
    }

    /// Opens a watch of its links.
    #[track_caller]
    pub fn watch(&self) -> Watch<Link> {
        self.run(|| Watch::open(Link::new()))
            .expect("a watch of the host's links")
    }

    /// Its first interface.
    #[track_caller]
    pub fn interface(&self) -> &Interface {
        self.interfaces
            .first()
            .expect("the host is joined to another")
    }

    /// Its interfaces, in the order they were created.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Reads its first interface from the kernel.
    #[track_caller]
    pub fn link(&self) -> Link {
        self.netlink()
            .link(self.interface().index)
            .expect("the host's interface")
    }

    /// Reads the counters of its first interface from the kernel.
    #[track_caller]
    pub fn counters(&self) -> LinkStatistics {
        self.link().statistics.expect("the link has statistics")
    }

    /// Switches generic receive offload on its first interface. Without an XDP program, a veth accepts redirected XDP
    /// frames only with GRO.
    #[track_caller]
    pub fn set_gro(&self, gro: Gro) {
        self.netlink()
            .set_gro(self.interface().name, gro)
            .expect("receive offload is switched");
    }
}
