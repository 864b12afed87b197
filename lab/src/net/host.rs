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

/// A host's end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: IfName,
    /// Its index in the host's namespace.
    pub index: IfIndex,
    /// Its hardware address.
    pub mac: MacAddress,
    /// Its IPv4 address, in a prefix of 24 bits.
    pub v4: Ipv4Addr,
    /// Its IPv6 address, in a prefix of 64 bits.
    pub v6: Ipv6Addr,
}

/// Each method panics when it has no success: it is the test's line that is shown then.
impl Host {
    /// Makes a host without links, but for its loopback.
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

    /// Its namespace; what a test does there without this type is not guarded.
    pub fn namespace(&self) -> &NetNamespace {
        &self.namespace
    }

    /// Runs `job` on the host, on a thread that ends with it.
    ///
    /// Sockets it opens stay the host's. Children it spawns die with it, if they come of
    /// [`command`](Self::command): spawn those outside.
    #[track_caller]
    pub fn run<T: Send>(&self, job: impl FnOnce() -> T + Send) -> T {
        refuse_the_machine(&self.namespace);
        self.namespace
            .run(job)
            .unwrap_or_else(|error| panic!("{error}: {error:?}"))
    }

    /// A command to be spawned on the host from the test's thread; it is killed when that ends.
    ///
    /// `program` is a path or a tool that [`tool`] knows.
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

    /// What `line`, e.g. `bridge fdb show`, prints on the host.
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

    /// What `ip LINE` prints on the host.
    #[track_caller]
    pub fn ip(&self, line: &str) -> String {
        self.output_of(&format!("ip {line}"))
    }

    /// Sends each of `frames` once, in order, out of its first interface.
    #[track_caller]
    pub fn send<F: AsRef<[u8]>>(&self, frames: impl IntoIterator<Item = F> + Send) {
        let out = self.interface().index;
        let sent = self.run(|| send_frames(out, frames));
        sent.expect("frames are sent");
    }

    /// Sets a sysctl below `net/` of its namespace, e.g. `ipv4/ip_forward`.
    #[track_caller]
    pub fn set_sysctl(&self, name: &str, value: &str) {
        let path = format!("/proc/sys/net/{name}");
        let written = self.run(|| fs::write(&path, value));
        written.unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    /// A handle on its network configuration.
    #[track_caller]
    pub fn netlink(&self) -> Netlink {
        self.run(Netlink::open)
            .expect("a netlink socket on the host")
    }

    /// A watch of its links.
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

    /// Its interfaces, in the order they were joined.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Its first interface as the kernel sees it now.
    #[track_caller]
    pub fn link(&self) -> Link {
        self.netlink()
            .link(self.interface().index)
            .expect("the host's interface")
    }

    /// Counters of its first interface, as the kernel has them now.
    #[track_caller]
    pub fn counters(&self) -> LinkStatistics {
        self.link().statistics.expect("the kernel counts")
    }

    /// Switches generic receive offload of its first interface; a veth without an XDP program takes
    /// whole XDP frames only with it.
    #[track_caller]
    pub fn set_gro(&self, gro: Gro) {
        self.netlink()
            .set_gro(self.interface().name, gro)
            .expect("receive offload is switched");
    }
}
