//! Two hosts, what they count, and what programs on them use.

use std::fs;
use std::process::Child;
use std::time::Duration;

use rustix::event::{Timespec, poll};
use tapline_lab::generator::pin_to_cpu;
use tapline_lab::{Host, Net};

/// Where programs run whose rate is measured: their probes and the answers' way back as well.
const SUBJECT_CPU: usize = 0;
const BENCH_CPU: usize = 1;

pub const PEER: &str = "10.1.0.2";
pub const PEER_IPV6: &str = "fd00:1::2";

/// Hosts behind the peer, all of them the peer itself.
pub const NETWORK: &str = "10.2.0.0/16";
const NETWORK_IPV6: &str = "fd00:2::/64";

/// Hosts behind a router that the link does not have: the peer takes their packets off the link, sees that
/// they are not for it, and drops them.
const NOWHERE: &str = "10.3.0.0/16";
const NO_ROUTER: &str = "10.1.0.77";
const NO_MAC: &str = "02:00:00:00:00:77";

pub struct Rig {
    pub left: Host,
    pub right: Host,
}

impl Rig {
    /// # Panics
    /// Without root or a second processor.
    pub fn build() -> Self {
        to_bench();
        let [left, right] = Net::new().pair();
        let rig = Self { left, right };
        ip(&rig.left, &format!("route add {NETWORK} via {PEER}"));
        ip(&rig.right, &format!("route add local {NETWORK} dev lo"));
        let [to, local] = [
            format!("-6 route add {NETWORK_IPV6} via {PEER_IPV6}"),
            format!("-6 route add local {NETWORK_IPV6} dev lo"),
        ];
        ip(&rig.left, &to);
        ip(&rig.right, &local);
        let link = rig.interface();
        let neighbour = format!("neigh add {NO_ROUTER} lladdr {NO_MAC} nud permanent dev {link}");
        ip(&rig.left, &neighbour);
        ip(&rig.left, &format!("route add {NOWHERE} via {NO_ROUTER}"));
        rig.left.set_sysctl("ipv4/ping_group_range", "0 2147483647");
        rig
    }

    /// The interface that probes leave by.
    pub fn interface(&self) -> String {
        self.left.interface().name.to_string()
    }

    /// Packets that have come to the host that asks.
    pub fn arrived(&self) -> u64 {
        self.left.counters().rx_packets
    }
}

/// Echo requests of IPv4 that the kernel of `host` has received.
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

fn ip(host: &Host, words: &str) {
    let status = host.command("ip").args(words.split(' ')).status();
    assert!(status.expect("ip runs").success(), "ip {words}");
}

/// Does `spawn` where subjects run: children inherit the processor of the thread that makes them.
pub fn on_subject_cpu<T>(spawn: impl FnOnce() -> T) -> T {
    pin_to_cpu(SUBJECT_CPU).expect("two processors");
    let done = spawn();
    to_bench();
    done
}

/// Processors for whoever is measured with the machine to itself.
pub fn to_bench() {
    pin_to_cpu(BENCH_CPU).expect("two processors, 0 and 1: one for what is measured");
}

pub fn pause(time: Duration) {
    let time = Timespec::try_from(time).expect("a short time");
    poll(&mut [], Some(&time)).expect("it can wait");
}

/// Processor time of all threads of a process up to now.
pub fn used(child: &Child) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{}/task", child.id()));
    let mut used = Duration::ZERO;
    for task in tasks.into_iter().flatten().flatten() {
        let text = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        let ns = text.split(' ').next().and_then(|ns| ns.parse().ok());
        used += Duration::from_nanos(ns.unwrap_or(0));
    }
    used
}
