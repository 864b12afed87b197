//! From flags to the options of a run.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use abi::socket::set_option;
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, connect, getsockname, socket};
use tapline::ping::Options;
use tapline::probe::{Forecast, Key, Plan};

use crate::args::{Origin, PingArgs};
use crate::failure::{Exit, Failure};
use crate::metrics::MOST_PING_TARGETS;

/// Targets up to which JSON, CSV and the live table have percentiles without being asked: 57 MB of histograms.
const MOST_HISTOGRAMS: u32 = 65_536;

/// How often a run looks at what is asked of it, such as its status; and as often as keys are pressed.
const TICK: Duration = Duration::from_millis(500);
const LIVE_TICK: Duration = Duration::from_millis(200);

/// How many answers of a single target end the run, where time and number are given: as of ping it is asked until
/// it has answered so often.
pub fn enough(args: &PingArgs, targets: u32) -> Option<u32> {
    let count = args.count.filter(|_| targets == 1)?;
    args.duration.map(|_| count.into())
}

pub fn options(args: &PingArgs, targets: u32) -> Options {
    let (source, link) = match &args.interface {
        Some(Origin::Address(address)) => (Some(*address), None),
        Some(Origin::Link(name)) => (None, Some(name.clone())),
        None => (None, None),
    };
    let enough = enough(args, targets);
    let is_table = args.json || args.csv || args.live;
    let is_few = args.histogram || targets <= MOST_HISTOGRAMS;
    let is_measured = args.metrics.is_some() && targets <= MOST_PING_TARGETS;
    Options {
        count: args.count.filter(|_| enough.is_none()).map(Into::into),
        interval: args.interval,
        rate_pps: args.rate.0,
        gather: args.gather,
        timeout: args.timeout,
        duration: args.duration,
        payload_bytes: args.size,
        ttl: args.ttl.map(Into::into),
        tos: args.tos,
        dont_fragment: args.dont_fragment,
        source,
        link,
        backend: args.backend.0,
        prefix_pps: args.prefix_rate,
        histograms: is_measured || (targets > 1 && is_table && is_few),
        tick: Some(if args.live { LIVE_TICK } else { TICK }),
        ..Options::default()
    }
}

/// What the run will be.
pub fn forecast(options: &Options, targets: u32) -> Result<Forecast, Failure> {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let plan = Plan {
        rounds: options.count,
        interval_ns: ns(options.interval),
        rate_pps: options.rate_pps,
        timeout_ns: ns(options.timeout),
        payload_bytes: options.payload_bytes,
        prefix_pps: options.prefix_pps,
        histograms: options.histograms,
        // Neither identifier nor key matters for how long it takes.
        ..Plan::new(1, Key([0; 2]))
    };
    let forecast = plan.forecast(targets);
    forecast.map_err(|error| Failure::new(Exit::Usage, error.to_string()))
}

/// The address that probes to `target` come from and the interface, where one of them was asked for,
/// as ping prints them.
pub fn source(args: &PingArgs, target: IpAddr) -> Option<String> {
    match args.interface.as_ref()? {
        Origin::Address(address) => Some(format!("{address} ")),
        Origin::Link(name) => {
            let address = route_source(name, target);
            Some(address.map_or_else(|| name.clone(), |address| format!("{address} {name}")))
        }
    }
}

/// What the kernel would send from by this interface; nothing is sent.
fn route_source(link: &str, target: IpAddr) -> Option<IpAddr> {
    let family = if target.is_ipv6() {
        AddressFamily::INET6
    } else {
        AddressFamily::INET
    };
    let any = socket(family, SocketType::DGRAM, None).ok()?;
    let index = name_to_index(&any, link).ok()?;
    let (level, name) = (libc::SOL_SOCKET, libc::SO_BINDTOIFINDEX);
    set_option(any.as_fd(), level, name, &index).ok()?;
    // Any port will do: a datagram socket only looks up the route.
    connect(&any, &SocketAddr::new(target, 1)).ok()?;
    let own = SocketAddr::try_from(getsockname(&any).ok()?).ok()?;
    Some(own.ip())
}
