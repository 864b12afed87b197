//! `--dry-run`: prints what would be sent.

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use serde_json::json;
use tapline::ping::Forecast;

use super::output::figures;
use super::target_list::TargetList;
use crate::args::PingArgs;
use crate::output::json;
use crate::values::units::{amount, grouped, span};

/// Maximum duration; `None` for an unlimited run.
fn duration_ns(args: &PingArgs, forecast: &Forecast) -> Option<u64> {
    let cut_short = args.duration.map(|time| {
        let time_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        forecast.duration_within_ns(time_ns)
    });
    cut_short.or(forecast.duration_ns())
}

/// Whether that is an upper bound.
fn is_certain(args: &PingArgs, forecast: &Forecast) -> bool {
    forecast.is_certain
        || (args.duration.is_some() && duration_ns(args, forecast) != forecast.duration_ns())
}

pub fn print(args: &PingArgs, list: &TargetList, forecast: &Forecast) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout());
    let targets = &list.targets;
    if args.verbose {
        for target in (0..targets.hosts()).map(|host| targets.of_host(host).start) {
            let (name, address) = (
                figures::name(targets, target),
                figures::shown_address(targets, target),
            );
            if args.json {
                let event = json!({ "event": "target", "target": name, "address": address });
                writeln!(out, "{}", json::line(&event))?;
            } else if name == address {
                writeln!(out, "{address}")?;
            } else {
                writeln!(out, "{name} ({address})")?;
            }
        }
    }
    if args.json {
        let event = json!({
            "event": "summary",
            "dry_run": true,
            "targets": targets.hosts(),
            "excluded": u64::try_from(targets.excluded()).ok(),
            "repeated": u64::try_from(targets.repeated()).ok(),
            "unresolved": list.skipped.len(),
            "probes": forecast.probes(),
            "interval_ns": forecast.round_ns,
            "duration_ns": duration_ns(args, forecast),
            "duration_certain": is_certain(args, forecast),
            "limits_ns": forecast.limits_ns,
            "payload_bytes": args.size,
            "memory_bytes": forecast.memory_bytes,
        });
        writeln!(out, "{}", json::line(&event))?;
        return out.flush();
    }
    let count = |number: u128| grouped(u64::try_from(number).unwrap_or(u64::MAX));
    writeln!(
        out,
        "{} targets; {} excluded, {} repeated, {} skipped",
        grouped(targets.hosts().into()),
        count(targets.excluded()),
        count(targets.repeated()),
        list.skipped.len()
    )?;
    let round = Duration::from_nanos(forecast.round_ns);
    let rate = f64::from(targets.len()) / round.as_secs_f64();
    let probes = match forecast.probes() {
        Some(probes) => format!("{} probes", grouped(probes)),
        None => "unlimited probes".to_owned(),
    };
    let pace = if rate.is_finite() {
        format!("{}pps, each target every {round:?}", amount(rate))
    } else {
        "as fast as this host can".to_owned()
    };
    writeln!(out, "{probes} with {} bytes of payload, {pace}", args.size)?;
    if let Some(ns) = duration_ns(args, forecast) {
        let all = span(Duration::from_nanos(ns));
        let bound = if is_certain(args, forecast) {
            format!("{all} at most")
        } else {
            format!("about {all}")
        };
        writeln!(out, "{bound}, including the wait for the last replies")?;
    }
    if forecast.limits_ns > 0 {
        let limits = span(Duration::from_nanos(forecast.limits_ns));
        let whose = match args.prefix_rate {
            Some(_) => "--prefix-rate and the pacing of unresolved neighbours",
            None => "the pacing of unresolved neighbours",
        };
        writeln!(out, "of that, {whose} may take {limits}")?;
    }
    let memory = amount(forecast.memory_bytes as f64);
    writeln!(out, "statistics take {memory}B of memory")?;
    writeln!(out, "nothing was sent")?;
    out.flush()
}
