//! What to ping, and how.

use std::net::IpAddr;
use std::time::Duration;

use tapline::ping::targets::{AddressFamilies, TargetsBuilder};
use tapline::ping::{Ping, PingError, PingOptions, SystemResolver};

use crate::arguments::{Options, Text, array};
use crate::failure::Error;
use crate::namespace;

/// A family of IP addresses. The values are those of AF_UNSPEC, AF_INET and AF_INET6.
#[repr(u32)]
pub enum tapline_family {
    /// Both; of a host name the first address.
    Any = 0,
    /// IPv4.
    Ipv4 = 2,
    /// IPv6.
    Ipv6 = 10,
}

/// What to ping, and how.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tapline_ping_options<'a> {
    /// `sizeof(tapline_ping_options)`.
    pub size: usize,
    /// Host names, addresses, prefixes (`192.0.2.0/28`) and ranges (`192.0.2.1-192.0.2.9`). Each address is one target, in the
    /// order in which they are first mentioned: see `tapline_ping_target_name`.
    pub targets: *const Text<'a>,
    /// Number of the targets.
    pub target_count: usize,
    /// Time between two probes to one target. Default: 1 s.
    pub interval_ns: u64,
    /// Time after which a reply is late. Default: 1 s.
    pub timeout_ns: u64,
    /// Time after which no more probes are sent. Default: never.
    pub max_ns: u64,
    /// Probes to each target. Default: until stopped.
    pub count: u32,
    /// Payload length, 3 to 65507. Default: 56. With less than 16, replies are verified by a shorter tag, and each target
    /// takes at least 512 bytes more.
    pub payload_bytes: u32,
    /// Maximum probes per second to all targets together. Default: 10 000.
    pub rate_pps: u32,
    /// TTL or hop limit. Default: the kernel's.
    pub ttl: u32,
    /// Interface to send and receive on. Default: the kernel routes.
    pub interface: Text<'a>,
    /// Not 0: forbid fragmentation of probes.
    pub dont_fragment: u32,
    /// Not 0: keep a histogram for each target, for its quantiles.
    pub histograms: u32,
    /// The network namespace to ping in and to look up host names in: its name below /run/netns, or a path such as
    /// /proc/PID/ns/net. Default: that of the calling thread. Requires CAP_SYS_ADMIN.
    pub netns: Text<'a>,
    /// Source address of the probes to targets of its family. Default: the kernel selects it.
    pub source: Text<'a>,
    /// Type of service or traffic class, at most 255. Default: 0.
    pub tos: u32,
    /// A `tapline_family`: that of the addresses of host names. Other addresses among the targets must have it, too.
    pub family: u32,
}

// SAFETY: `repr(C)`, its size first, and integers and pointers after it: zeros are the defaults.
unsafe impl Options for tapline_ping_options<'_> {
    const NAME: &'static str = "tapline_ping_options";
}

/// Opens a run.
///
/// # Safety
/// The strings of `given` are those of C.
pub unsafe fn open(given: &tapline_ping_options<'_>) -> Result<Ping, Error> {
    // SAFETY: an array of C (promised by the caller).
    let targets = unsafe { array(given.targets, given.target_count, "targets") }?;
    if targets.is_empty() {
        return Err(Error::argument("there are no targets"));
    }
    let targets = targets.iter().map(|target| target.required("a target"));
    let targets = targets.collect::<Result<Vec<_>, _>>()?;
    let families = match given.family {
        0 => AddressFamilies::Any,
        2 => AddressFamilies::V4,
        10 => AddressFamilies::V6,
        other => return Err(Error::value("family", other)),
    };
    let wanted = wanted(given)?;
    namespace::run_in(given.netns.optional("netns")?, || {
        let mut list = TargetsBuilder::new(families);
        for target in targets {
            let added = list.add(target, &mut SystemResolver::default());
            added.map_err(PingError::from)?;
        }
        let list = list.build().map_err(PingError::from)?;
        Ok(tapline::ping(list).options(wanted).open()?)
    })
}

/// The options of the library.
fn wanted(given: &tapline_ping_options<'_>) -> Result<PingOptions, Error> {
    let time = |ns: u64| (ns > 0).then(|| Duration::from_nanos(ns));
    let number = |given: u32| (given > 0).then_some(given);
    let byte = |given: u32, name: &str, low: u32| {
        let text = || format!("{name} is {given}, not between {low} and 255");
        u8::try_from(given).map_err(|_| Error::argument(text()))
    };
    let mut wanted = PingOptions::default();
    wanted.count = number(given.count);
    wanted.duration = time(given.max_ns);
    wanted.dont_fragment = given.dont_fragment != 0;
    wanted.histograms = given.histograms != 0;
    if let Some(interval) = time(given.interval_ns) {
        wanted.interval = interval;
    }
    if let Some(timeout) = time(given.timeout_ns) {
        wanted.timeout = timeout;
    }
    if let Some(bytes) = number(given.payload_bytes) {
        wanted.payload_bytes = bytes as usize;
    }
    if let Some(rate) = number(given.rate_pps) {
        wanted.rate_pps = Some(rate);
    }
    if let Some(ttl) = number(given.ttl) {
        wanted.ttl = Some(byte(ttl, "ttl", 1)?);
    }
    wanted.tos = byte(given.tos, "tos", 0)?;
    wanted.interface = given.interface.optional("interface")?.map(str::to_owned);
    if let Some(source) = given.source.optional("source")? {
        let address: Result<IpAddr, _> = source.parse();
        let text = || format!("source is {source:?}, which is not an IP address");
        wanted.source = Some(address.map_err(|_| Error::argument(text()))?);
    }
    Ok(wanted)
}
