//! JSON Lines: start, events, one object per target, summary.

use std::io::{self, BufWriter, Write};
use std::net::IpAddr;

use serde_json::{Map, Value, json};
use tapline::ping::{
    AddressAccount, AnswerMessage, Backend, Classification, EcmpPath, Ended, NetworkError,
    PingEvent, PingSummary, Probe, ProbeCounts, Prober, RateLimit, TargetChange, TimestampCounts,
    TimestampSource,
};

use super::figures::{self, PingFigures, RttFigures};
use super::icmp_text::{describe, mtu, reported_error};
use super::lines::realtime_ns;
use super::reporter::{Reporter, RunEnd, RunStart};
use super::{distribution, warnings};
use crate::args::PingArgs;
use crate::output::json::{self, RowWriter};
use crate::ping::setup;

/// Keys of round trips, in the order of `RttFigures::in_order`.
const TIMES: [&str; 7] = [
    "rtt_min_ns",
    "rtt_p50_ns",
    "rtt_mean_ns",
    "rtt_p99_ns",
    "rtt_max_ns",
    "rtt_stddev_ns",
    "jitter_ns",
];

pub struct JsonOutput<'a> {
    out: BufWriter<io::Stdout>,
    args: &'a PingArgs,
    with_events: bool,
    rows: RowWriter,
}

impl<'a> JsonOutput<'a> {
    pub fn new(args: &'a PingArgs, targets: u32) -> Self {
        let with_events = args.verbose || (targets == 1 && !args.quiet);
        Self {
            out: BufWriter::new(io::stdout()),
            args,
            with_events,
            rows: RowWriter::default(),
        }
    }

    fn target(
        &mut self,
        statistics: &Prober,
        target: u32,
        figures: &PingFigures,
    ) -> io::Result<()> {
        let targets = statistics.targets();
        let address = figures::address(targets, target);
        let name = targets.name(target).map(|_| figures::name(targets, target));
        let is_known = !setup::is_in_kernel(self.args);
        let outage = is_known.then(|| statistics.longest_outage(target));
        let accounts = statistics.accounts(target);
        let error = setup::is_sweep(self.args).then(|| only_error(statistics, target));
        self.rows.write(&mut self.out, |put| {
            put("event", "target".into());
            put("target", name.or_else(|| address.clone()).into());
            put("address", address.into());
            if let Some(path) = targets.path(target) {
                put_path(put, path, targets.address(target));
            }
            put_figures(put, figures);
            put("longest_outage", outage.into());
            if let Some(error) = error {
                put("error", error);
            }
            if accounts.len() > 1 || targets.address(target).is_none() {
                let accounts: Vec<Value> = accounts.iter().map(account).collect();
                put("addresses", accounts.into());
            }
        })
    }

    fn summary(&self, end: &RunEnd<'_>) -> Value {
        let RunEnd {
            summary, skipped, ..
        } = end;
        let statistics = &summary.statistics;
        let targets = statistics.targets();
        let answered = (targets.indices()).filter(|target| statistics.counts(*target).received > 0);
        let waiting = targets
            .indices()
            .filter(|target| targets.address(*target).is_none());
        let unresolved = skipped + waiting.count() / usize::from(targets.paths().max(1));
        let mut object = Map::new();
        let mut put = into(&mut object);
        put("event", "summary".into());
        put("targets", present(statistics).into());
        if targets.paths() > 0 {
            put("paths", targets.paths().into());
        }
        put("answered", answered.count().into());
        put("unresolved", unresolved.into());
        let removed = statistics.removed();
        if removed.hosts > 0 {
            let mut counts = Map::new();
            counts.insert("targets".into(), removed.hosts.into());
            put_counts(&mut into(&mut counts), &removed.counts);
            put("removed", counts.into());
        }
        put_figures(&mut put, &PingFigures::of_all(statistics));
        let others = statistics.other_counts();
        put("reordered", others.reordered.into());
        put("wrong_source", others.wrong_source.into());
        put("forged", others.forged.into());
        put("cut_short", others.cut_short.into());
        put("foreign", others.foreign.into());
        put("stale", others.stale.into());
        put("untimed", others.untimed.into());
        put("unproven_errors", others.unproven.into());
        put("notices", others.notices.into());
        put("unsent", others.unsent.into());
        put("overruns", summary.overruns.into());
        put("checksum_drops", summary.checksum_drops.into());
        put("network_errors", errors(summary));
        put("local_drop_reasons", reasons(summary));
        put("duration_ns", (summary.duration.as_nanos() as u64).into());
        put("ended", ended(summary.ended).into());
        put("backend", summary.backend.name().into());
        if let Some(path) = summary.send_path {
            put("send_path", path.name().into());
        }
        if let Some(rate) = summary.rate {
            put("asked_pps", rate.asked_pps.into());
            put("reached_pps", rate.reached_pps.into());
            put("rate_limit", rate.limit.map(RateLimit::name).into());
        }
        put(
            "timestamp_source",
            source(summary.rx_timestamps, "user").into(),
        );
        put(
            "departure_source",
            source(summary.tx_timestamps, "program").into(),
        );
        put(
            "departures",
            json!({
                "kernel": summary.tx_timestamps.kernel,
                "program": summary.tx_timestamps.user,
            }),
        );
        put("clock_steps", summary.clock_steps.into());
        if self.args.histogram {
            put("histogram", distribution::json(statistics.histogram()));
        }
        drop(put);
        Value::Object(object)
    }
}

