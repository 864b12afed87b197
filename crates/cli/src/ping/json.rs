//! JSON Lines: start, events, a line for each target, summary.

use std::io::{self, BufWriter, Write};

use serde_json::{Map, Value, json};
use tapline::ping::{Ended, Event, Outcome};
use tapline::probe::{Message, NetworkError, Probe, Prober, Verdict};

use super::figures::{self, Figures};
use super::network_words::{mtu, told_of, words};
use super::teller::{End, Start, Teller};
use super::{distribution, sidelines};
use crate::args::PingArgs;
use crate::json;

/// Keys of round trips, in the order of `Times::in_order`.
const TIMES: [&str; 7] = [
    "rtt_min_ns",
    "rtt_p50_ns",
    "rtt_mean_ns",
    "rtt_p99_ns",
    "rtt_max_ns",
    "rtt_stddev_ns",
    "jitter_ns",
];

pub struct Json<'a> {
    args: &'a PingArgs,
    with_events: bool,
}

impl<'a> Json<'a> {
    pub fn new(args: &'a PingArgs, targets: u32) -> Self {
        let with_events = args.verbose || (targets == 1 && !args.quiet);
        Self { args, with_events }
    }

    fn summary(&self, end: &End<'_>) -> Value {
        let End {
            outcome, left_out, ..
        } = end;
        let prober = &outcome.prober;
        let targets = prober.targets().len();
        let answered = (0..targets).filter(|target| prober.counts(*target).received > 0);
        let mut summary = Map::new();
        let mut put = |key: &str, value: Value| summary.insert(key.to_owned(), value);
        put("event", "summary".into());
        put("targets", targets.into());
        put("answered", answered.count().into());
        put("unresolved", (*left_out).into());
        figures_into(&mut summary, &Figures::of_all(prober));
        let mut put = |key: &str, value: Value| summary.insert(key.to_owned(), value);
        let others = prober.others();
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
        put("overruns", outcome.overruns.into());
        put("checksum_drops", outcome.checksum_drops.into());
        put("network_errors", errors(outcome));
        put("local_drop_reasons", reasons(outcome));
        put("duration_ns", (outcome.duration.as_nanos() as u64).into());
        put("ended", ended(&outcome.ended).into());
        put("backend", outcome.backend.name().into());
        put("timestamp_source", outcome.timestamp_source.into());
        put("departure_source", sidelines::departures(outcome).into());
        put(
            "departures",
            json!({
                "kernel": outcome.departures_by_kernel,
                "program": outcome.departures_by_program,
            }),
        );
        put("clock_steps", outcome.clock_steps.into());
        if self.args.histogram {
            put("histogram", distribution::json(prober.histogram()));
        }
        Value::Object(summary)
    }
}

