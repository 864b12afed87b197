//! From flags to a measurement.

use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use tapline::capture::{CaptureOptions, Expression, Filter, Limits};
use tapline::latency::{Comparison, DeviceMeter, Meter, Setting, Span};

use super::device::Device;
use super::report::{self, Summary};
use super::watch::Watch;
use crate::args::{BackendChoice, Delivery, LatencyArgs, TARGET};
use crate::failure::{Exit, Failure};
use crate::names::SystemNames;
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
    let span = Span::new(1, limits(args))?;
    let is_told = OnceLock::new();
    // Packets come while this program tells that they are measured, so their reader has a thread of its own.
    let (ended, (mut meter, outcome)) = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut meter = Meter::within(span.seat(), Watch::new(args, &is_told));
            let outcome = capture::summary(open.run_consumer(&mut meter, span.stop()));
            (meter, outcome)
        });
        let told = report::start(args, span.begun(), backend, buffer_bytes);
        is_told.get_or_init(|| ());
        let ended = told.map_err(Failure::from).and_then(|()| {
            let waited = span.wait(&stop);
            waited.map_err(|error| Failure::job_on("cannot wait for packets", &error))
        });
        span.end();
        match reader.join() {
            Ok(read) => (ended, read),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    let device = device.finish();
    ended?;
    let outcome = outcome?;
    meter.observer.close()?;
    let summary = Summary {
        name: report::delivery_name(delivery),
        backend,
        buffer_bytes,
        delays: &meter.delays,
        lost: meter.lost,
        passed_over: meter.passed_over,
        duration: span.duration(),
        outcome: &outcome,
        reader: None,
        device: Some(&device),
    };
    summary.show(args.json)?;
    capture::ended(&outcome.ended)?;
    Ok(Exit::Done)
}

fn run_comparison(args: &LatencyArgs) -> Result<Exit, Failure> {
    if args.duration == Some(Duration::ZERO) {
        let line = "--compare measures for some time: --duration 0 is none";
        return Err(Failure::new(Exit::Usage, line));
    }
    let options = options(args)?;
    let target = args.delivery.latency_target.unwrap_or(TARGET);
    let settings = Setting::all(&options, target);
    let count = settings.len();
    let stop = signals::stop()?;
    let comparison = Comparison::open(settings, limits(args))
        .map_err(|error| capture::refused(&args.filter.join(" "), error))?;
    privilege::drop_unneeded(options.filter.is_some())?;
    let mut told = Ok(());
    let rows = comparison.run(&stop, |at_ns| {
        told = report::start_comparison(args, at_ns, count, limits(args).duration);
        if told.is_err() {
            stop.stopper().stop();
        }
    })?;
    told?;
    report::table(args.json, &rows)?;
    for row in &rows {
        capture::ended(&row.outcome.ended)?;
    }
    Ok(Exit::Done)
}

fn limits(args: &LatencyArgs) -> Limits {
    let usual = args.compare.then_some(COMPARED);
    Limits {
        packets: args.count.map(Into::into),
        duration: args.duration.or(usual),
    }
}

fn options(args: &LatencyArgs) -> Result<CaptureOptions, Failure> {
    if !args.compare {
        capture::refuse_misplaced(args.delivery, Delivery::Adaptive)?;
    }
    let expression = |text| {
        Filter::Expression(Expression {
            text,
            names: Arc::new(SystemNames::new()),
        })
    };
    let timeout = Duration::from_millis(10);
    Ok(CaptureOptions::default()
        .links(vec![args.interface.clone()])
        .with_filter((!args.filter.is_empty()).then(|| expression(args.filter.join(" "))))
        .backend(match args.backend {
            BackendChoice::Ring(backend) => Some(backend),
            BackendChoice::Auto => None,
        })
        .promiscuous(!args.no_promisc)
        .direction(args.direction)
        .snaplen(match args.snaplen {
            0 => tapline::capture::DEFAULT_SNAPLEN,
            bytes => bytes,
        })
        .buffer_bytes(usize::try_from(args.buffer).unwrap_or(usize::MAX))
        .delivery(args.delivery.policy(Delivery::Adaptive, timeout))
        .spin(args.delivery.spin.unwrap_or_default())
        .stall(args.delivery.stall)
        .tick(args.stats_interval.unwrap_or(LIVE)))
}
