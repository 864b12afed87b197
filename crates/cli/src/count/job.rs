//! Runs a count and reports its intervals.

use std::io::{self, Write};
use std::sync::Arc;

use rustix::thread::CapabilitySet;
use tapline::count::{
    Count, CountEnd, CountError, CountEvent, CountHook, CountOptions, CountPoint,
};
use tapline::{Filter, Stop};

use super::figures::IntervalSum;
use super::reporter::Reporter;
use super::summary::Summary;
use super::{setup, start};
use crate::args::CountArgs;
use crate::failure::{Exit, Failure, chain};
use crate::metrics::{LatestMetrics, Server, count_families};
use crate::process::clsact_guard::Guard;
use crate::process::{signals, user};
use crate::sandbox::{self, Sandbox};

pub fn run(args: &CountArgs) -> Result<Exit, Failure> {
    let options = setup::options(args);
    let stop = signals::stop_as(&args.user, args.sandbox)?;
    let server = args.metrics.map(Server::bind).transpose()?;
    // Dropped after the count, which removes its tc filters itself if it can.
    let mut guard = guard(args);
    let mut count = open(args, options, stop)?;
    if !count.points().any(is_clsact) {
        guard.take();
    }
    let latest = begin(args, &mut count, server)?;

    let points = points(&count);
    let names: Vec<String> = count.classes().map(|class| class.name.clone()).collect();
    let mut sum = IntervalSum::new(names.iter().cloned(), setup::top(args));
    let mut reporter = printed(Reporter::new(args, &names))?;
    let (interval, wanted) = setup::intervals(args);
    let per_report = reporter.intervals_per_report(interval, wanted);
    printed(reporter.begin(args, &sum.take()))?;

    let failed = loop {
        let interval = match printed(reporter.next_event(&mut count))? {
            Ok(Some(CountEvent::Interval(interval))) => interval,
            Ok(Some(CountEvent::Link(link))) => {
                printed(reporter.link(&link))?;
                continue;
            }
            Ok(Some(_)) => continue,
            Ok(None) => break None,
            Err(error) => break Some(error),
        };
        if let (Some(latest), false) = (&latest, count.has_ended()) {
            // A failure here recurs at the next interval, which ends the count.
            if let Ok(totals) = count.read() {
                latest.publish(count_families(&points, &totals, setup::split(args)));
            }
        }
        sum.add(&interval);
        if sum.intervals() >= per_report {
            printed(reporter.report(&sum.take()))?;
        }
    };
    if sum.intervals() > 0 {
        printed(reporter.report(&sum.take()))?;
    }
    printed(reporter.end(args))?;
    let summary = Summary {
        totals: &count.last_totals(),
        points: &points,
        links: &count.links().collect::<Vec<_>>(),
    };
    let shown = summary.show(args);
    // A failure of the count comes before a failure to print the summary.
    let exit = finish(count, failed)?;
    printed(shown)?;
    Ok(exit)
}

/// Opens the count. Errors and warnings about filters show the position in the text.
fn open(args: &CountArgs, options: CountOptions, stop: Stop) -> Result<Count, Failure> {
    let classes = options.classes.clone();
    let text = |name: &str| {
        let class = classes.iter().find(|class| class.name == name);
        let filter = class.and_then(|class| class.filter.as_ref());
        filter.and_then(Filter::text).unwrap_or_default()
    };
    let count = Count::open_with_stop(options, stop).map_err(|error| match &error {
        CountError::Filter {
            class,
            error: wrong,
            ..
        } => super::failure::of_filter(args, &error, crate::filter::shown(text(class), wrong)),
        _ => super::failure::of_opening(args, error),
    })?;
    for (class, warning) in count.warnings() {
        crate::filter::warn(text(class), std::slice::from_ref(warning));
    }
    Ok(count)
}

/// The last steps before the first report: serves metrics, and drops all privileges except those to
/// read the counters and, with clsact, to remove the filters.
fn begin(
    args: &CountArgs,
    count: &mut Count,
    server: Option<Server>,
) -> Result<Option<Arc<LatestMetrics>>, Failure> {
    leave(args, count)?;
    let url = server.as_ref().map(Server::url);
    let mut latest = None;
    if let Some(server) = server {
        let totals = count.read()?;
        let posted =
            LatestMetrics::new(count_families(&points(count), &totals, setup::split(args)));
        let read = posted.clone();
        server.serve(args.sandbox, move || read.read().to_vec())?;
        latest = Some(posted);
    }
    restrict(args)?;
    printed(start::show(args, count, url.as_deref()))?;
    Ok(latest)
}

/// Leaves the program the privileges to read the counters and, with clsact, to remove the filters.
pub fn leave(args: &CountArgs, count: &Count) -> Result<(), Failure> {
    let mut needed = CapabilitySet::BPF;
    needed.set(CapabilitySet::NET_ADMIN, count.points().any(is_clsact));
    user::leave(&args.user, needed)
}

/// Leaves the program what it needs to read the counters.
pub fn restrict(args: &CountArgs) -> Result<(), Failure> {
    let sandbox = Sandbox::new(&sandbox::COUNT).local_time(!args.json && !args.csv);
    sandbox.enter(args.sandbox, args.quiet)?;
    Ok(())
}

/// The guard that removes the clsact filters if this process is killed; `None` if the kernel does that.
pub fn guard(args: &CountArgs) -> Option<Guard> {
    if !tapline::count::filters_outlive_process() {
        return None;
    }
    match Guard::start() {
        Ok(guard) => Some(guard),
        Err(error) => {
            if !args.quiet {
                // A closed standard error is not a failure.
                let _ = writeln!(
                    io::stderr(),
                    "warning: if this process is killed, its filter stays until the next count: {}",
                    chain(&error)
                );
            }
            None
        }
    }
}

pub fn is_clsact(point: &CountPoint) -> bool {
    point.hook == CountHook::Clsact
}

fn points(count: &Count) -> Vec<CountPoint> {
    count.points().cloned().collect()
}

pub fn finish(count: Count, failed: Option<CountError>) -> Result<Exit, Failure> {
    if let Some(error) = failed {
        return Err(error.into());
    }
    match count.finish()?.end {
        CountEnd::LinkRemoved { link } => Err(Failure::new(
            Exit::Failed,
            format!("interface {link} was removed"),
        )),
        _ => Ok(Exit::Done),
    }
}

fn printed<T>(result: io::Result<T>) -> Result<T, Failure> {
    result.map_err(|error| Failure::stdout(&error))
}
