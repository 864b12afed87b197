//! `tapline ping` on a test host, and independent results of the kernel and ping(8).

use lab::Host;

use super::run::{Ended, Running, spawn};
use super::{PROGRAM, Scene, ip, output, tapline, words};

/// Starts `tapline ping LINE` at left.
pub fn start(scene: &Scene, line: &str) -> Running {
    spawn(tapline(&scene.left, &format!("ping {line}")))
}

/// Runs it until it exits.
pub fn ping(scene: &Scene, line: &str) -> Ended {
    start(scene, line).finish()
}

/// Like [`ping`], without any capability.
pub fn unprivileged(scene: &Scene, line: &str) -> Ended {
    let mut command = scene.left.command("setpriv");
    command.args(["--bounding-set", "-all", PROGRAM, "ping"]);
    spawn({
        command.args(words(line));
        command
    })
    .finish()
}

/// Like [`ping`], with bind-mounted files.
pub fn with_files(scene: &Scene, files: &[[impl AsRef<str>; 2]], line: &str) -> Ended {
    start_with_files(scene, files, line).finish()
}

/// Like [`start`], with bind-mounted files.
pub fn start_with_files(scene: &Scene, files: &[[impl AsRef<str>; 2]], line: &str) -> Running {
    let mounts = files.iter().map(|[file, place]| {
        let [file, place] = [file, place].map(AsRef::as_ref);
        format!("mount --bind {file} {place} && ")
    });
    let script = format!("{}exec \"$@\"", mounts.collect::<String>());
    let mut command = scene.left.command("unshare");
    command.args(["--mount", "sh", "-c", &script, "sh", PROGRAM, "ping"]);
    command.args(words(line));
    spawn(command)
}

/// Output and exit status of iputils ping(8).
pub fn iputils(scene: &Scene, line: &str) -> Ended {
    let mut command = scene.left.command("ping");
    command.arg("-n").args(words(line)).env("LC_ALL", "C");
    spawn(command).finish()
}

/// Makes right a router without a route to 10.9.0.0/24 and `fd09::/64`, and routes these through it at left.
///
/// The kernel sends at most five such errors per host in a burst (`ip_error`, net/ipv4/route.c).
pub fn dead_ends(scene: &Scene) {
    for (setting, value) in [
        ("ipv4/ip_forward", "1"),
        ("ipv6/conf/all/forwarding", "1"),
        ("ipv4/icmp_ratemask", "0"),
        ("ipv6/icmp/ratelimit", "0"),
    ] {
        scene.right.set_sysctl(setting, value);
    }
    ip(&scene.left, "route add 10.9.0.0/24 via 10.1.0.2");
    ip(&scene.left, "-6 route add fd09::/64 via fd00:1::2");
    ip(&scene.right, "route add unreachable 10.9.0.0/24");
    ip(&scene.right, "-6 route add unreachable fd09::/64");
}

/// Enables ARP on left's link, with a static entry for right.
///
/// Enabling it makes the kernel flush its neighbour entries (`arp_netdev_event`, net/ipv4/arp.c).
pub fn ask_for_neighbours(scene: &Scene) {
    let mac = scene.right.interface().mac;
    ip(&scene.left, "link set left0 arp on");
    for (family, address) in [("-4", "10.1.0.2"), ("-6", "fd00:1::2")] {
        ip(
            &scene.left,
            &format!("{family} neighbour replace {address} lladdr {mac} dev left0"),
        );
    }
}

/// Echo requests of IPv4 that the host's kernel has received.
///
/// Source: `InEchos` of `Icmp:` in /proc/net/snmp.
pub fn echoes_answered(host: &Host) -> u64 {
    let table = output(host, "/bin/cat", "/proc/self/net/snmp");
    let mut rows = table.lines().filter(|line| line.starts_with("Icmp:"));
    let mut row = || rows.next().expect("names and values").split(' ');
    let (names, values) = (row(), row());
    let mut pairs = names.zip(values);
    let (_, value) = pairs.find(|(name, _)| *name == "InEchos").expect("InEchos");
    value.parse().expect("a number")
}
