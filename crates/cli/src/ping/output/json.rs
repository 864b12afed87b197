//! JSON Lines: start, events, one object per target, summary.

use std::io::{self, BufWriter, Write};

use serde_json::{Map, Value, json};
use tapline::ping::{
    AnswerMessage, Classification, Ended, NetworkError, PingEvent, PingSummary, Probe, Prober,
    TimestampCounts, TimestampSource,
};

use super::figures::{self, PingFigures, RttFigures};
use super::icmp_text::{describe, mtu, reported_error};
use super::lines::realtime_ns;
use super::reporter::{Reporter, RunEnd, RunStart};
use super::{distribution, warnings};
use crate::args::PingArgs;
use crate::json;

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
    args: &'a PingArgs,
    with_events: bool,
}

impl<'a> JsonOutput<'a> {
    pub fn new(args: &'a PingArgs, targets: u32) -> Self {
        let with_events = args.verbose || (targets == 1 && !args.quiet);
        Self { args, with_events }
    }

    fn summary(&self, end: &RunEnd<'_>) -> Value {
        let RunEnd {
            summary, skipped, ..
        } = end;
        let statistics = &summary.statistics;
        let targets = statistics.targets().len();
        let answered = (0..targets).filter(|target| statistics.counts(*target).received > 0);
        let mut object = Map::new();
        let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
        put("event", "summary".into());
        put("targets", targets.into());
        put("answered", answered.count().into());
        put("unresolved", (*skipped).into());
        insert_figures(&mut object, &PingFigures::of_all(statistics));
        let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
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
        Value::Object(object)
    }
}

impl Reporter for JsonOutput<'_> {
    fn begin(&mut self, start: &RunStart<'_>) -> io::Result<()> {
        let targets = start.statistics.targets();
        json::print(&json!({
            "event": "start",
            "at_ns": realtime_ns(),
            "targets": targets.len(),
            "excluded": number(targets.excluded()),
            "repeated": number(targets.repeated()),
            "count": start.forecast.rounds,
            "interval_ns": start.forecast.round_ns,
            "rate_pps": self.args.rate.0,
            "timeout_ns": self.args.timeout.as_nanos() as u64,
            "payload_bytes": self.args.size,
            "backend": start.backend.name(),
            "metrics": start.metrics,
        }))
    }

    fn event(&mut self, event: &PingEvent, statistics: &Prober) -> io::Result<()> {
        let value = match event {
            PingEvent::ClockStep { by_ns } => {
                Some(json!({ "event": "clock_step", "by_ns": by_ns }))
            }
            _ if !self.with_events => None,
            PingEvent::Answer {
                class,
                message,
                wall_ns,
            } => answer(class, message, *wall_ns, statistics),
            PingEvent::Lost { probe } => Some(probe_object("lost", *probe, statistics)),
            PingEvent::NotSent { probe, error } => {
                let mut value = probe_object("local_drop", *probe, statistics);
                value["error"] = warnings::reason(error).into();
                Some(value)
            }
            _ => None,
        };
        value.map_or(Ok(()), |value| json::print(&value))
    }

    fn end(&mut self, end: &RunEnd<'_>) -> io::Result<()> {
        let statistics = &end.summary.statistics;
        let mut out = BufWriter::new(io::stdout());
        for target in 0..statistics.targets().len() {
            let mut object = Map::new();
            object.insert("event".into(), "target".into());
            let targets = statistics.targets();
            object.insert("target".into(), figures::name(targets, target).into());
            object.insert("address".into(), figures::address(targets, target).into());
            insert_figures(&mut object, &PingFigures::of_target(statistics, target));
            let outage = statistics.longest_outage(target);
            object.insert("longest_outage".into(), outage.into());
            writeln!(out, "{}", json::line(&Value::Object(object)))?;
        }
        writeln!(out, "{}", json::line(&self.summary(end)))?;
        out.flush()
    }
}

/// An event about a probe.
fn probe_object(event: &str, probe: Probe, statistics: &Prober) -> Value {
    json!({
        "event": event,
        "target": figures::name(statistics.targets(), probe.target),
        "address": figures::address(statistics.targets(), probe.target),
        "seq": probe.number(),
    })
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

fn insert_figures(object: &mut Map<String, Value>, figures: &PingFigures) {
    let counts = figures.counts;
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
        object.insert(key.into(), count.into());
    }
    let times = figures.rtt.as_ref();
    let times = times.map_or([None; 7], RttFigures::in_order);
    for (key, time) in TIMES.into_iter().zip(times) {
        object.insert(key.into(), time.into());
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
    let one = |(error, count)| json!({ "error": warnings::reason(&error), "count": count });
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