impl Teller for Json<'_> {
    fn begin(&mut self, start: &Start<'_>) -> io::Result<()> {
        let targets = start.prober.targets();
        json::print(&json!({
            "event": "start",
            "at_ns": abi::clock::realtime_ns(),
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

    fn event(&mut self, event: &Event<'_>, prober: &Prober) -> io::Result<()> {
        let value = match event {
            Event::ClockStep { by_ns } => Some(json!({ "event": "clock_step", "by_ns": by_ns })),
            _ if !self.with_events => None,
            Event::Answer {
                verdict,
                message,
                wall_ns,
            } => answer(verdict, message, *wall_ns, prober),
            Event::Lost { probe } => Some(about("lost", *probe, prober)),
            Event::Dropped { probe, error } => {
                let mut value = about("local_drop", *probe, prober);
                value["error"] = sidelines::reason(error).into();
                Some(value)
            }
            _ => None,
        };
        value.map_or(Ok(()), |value| json::print(&value))
    }

    fn end(&mut self, end: &End<'_>) -> io::Result<()> {
        let prober = &end.outcome.prober;
        let mut out = BufWriter::new(io::stdout());
        for target in 0..prober.targets().len() {
            let mut object = Map::new();
            object.insert("event".into(), "target".into());
            let targets = prober.targets();
            object.insert("target".into(), figures::name(targets, target).into());
            object.insert("address".into(), figures::address(targets, target).into());
            figures_into(&mut object, &Figures::of_target(prober, target));
            let outage = prober.longest_outage(target);
            object.insert("longest_outage".into(), outage.into());
            writeln!(out, "{}", json::line(&Value::Object(object)))?;
        }
        writeln!(out, "{}", json::line(&self.summary(end)))?;
        out.flush()
    }
}

/// What is known of a probe.
fn about(event: &str, probe: Probe, prober: &Prober) -> Value {
    json!({
        "event": event,
        "target": figures::name(prober.targets(), probe.target),
        "address": figures::address(prober.targets(), probe.target),
        "seq": probe.number(),
    })
}

fn answer(
    verdict: &Verdict,
    message: &Message<'_>,
    wall_ns: Option<u64>,
    prober: &Prober,
) -> Option<Value> {
    let reply = |status: &str, probe: Probe, rtt_ns: Option<u64>| {
        let mut value = about("reply", probe, prober);
        value["status"] = status.into();
        value["rtt_ns"] = rtt_ns.into();
        if let Message::Reply(reply) = message {
            value["source"] = reply.source.to_string().into();
            value["ttl"] = reply.hops.into();
            value["payload_bytes"] = reply.payload.len().into();
        }
        value
    };
    let error = |event: &str, probe: Probe, error: &NetworkError| {
        let mut value = about(event, probe, prober);
        value["router"] = error.router.to_string().into();
        value["type"] = error.kind.into();
        value["code"] = error.code.into();
        value["words"] = words(error).into();
        if let Some(mtu) = mtu(message) {
            value["mtu"] = mtu.into();
        }
        value
    };
    let mut value = match verdict {
        Verdict::Received { probe, rtt_ns, .. } => reply("received", *probe, *rtt_ns),
        Verdict::Late { probe, rtt_ns } => reply("late", *probe, *rtt_ns),
        Verdict::Duplicate { probe, rtt_ns } => match told_of(verdict, message) {
            Some((probe, told)) => {
                let mut value = error("error", probe, &told);
                value["status"] = "duplicate".into();
                value
            }
            None => reply("duplicate", *probe, *rtt_ns),
        },
        Verdict::Stale { probe } => reply("stale", *probe, None),
        Verdict::WrongSource { probe, .. } => reply("wrong_source", *probe, None),
        Verdict::Corrupt { target, probe } => {
            let round = probe.map_or(0, |probe| probe.round);
            let target = *target;
            let mut value = reply("corrupt", Probe { target, round }, None);
            if probe.is_none() {
                value["seq"] = Value::Null;
            }
            value
        }
        Verdict::CutShort { target } => {
            let (target, round) = (*target, 0);
            let mut value = reply("cut_short", Probe { target, round }, None);
            value["seq"] = Value::Null;
            value
        }
        Verdict::Error {
            probe, error: what, ..
        } => error("error", *probe, what),
        Verdict::Notice { probe, error: what } => error("notice", *probe, what),
        Verdict::Forged | Verdict::Foreign => return None,
    };
    value["at_ns"] = wall_ns.into();
    Some(value)
}

fn figures_into(object: &mut Map<String, Value>, figures: &Figures) {
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
    let times = times.map_or([None; 7], super::figures::Times::in_order);
    for (key, time) in TIMES.into_iter().zip(times) {
        object.insert(key.into(), time.into());
    }
}

fn errors(outcome: &Outcome) -> Value {
    let errors = outcome.prober.errors();
    let one = |(error, count): (NetworkError, u64)| {
        json!({
            "router": error.router.to_string(),
            "type": error.kind,
            "code": error.code,
            "words": words(&error),
            "count": count,
        })
    };
    let mut all: Vec<Value> = errors.iter().map(one).collect();
    if errors.others() > 0 {
        all.push(json!({ "router": null, "count": errors.others() }));
    }
    all.into()
}

fn reasons(outcome: &Outcome) -> Value {
    let drops = &outcome.local_drops;
    let one = |(error, count)| json!({ "error": sidelines::reason(&error), "count": count });
    let mut all: Vec<Value> = drops.iter().map(one).collect();
    if drops.others() > 0 {
        all.push(json!({ "error": null, "count": drops.others() }));
    }
    all.into()
}

fn ended(ended: &Ended) -> &'static str {
    match ended {
        Ended::Count => "count",
        Ended::Duration => "duration",
        Ended::Wait(_) => "error",
        _ => "stopped",
    }
}

/// Addresses are more than fit into a number of JSON only where nobody has named them one by one.
fn number(count: u128) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