impl Reporter for JsonOutput<'_> {
    fn begin(&mut self, start: &RunStart<'_>) -> io::Result<()> {
        let targets = start.statistics.targets();
        let mut object = json!({
            "event": "start",
            "at_ns": realtime_ns(),
            "targets": targets.hosts(),
            "excluded": number(targets.excluded()),
            "repeated": number(targets.repeated()),
            "count": start.forecast.rounds,
            "interval_ns": start.forecast.round_ns,
            "rate_pps": self.args.rate.0,
            "timeout_ns": self.args.timeout.as_nanos() as u64,
            "payload_bytes": self.args.size,
            "tag_bytes": Prober::tag_bytes(self.args.size),
            "backend": start.backend.name(),
            "metrics": start.metrics,
        });
        if let Some(path) = start.send_path {
            object["send_path"] = path.name().into();
        }
        if targets.paths() > 0 {
            object["paths"] = targets.paths().into();
        }
        json::print(&object)
    }

    fn event(&mut self, event: &PingEvent, statistics: &Prober) -> io::Result<()> {
        let value = match event {
            PingEvent::Ended { target } => {
                let figures = PingFigures::of_target(statistics, *target);
                return self.target(statistics, *target, &figures);
            }
            PingEvent::Tick { .. } if setup::is_sweep(self.args) => return self.out.flush(),
            PingEvent::ClockStep { by_ns } => {
                Some(json!({ "event": "clock_step", "by_ns": by_ns }))
            }
            PingEvent::TargetChange { target, change } => {
                Some(target_change(statistics, *target, change))
            }
            PingEvent::TargetsReplaced {
                added,
                removed,
                unchanged,
            } => Some(json!({
                "event": "targets_replaced",
                "at_ns": realtime_ns(),
                "added": added,
                "removed": removed,
                "unchanged": unchanged,
            })),
            PingEvent::UplinkLimit { pps } => Some(json!({
                "event": "uplink_limit",
                "at_ns": realtime_ns(),
                "rate_pps": pps,
            })),
            _ if !self.with_events => None,
            PingEvent::Answer {
                class,
                message,
                wall_ns,
            } => answer(class, message, *wall_ns, statistics),
            PingEvent::Lost { probe } => Some(probe_object("lost", *probe, statistics)),
            PingEvent::NotSent { probe, error } => {
                let mut value = probe_object("local_drop", *probe, statistics);
                let is_in_kernel = setup::is_in_kernel(self.args);
                value["error"] = warnings::reason(error, is_in_kernel).into();
                Some(value)
            }
            _ => None,
        };
        match value {
            None => Ok(()),
            // In order with the targets, which are not flushed one by one.
            Some(value) if setup::is_sweep(self.args) => {
                writeln!(self.out, "{}", json::line(&value))
            }
            Some(value) => json::print(&value),
        }
    }

    fn end(&mut self, end: &RunEnd<'_>) -> io::Result<()> {
        let statistics = &end.summary.statistics;
        if !setup::is_sweep(self.args) {
            for target in statistics.targets().indices() {
                self.target(
                    statistics,
                    target,
                    &PingFigures::of_target(statistics, target),
                )?;
            }
        }
        let summary = self.summary(end);
        writeln!(self.out, "{}", json::line(&summary))?;
        self.out.flush()
    }
}

