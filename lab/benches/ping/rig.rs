//! Two hosts and their packet counters.

use std::fs;

use tapline_lab::generator::pin_to_cpu;
use tapline_lab::{Host, Net};

use crate::harness::on_cpu;

pub const PEER: &str = "10.1.0.2";
pub const PEER_IPV6: &str = "fd00:1::2";

/// Routes to hosts behind the peer, which are all addresses of the peer itself, and to hosts behind a router that does
/// not exist on the link. The peer receives packets to the latter and drops them, because they are for another MAC
/// address.
const ROUTES: [(bool, &str); 8] = [
    (true, "route add 10.2.0.0/16 via 10.1.0.2"),
    (false, "route add local 10.2.0.0/16 dev lo"),
    (true, "route add 10.64.0.0/12 via 10.1.0.2"),
    (false, "route add local 10.64.0.0/12 dev lo"),
    (true, "-6 route add fd00:2::/64 via fd00:1::2"),
    (false, "-6 route add local fd00:2::/64 dev lo"),
    (
        true,
        "neigh add 10.1.0.77 lladdr 02:00:00:00:00:77 nud permanent dev left0",
    ),
    (true, "route add 10.3.0.0/16 via 10.1.0.77"),
];

pub struct Rig {
    pub left: Host,
    pub right: Host,
}

impl Rig {
    /// # Panics
    /// Without root or a second CPU.
    pub fn build() -> Self {
        pin_to_cpu(1).expect("two CPUs, 0 and 1: one for what is measured");
        let [left, right] = Net::new().pair();
        for (is_left, words) in ROUTES {
            let host = if is_left { &left } else { &right };
            host.ip(words);
        }
        left.set_sysctl("ipv4/ping_group_range", "0 2147483647");
        Self { left, right }
    }

    /// The interface that sends the probes.
    pub fn interface(&self) -> String {
        self.left.interface().name.to_string()
    }

    /// Packets received by the probing host.
    pub fn arrived(&self) -> u64 {
        self.left.counters().rx_packets
    }
}

/// IPv4 echo requests received by the kernel of `host`.
pub fn echoes(host: &Host) -> u64 {
    let table = host.run(|| fs::read_to_string("/proc/thread-self/net/snmp"));
    let table = table.expect("the kernel counts");
    let mut rows = table.lines().filter(|line| line.starts_with("Icmp:"));
    let mut row = || rows.next().expect("names and values").split(' ');
    let (names, values) = (row(), row());
    let mut pairs = names.zip(values);
    let found = pairs.find(|(name, _)| *name == "InEchos");
    let (_, value) = found.expect("InEchos");
    value.parse().expect("a number")
}

/// Runs `job` on the CPU of the programs whose rate is measured. Their probes and the replies are processed there too.
pub fn on_subject_cpu<T>(job: impl FnOnce() -> T) -> T {
    on_cpu(0, job)
}
