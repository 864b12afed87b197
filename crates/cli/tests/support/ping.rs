//! `tapline ping` on a test host, and what the kernel and ping(8) say independently.

use std::fs;
use std::process::Command;

use lab::Host;

use super::run::{Ended, spawn};
use super::{PROGRAM, ip, name};

pub fn command(host: &Host, arguments: &[&str]) -> Command {
    let mut command = host.command(PROGRAM);
    command.arg("ping").args(arguments);
    command
}

pub fn ping(host: &Host, arguments: &[&str]) -> Ended {
    spawn(command(host, arguments)).finish()
}

/// As [`ping`], without any capability.
pub fn unprivileged(host: &Host, arguments: &[&str]) -> Ended {
    let mut command = host.command("setpriv");
    command.args(["--bounding-set", "-all", PROGRAM, "ping"]);
    command.args(arguments);
    spawn(command).finish()
}

/// As [`ping`], where each file is seen at another place.
pub fn with_files(host: &Host, files: &[[&str; 2]], arguments: &[&str]) -> Ended {
    let mounts = files
        .iter()
        .map(|[file, place]| format!("mount --bind {file} {place} && "));
    let script = format!("{}exec \"$@\"", mounts.collect::<String>());
    let mut command = host.command("unshare");
    command.args(["--mount", "sh", "-c", &script, "sh", PROGRAM, "ping"]);
    command.args(arguments);
    spawn(command).finish()
}

/// What ping(8) of iputils says and how it ends.
pub fn iputils(host: &Host, arguments: &[&str]) -> Ended {
    let mut command = host.command("ping");
    command.arg("-n").args(arguments).env("LC_ALL", "C");
    spawn(command).finish()
}

/// Makes right a router that knows no way to 10.9.0.0/24 and `fd09::/64`, as left believes it does.
///
/// The kernel tells of that five times a host and burst (`ip_error`, net/ipv4/route.c).
pub fn dead_ends(left: &Host, right: &Host) {
    for (setting, value) in [
        ("ipv4/ip_forward", "1"),
        ("ipv6/conf/all/forwarding", "1"),
        ("ipv4/icmp_ratemask", "0"),
        ("ipv6/icmp/ratelimit", "0"),
    ] {
        right.set_sysctl(setting, value);
    }
    let words = |text: &'static str| text.split(' ').collect::<Vec<_>>();
    ip(left, &words("route add 10.9.0.0/24 via 10.1.0.2"));
    ip(left, &words("-6 route add fd09::/64 via fd00:1::2"));
    ip(right, &words("route add unreachable 10.9.0.0/24"));
    ip(right, &words("-6 route add unreachable fd09::/64"));
}

/// Has left ask by ARP for hosts on its link, but for right, which it knows.
///
/// To turn that on makes the kernel forget whom it knew (`arp_netdev_event`, net/ipv4/arp.c).
pub fn ask_for_neighbours(left: &Host, right: &Host) {
    let (near, far) = (name(left), right.interface());
    let mac = far.mac.to_string();
    ip(left, &["link", "set", &near, "arp", "on"]);
    for (family, address) in [("-4", "10.1.0.2"), ("-6", "fd00:1::2")] {
        let words = [
            family,
            "neighbour",
            "replace",
            address,
            "lladdr",
            &mac,
            "dev",
            &near,
        ];
        ip(left, &words);
    }
}

/// Echo requests of IPv4 that the host's kernel has received.
///
/// Source: `InEchos` of `Icmp:` in /proc/net/snmp.
pub fn echoes_answered(host: &Host) -> u64 {
    let table = host.run(|| fs::read_to_string("/proc/thread-self/net/snmp"));
    let table = table.expect("the kernel counts");
    let mut rows = table.lines().filter(|line| line.starts_with("Icmp:"));
    let mut row = || rows.next().expect("names and values").split(' ');
    let (names, values) = (row(), row());
    let mut pairs = names.zip(values);
    let (_, value) = pairs.find(|(name, _)| *name == "InEchos").expect("InEchos");
    value.parse().expect("a number")
}
