//! Helpers for the ping tests.

use std::fs;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use lab::{Host, Net};
use netlink::{Event as Change, Route, Watch};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tapline::ping::targets::{NoResolver, Targets, TargetsBuilder};
use tapline::ping::{Backend, Ping, PingError, PingEvent, PingOptions, PingSummary, Prober};

pub const BACKENDS: [Backend; 3] = [Backend::Raw, Backend::PingSocket, Backend::Ring];

pub fn targets(words: &str) -> Targets {
    let mut builder = TargetsBuilder::default();
    builder.add_list(words, &mut NoResolver).expect("targets");
    builder.build().expect("not too many")
}

/// `count` probes to each target, a millisecond apart; a ring is on `left0`.
pub fn options(backend: Backend, count: u32) -> PingOptions {
    let mut options = PingOptions::default();
    options.count = Some(count);
    options.interval = Duration::from_millis(1);
    options.rate_pps = None;
    options.timeout = Duration::from_secs(2);
    options.backend = Some(backend);
    options.interface = (backend == Backend::Ring).then(|| "left0".into());
    options
}

#[track_caller]
pub fn run(host: &Host, options: &PingOptions, words: &str) -> PingSummary {
    complete(open(host, options, words), |_, _| ())
}

/// Opens a run on `host`.
pub fn try_open(host: &Host, options: &PingOptions, words: &str) -> Result<Ping, PingError> {
    host.run(|| {
        tapline::ping(targets(words))
            .options(options.clone())
            .open()
    })
}

#[track_caller]
pub fn open(host: &Host, options: &PingOptions, words: &str) -> Ping {
    try_open(host, options, words).unwrap_or_else(|error| panic!("{error}: {error:?}"))
}

/// Runs to the end.
#[track_caller]
pub fn complete(mut ping: Ping, observe: impl FnMut(&PingEvent, &Prober)) -> PingSummary {
    ping.run(observe).expect("it can wait");
    ping.finish().expect("a summary")
}

pub fn open_ping_sockets(host: &Host) {
    host.set_sysctl("ipv4/ping_group_range", "0 2147483647");
}

/// A host, a router without ICMP rate limits, and a host behind it: 10.1.0.1 and fd00:1::1, 10.1.0.2 and 10.2.0.1 and
/// the same of IPv6, 10.2.0.2 and fd00:2::2.
pub fn routed() -> [Host; 3] {
    let net = Net::new();
    let [mut left, mut middle, mut right] = ["left", "middle", "right"].map(Host::new);
    net.join(&mut left, &mut middle);
    net.join(&mut middle, &mut right);
    open_ping_sockets(&left);
    for sysctl in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
        middle.set_sysctl(sysctl, "1");
    }
    middle.set_sysctl("ipv4/icmp_ratemask", "0");
    middle.set_sysctl("ipv6/icmp/ratelimit", "0");
    for (host, words) in [
        (&left, "route add 10.2.0.0/24 via 10.1.0.2"),
        (&left, "-6 route add fd00:2::/64 via fd00:1::2"),
        (&right, "route add 10.1.0.0/24 via 10.2.0.1"),
        (&right, "-6 route add fd00:1::/64 via fd00:2::1"),
    ] {
        host.ip(words);
    }
    [left, middle, right]
}

/// Echo requests that the host's kernel has received, over IPv4 and IPv6.
///
/// Source: `InEchos` of `Icmp:` in /proc/net/snmp, `Icmp6InEchos` in /proc/net/snmp6.
pub fn echoes_answered(host: &Host) -> [u64; 2] {
    let read =
        |name: &str| host.run(|| fs::read_to_string(format!("/proc/thread-self/net/{name}")));
    let [v4, v6] = ["snmp", "snmp6"].map(|name| read(name).expect("the kernel counts"));
    let mut rows = v4.lines().filter_map(|line| line.strip_prefix("Icmp: "));
    let [names, values] = [(); 2].map(|()| rows.next().expect("a row").split(' '));
    let echoes = names.zip(values).find(|(name, _)| *name == "InEchos");
    let echoes6 = v6
        .lines()
        .find_map(|line| line.strip_prefix("Icmp6InEchos"));
    [echoes.expect("InEchos").1, echoes6.expect("InEchos")]
        .map(|text| text.trim().parse().expect("a number"))
}

/// Waits until the run is ready, with a time limit.
#[track_caller]
pub fn wait_readable(descriptor: &impl AsFd) {
    let deadline = Timespec {
        tv_sec: 20,
        tv_nsec: 0,
    };
    let ready = poll(
        &mut [PollFd::new(descriptor, PollFlags::IN)],
        Some(&deadline),
    );
    assert_eq!(ready, Ok(1), "nothing happens");
}

/// Adds an address to the host, and waits until it is usable; for IPv6 that takes a moment.
#[track_caller]
pub fn add_address(host: &Host, address: &str, len: u8, dev: &str) {
    let watch = host.run(|| Watch::open(Route::new()));
    let mut routes = watch.expect("a watch of routes");
    let own: IpAddr = address.parse().expect("an address");
    let nodad = if own.is_ipv6() { " nodad" } else { "" };
    host.ip(&format!("address add {address}/{len} dev {dev}{nodad}"));
    loop {
        wait_readable(&routes);
        while let Some(event) = routes.try_next().expect("route events") {
            if let Change::Added(route) = event
                && (route.is_local(), route.dst.map(|dst| dst.ip)) == (true, Some(own))
            {
                return;
            }
        }
    }
}

/// Drops all capabilities of this thread.
pub fn drop_capabilities() {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).expect("giving up is permitted");
}