/// Number of hosts that were not removed.
fn present(statistics: &Prober) -> usize {
    let targets = statistics.targets();
    targets.indices().count() / usize::from(targets.paths().max(1))
}

/// An event about a probe.
fn probe_object(event: &str, probe: Probe, statistics: &Prober) -> Value {
    let targets = statistics.targets();
    let mut value = json!({
        "event": event,
        "target": figures::name(targets, probe.target),
        "address": figures::address(targets, probe.target),
        "seq": probe.number(),
    });
    if let Some(path) = targets.path(probe.target) {
        value["path"] = path.number.into();
    }
    value
}

/// The ICMP error that was the answer to the only probe to a target.
fn only_error(statistics: &Prober, target: u32) -> Value {
    let error = figures::error(statistics, target);
    error.map_or(
        Value::Null,
        |(error, words)| json!({ "type": error.kind, "code": error.code, "words": words }),
    )
}

/// The path of a target, and the header fields that select it. The ICMPv6 checksum depends on the addresses, too.
fn put_path(put: &mut dyn FnMut(&str, Value), path: EcmpPath, address: Option<IpAddr>) {
    let is_ipv6 = address.map(|address| address.is_ipv6());
    put("path", path.number.into());
    let label = (is_ipv6 == Some(true)).then_some(path.flow_label);
    put("flow_label", label.into());
    let checksum = (is_ipv6 == Some(false)).then_some(path.checksum);
    put("icmp_checksum", checksum.into());
}

/// The counters of an address.
fn account(account: &AddressAccount) -> Value {
    let mut object = Map::new();
    let address = account.address.map(|address| address.to_string());
    object.insert("address".into(), address.into());
    put_counts(&mut into(&mut object), &account.counts);
    object.into()
}

fn target_change(statistics: &Prober, target: u32, change: &TargetChange) -> Value {
    let targets = statistics.targets();
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("event", "target_change".into());
    put("at_ns", realtime_ns().into());
    put("target", figures::name(targets, target).into());
    put("address", figures::address(targets, target).into());
    let counts = match change {
        TargetChange::Added => {
            put("change", "added".into());
            return object.into();
        }
        TargetChange::LookupFailed { failure } => {
            put("change", "lookup_failed".into());
            put("reason", failure.to_string().into());
            return object.into();
        }
        TargetChange::Removed { account } => {
            put("change", "removed".into());
            account
        }
        TargetChange::Address {
            from,
            to,
            account,
            failure,
        } => {
            let change = match (from, to) {
                (_, None) => "unresolved",
                (None, _) => "resolved",
                _ => "address",
            };
            put("change", change.into());
            put("previous", from.map(|from| from.to_string()).into());
            put("reason", failure.as_ref().map(ToString::to_string).into());
            account
        }
        _ => return object.into(),
    };
    let mut account = Map::new();
    put_counts(&mut into(&mut account), counts);
    object.insert("account".into(), account.into());
    object.into()
}

