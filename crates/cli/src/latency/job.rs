//! Runs a measurement as the flags say.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::thread::CapabilitySet;
use tapline::capture::{
    Account, Backend, CaptureOptions, DirectionFilter, Expression, Filter, Limits, Mode,
    OpenInterface,
};
use tapline::control::directory;
use tapline::latency::{Comparison, Delays, DeliverySetting, DeviceMeter};

use super::device::RunningMeasurement;
use super::page;
use super::report;
use super::watch::{self, Watch};
use crate::args::{BATCH_BYTES, BackendChoice, Delivery, LatencyArgs, TARGET};
use crate::capture;
use crate::failure::{Exit, Failure};
use crate::metrics::{LatestMetrics, Server, latency_families};
use crate::output::page_file::PageFile;
use crate::process::{privilege, signals, user};
use crate::sandbox::{self, Sandbox};
use tapline::filter::SystemNames;

/// How long settings are compared by default.
const COMPARISON_TIME: Duration = Duration::from_secs(5);

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
    let stop = signals::stop_as(&args.user, args.sandbox)?;
    let mut builder = tapline::latency(&args.interface).capture_options(options);
    if let Some(packets) = args.count {
        builder = builder.packets(packets.into());
    }
    if let Some(duration) = args.duration {
        builder = builder.duration(duration);
    }
    let server = args.metrics.map(Server::bind).transpose()?;
    let latency = builder
        .open()
        .map_err(|error| capture::refused(&args.filter.join(" "), error))?;
    let device = DeviceMeter::open(&args.interface, expression.as_ref());
    let counts = |link: OpenInterface<'_>| link.filter.is_some() || link.xdp_mode.is_some();
    let counts = latency.capture().links().any(counts);
    // The end restores which packets the interface stamps.
    let restores = latency.capture().links().any(|link| link.restores_settings);
    let mut needed = privilege::to_count(counts);
    needed.set(privilege::ANY_FILE, args.report.is_some());
    needed.set(CapabilitySet::NET_ADMIN, restores);
    user::leave(&args.user, needed)?;
    let page = args.report.as_deref().map(PageFile::create).transpose()?;
    let url = server.as_ref().map(Server::url);
    let latest = serve(args, server)?;
    let sandbox = Sandbox::new(&sandbox::LATENCY).write(args.report.as_deref());
    let mut sandbox = sandbox.local_time(args.each && !args.json);
    if restores {
        sandbox = sandbox.read(capture::BOOT_ID).open_sockets(true);
        sandbox = directory()
            .ok()
            .into_iter()
            .fold(sandbox, Sandbox::write_in);
    }
    sandbox.enter(args.sandbox, false)?;
    let device = RunningMeasurement::start(device);
    let Some(opened) = latency.capture().links().next() else {
        return Err(Failure::new(Exit::Usage, "no interface to capture from"));
    };
    let start = report::Start::new(args, &opened, url);
    // The start is printed while another thread already measures.
    let is_printed = OnceLock::new();
    let mut watch = Watch::new(args, &is_printed, stop.stopper());
    if let Some(latest) = latest {
        watch.publish_to(&args.interface, latest);
    }
    let measured = latency.measure(&stop, watch, |start_ns| {
        start.show(start_ns)?;
        is_printed.get_or_init(|| ());
        Ok::<_, Failure>(())
    });
    let device = device.finish();
    let (summary, mut watch) = measured?;
    watch.close();
    let setting = report::delivery_name(args.delivery.delivery.unwrap_or(Delivery::Adaptive));
    report::summary(args.json, setting, &summary, &device)?;
    if let Some(file) = page {
        let text = page::of_one(&args.interface, setting, &file.start, &summary);
        file.write(text)?;
    }
    capture::ended(&summary.capture.ended)?;
    Ok(Exit::Done)
}

/// Serves the delays that are published in the result.
fn serve(
    args: &LatencyArgs,
    server: Option<Server>,
) -> Result<Option<Arc<LatestMetrics>>, Failure> {
    let Some(server) = server else {
        return Ok(None);
    };
    let (delays, account) = (Delays::default(), Account::default());
    let latest = LatestMetrics::new(latency_families(&args.interface, &delays, &account));
    let posted = Arc::clone(&latest);
    server.serve(args.sandbox, move || posted.read().to_vec())?;
    Ok(Some(latest))
}

fn run_comparison(args: &LatencyArgs) -> Result<Exit, Failure> {
    if args.duration == Some(Duration::ZERO) {
        let line = "--compare measures for some time: --duration 0 is none";
        return Err(Failure::new(Exit::Usage, line));
    }
    let options = options(args)?;
    let target = args.delivery.latency_target.unwrap_or(TARGET);
    let settings = DeliverySetting::all(&options, target);
    let count = settings.len();
    let stop = signals::stop_as(&args.user, args.sandbox)?;
    let duration = args.duration.unwrap_or(COMPARISON_TIME);
    let limits = Limits {
        packets: args.count.map(Into::into),
        duration: Some(duration),
    };
    let comparison = Comparison::open(settings, limits)
        .map_err(|error| capture::refused(&args.filter.join(" "), error))?;
    let mut needed = privilege::to_count(options.filter.is_some());
    needed.set(privilege::ANY_FILE, args.report.is_some());
    user::leave(&args.user, needed)?;
    let page = args.report.as_deref().map(PageFile::create).transpose()?;
    let sandbox = Sandbox::new(&sandbox::LATENCY).write(args.report.as_deref());
    sandbox.enter(args.sandbox, false)?;
    let mut printed = Ok(());
    let rows = comparison.run(&stop, |start_ns| {
        printed = report::start_comparison(args, start_ns, count, duration);
        if printed.is_err() {
            stop.stopper().stop();
        }
    })?;
    printed?;
    report::table(args.json, &rows)?;
    if let Some(file) = page {
        let text = page::of_settings(&args.interface, &file.start, &rows);
        file.write(text)?;
    }
    for (_, summary) in &rows {
        capture::ended(&summary.capture.ended)?;
    }
    Ok(Exit::Done)
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
    let backend = match args.backend {
        BackendChoice::Ring(backend) => Some(backend),
        BackendChoice::Auto => None,
    };
    let direction = match (backend, args.direction) {
        // XDP sees received packets only.
        (Some(Backend::Xdp | Backend::XdpRingbuf), DirectionFilter::Both) => DirectionFilter::In,
        (_, direction) => direction,
    };
    Ok(CaptureOptions::default()
        .mode(match backend {
            Some(Backend::Xdp) => Mode::Drop,
            _ => Mode::Mirror,
        })
        .links(vec![args.interface.clone()])
        .with_filter((!args.filter.is_empty()).then(|| expression(args.filter.join(" "))))
        .backend(backend)
        .promiscuous(!args.no_promisc)
        .direction(direction)
        .timestamps(args.timestamp.source)
        .timestamp_fallback(args.timestamp.falls_back)
        .snaplen(match args.snaplen {
            0 => tapline::capture::DEFAULT_SNAPLEN,
            bytes => bytes,
        })
        .buffer_bytes(usize::try_from(args.buffer).unwrap_or(usize::MAX))
        .delivery(
            args.delivery
                .policy(Delivery::Adaptive, (BATCH_BYTES, timeout)),
        )
        .spin(args.delivery.spin.unwrap_or_default())
        .stall(args.delivery.stall)
        .tick(watch::tick(args).0))
}
