//! From flags to the options of a run.

use std::net::IpAddr;
use std::time::Duration;

use tapline::ping::{Backend, PingOptions, source_address};

use crate::args::{Origin, PingArgs};
use crate::metrics::MOST_PING_TARGETS;
use crate::output::is_stdout;
use crate::screen::printable;

/// Maximum targets with percentiles by default in JSON, CSV, the live table and pages: 57 MB of histograms.
const MOST_HISTOGRAMS: u32 = 65_536;
/// Time between two checks for status requests, and for keys.
const TICK: Duration = Duration::from_millis(500);
const LIVE_TICK: Duration = Duration::from_millis(100);

/// The number of replies that ends a run to a single target with both a count and a duration. As in ping, probes
/// continue until that many replies have arrived.
pub fn max_replies(args: &PingArgs, targets: u32) -> Option<u32> {
    let count = args.count.filter(|_| targets == 1)?;
    args.duration.map(|_| count.into())
}

/// Whether SIGHUP reads the file of targets again. Standard input cannot be read twice.
pub fn can_reload(args: &PingArgs) -> bool {
    let is_file = args.file.as_deref().is_some_and(|path| !is_stdout(path));
    is_file && !args.dry_run && !is_sweep(args)
}

/// Whether the kernel counts the replies.
pub fn is_in_kernel(args: &PingArgs) -> bool {
    args.backend.0 == Some(Backend::Xdp)
}

/// Whether there is one probe to each target, whose answer the kernel keeps: targets are printed as they end.
pub fn is_sweep(args: &PingArgs) -> bool {
    is_in_kernel(args) && args.count.is_some_and(|count| count.get() == 1)
}

pub fn options(args: &PingArgs, targets: u32) -> PingOptions {
    let (source, interface) = match &args.interface {
        Some(Origin::Address(address)) => (Some(*address), None),
        Some(Origin::Link(name)) => (None, Some(name.clone())),
        None => (None, None),
    };
    let max_replies = max_replies(args, targets);
    let is_table = args.json || args.csv || args.live || args.report.is_some();
    let is_few = args.histogram || targets <= MOST_HISTOGRAMS;
    let is_measured = args.metrics.is_some() && targets <= MOST_PING_TARGETS;
    let mut options = PingOptions::default();
    options.count = args.count.filter(|_| max_replies.is_none()).map(Into::into);
    options.interval = args.interval;
    options.rate_pps = args.rate.0;
    options.gather = args.gather;
    options.timeout = args.timeout;
    options.duration = args.duration;
    options.max_replies = max_replies.map(Into::into);
    options.payload_bytes = args.size;
    options.ttl = args.ttl.map(Into::into);
    options.tos = args.tos;
    options.dont_fragment = args.dont_fragment;
    options.source = source;
    options.interface = interface;
    options.backend = args.backend.0;
    options.send_path = args.send_path;
    options.prefix_pps = args.prefix_rate;
    options.paths = args.paths;
    options.resolve_every = args.resolve_every;
    options.both_families = can_reload(args);
    let is_list = targets > 1 || can_reload(args);
    options.histograms = !is_sweep(args) && (is_measured || (is_list && is_table && is_few));
    options.allow_uplink = args.yes_on_uplink;
    options.tick = Some(if args.live { LIVE_TICK } else { TICK });
    options
}

/// The source address of probes to `target` and the interface, in the form of ping; `None` if neither was given.
pub fn source(args: &PingArgs, target: IpAddr) -> Option<String> {
    match args.interface.as_ref()? {
        Origin::Address(address) => Some(format!("{address} ")),
        Origin::Link(name) => {
            let address = source_address(target, Some(name));
            let name = printable(name);
            Some(match address {
                Some(address) => format!("{address} {name}"),
                None => name,
            })
        }
    }
}