fn answer(
    class: &Classification,
    message: &AnswerMessage,
    wall_ns: Option<u64>,
    statistics: &Prober,
) -> Option<Value> {
    let reply = |status: &str, probe: Probe, rtt_ns: Option<u64>| {
        let mut value = probe_object("reply", probe, statistics);
        value["status"] = status.into();
        value["rtt_ns"] = rtt_ns.into();
        if let AnswerMessage::Reply {
            source,
            hops,
            payload_bytes,
            ..
        } = message
        {
            value["source"] = source.to_string().into();
            value["ttl"] = (*hops).into();
            value["payload_bytes"] = (*payload_bytes).into();
        }
        value
    };
    let error = |event: &str, probe: Probe, error: &NetworkError| {
        let mut value = probe_object(event, probe, statistics);
        value["router"] = error.router.to_string().into();
        value["type"] = error.kind.into();
        value["code"] = error.code.into();
        value["words"] = describe(error).into();
        if let AnswerMessage::Error { parameter, .. } = message
            && let Some(mtu) = mtu(error, *parameter)
        {
            value["mtu"] = mtu.into();
        }
        value
    };
    let mut value = match class {
        Classification::Received { probe, rtt_ns, .. } => reply("received", *probe, *rtt_ns),
        Classification::Late { probe, rtt_ns } => reply("late", *probe, *rtt_ns),
        Classification::Duplicate { probe, rtt_ns } => match reported_error(class, message) {
            Some((probe, reported)) => {
                let mut value = error("error", probe, &reported);
                value["status"] = "duplicate".into();
                value
            }
            None => reply("duplicate", *probe, *rtt_ns),
        },
        Classification::Stale { probe } => reply("stale", *probe, None),
        Classification::WrongSource { probe, .. } => reply("wrong_source", *probe, None),
        Classification::Corrupt { target, probe } => {
            let round = probe.map_or(0, |probe| probe.round);
            let target = *target;
            let mut value = reply("corrupt", Probe { target, round }, None);
            if probe.is_none() {
                value["seq"] = Value::Null;
            }
            value
        }
        Classification::CutShort { target } => {
            let (target, round) = (*target, 0);
            let mut value = reply("cut_short", Probe { target, round }, None);
            value["seq"] = Value::Null;
            value
        }
        Classification::Error {
            probe, error: what, ..
        } => error("error", *probe, what),
        Classification::Notice { probe, error: what } => error("notice", *probe, what),
        Classification::Forged | Classification::Foreign => return None,
    };
    value["at_ns"] = wall_ns.into();
    Some(value)
}

fn put_figures(put: &mut dyn FnMut(&str, Value), figures: &PingFigures) {
    put_counts(put, &figures.counts);
    let times = figures.rtt.as_ref();
    let times = times.map_or([None; 7], RttFigures::in_order);
    for (key, time) in TIMES.into_iter().zip(times) {
        put(key, time.into());
    }
}

fn put_counts(put: &mut dyn FnMut(&str, Value), counts: &ProbeCounts) {
    for (key, count) in [
        ("sent", counts.sent),
        ("received", counts.received),
        ("lost", counts.lost),
        ("late", counts.late),
        ("duplicate", counts.duplicate),
        ("corrupt", counts.corrupt),
        ("errors", counts.errors),
        ("local_drops", counts.local_drops),
        ("pending", counts.pending()),
    ] {
        put(key, count.into());
    }
}

/// Puts keys and values into `object`.
fn into(object: &mut Map<String, Value>) -> impl FnMut(&str, Value) {
    |key, value| {
        object.insert(key.to_owned(), value);
    }
}

fn errors(summary: &PingSummary) -> Value {
    let errors = summary.statistics.errors();
    let one = |(error, count): (NetworkError, u64)| {
        json!({
            "router": error.router.to_string(),
            "type": error.kind,
            "code": error.code,
            "words": describe(&error),
            "count": count,
        })
    };
    let mut all: Vec<Value> = errors.iter().map(one).collect();
    if errors.others() > 0 {
        all.push(json!({ "router": null, "count": errors.others() }));
    }
    all.into()
}

fn reasons(summary: &PingSummary) -> Value {
    let drops = &summary.local_drops;
    let is_in_kernel = summary.backend == Backend::Xdp;
    let one = |(error, count)| {
        let reason = warnings::reason(&error, is_in_kernel);
        json!({ "error": reason, "count": count })
    };
    let mut all: Vec<Value> = drops.iter().map(one).collect();
    if drops.others() > 0 {
        all.push(json!({ "error": null, "count": drops.others() }));
    }
    all.into()
}

/// The clock that made time stamps. `user` names this process.
fn source(counts: TimestampCounts, user: &'static str) -> Option<&'static str> {
    Some(match counts.source()? {
        TimestampSource::User => user,
        source => source.name(),
    })
}

fn ended(ended: Ended) -> &'static str {
    match ended {
        Ended::Count => "count",
        Ended::Duration => "duration",
        Ended::Failed => "error",
        _ => "stopped",
    }
}

/// More addresses than a JSON number holds can only come from prefixes.
fn number(count: u128) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
