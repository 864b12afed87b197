//! From flags to a measurement.

use std::sync::Arc;
use std::time::Duration;

use tapline::capture::{Expression, Filter, Limits, Options};
use tapline::latency::{Comparison, DeviceMeter, Meter, Setting};

use super::device::Device;
use super::report::{self, Summary};
use super::watch::Watch;
use crate::args::{BackendChoice, Delivery, LatencyArgs, TARGET};
use crate::failure::{Exit, Failure};
use crate::names::System;
use crate::{capture, privilege, signals};

/// Time between two lines of the live screen.
const LIVE: Duration = Duration::from_secs(1);

/// How long settings are compared, if nothing is said.
const COMPARED: Duration = Duration::from_secs(5);

pub fn run(args: &LatencyArgs) -> Result<Exit, Failure> {
    if args.compare {
        run_comparison(args)
    } else {
        run_one(args)
    }
}

fn run_one(args: &LatencyArgs) -> Result<Exit, Failure> {
    let options = options(args)?;
    let expression = match &options.filter {
        Some(Filter::Expression(expression)) => Some(expression.clone()),
        _ => None,
    };
    let stop = signals::stop()?;
    let open = capture::open(options)?;
    let device = DeviceMeter::open(&args.interface, expression.as_ref());
    let opened = open
        .links()
        .next()
        .map(|link| (link.backend, link.buffer_bytes));
    let Some((backend, buffer_bytes)) = opened else {
        return Err(Failure::new(Exit::Usage, "no interface to capture from"));
    };
    let delivery = args.delivery.delivery.unwrap_or(Delivery::Adaptive);
    privilege::drop_unneeded(open.links().any(|link| link.filter.is_some()))?;
    let device = Device::begin(device);
    report::start(args, backend, buffer_bytes)?;
    let mut meter = Meter::new(Watch::new(args));
    let outcome = open.run(&mut meter, &stop);
    let device = device.finish();
    meter.observer.close();
    let summary = Summary {
        name: report::delivery_name(delivery),
        backend,
        buffer_bytes,
        delays: &meter.delays,
        outcome: &outcome,
        reader: None,
        device: Some(&device),
    };
    summary.show(args.json)?;
    capture::ended(&outcome.ended)?;
    Ok(Exit::Done)
}

fn run_comparison(args: &LatencyArgs) -> Result<Exit, Failure> {
    let options = options(args)?;
    let target = args.delivery.latency_target.unwrap_or(TARGET);
    let settings = Setting::all(&options, target);
    let count = settings.len();
    let stop = signals::stop()?;
    let comparison = Comparison::open(settings)
        .map_err(|error| capture::refused(&args.filter.join(" "), error))?;
    privilege::drop_unneeded(options.filter.is_some())?;
    report::start_comparison(args, count, options.limits.duration)?;
    let rows = comparison.run(&stop);
    report::table(args.json, &rows)?;
    for row in &rows {
        capture::ended(&row.outcome.ended)?;
    }
    Ok(Exit::Done)
}

fn options(args: &LatencyArgs) -> Result<Options, Failure> {
    if !args.compare {
        capture::refuse_misplaced(args.delivery, Delivery::Adaptive)?;
    }
    let expression = |text| {
        Filter::Expression(Expression {
            text,
            names: Arc::new(System::new()),
        })
    };
    let timeout = Duration::from_millis(10);
    let usual = args.compare.then_some(COMPARED);
    Ok(Options {
        links: vec![args.interface.clone()],
        filter: (!args.filter.is_empty()).then(|| expression(args.filter.join(" "))),
        backend: match args.backend {
            BackendChoice::Ring(backend) => Some(backend),
            BackendChoice::Auto => None,
        },
        promiscuous: !args.no_promisc,
        direction: args.direction,
        snaplen: match args.snaplen {
            0 => ring::DEFAULT_SNAPLEN,
            bytes => bytes,
        },
        buffer_bytes: usize::try_from(args.buffer).unwrap_or(usize::MAX),
        delivery: args.delivery.policy(Delivery::Adaptive, timeout),
        spin: args.delivery.spin.unwrap_or_default(),
        stall: args.delivery.stall,
        limits: Limits {
            packets: args.count.map(Into::into),
            duration: args.duration.or(usual),
        },
        tick: args.stats_interval.unwrap_or(LIVE),
        ..Options::default()
    })
}
