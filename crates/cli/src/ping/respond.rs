//! `tapline ping --respond`: answering echo requests.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::thread::CapabilitySet;
use serde_json::{Value, json};
use tapline::ping::{EchoAnswerCounts, RespondError, RespondSummary, Responder};

use super::output::lines::realtime_ns;
use super::output::warnings::warn;
use crate::args::{Origin, PingArgs};
use crate::failure::{Exit, Failure, NO_LINK, chain};
use crate::metrics::{LatestMetrics, Server, respond_families};
use crate::output::json;
use crate::process::{signals, user};
use crate::sandbox::{self, Sandbox};
use crate::screen::{printable, say};
use crate::values::units::grouped;

/// Time between two checks for status requests.
const TICK: Duration = Duration::from_millis(500);

/// Why the program does not run in the driver of a veth interface.
const PEER: &str = "the program runs in the network stack, because this is a veth interface; use --xdp native if its \
other end has an XDP program";

pub fn run(args: &PingArgs) -> Result<Exit, Failure> {
    let Some(Origin::Link(link)) = &args.interface else {
        let line = "--respond needs the name of an interface: use -I IF";
        return Err(Failure::new(Exit::Usage, line));
    };
    let options = tapline::ping::respond(link)
        .rate_pps(args.rate.0)
        .mode(args.xdp);
    let server = args.metrics.map(Server::bind).transpose()?;
    let responder = options
        .stop(signals::stop_as(&args.user, args.sandbox)?)
        .open();
    let mut responder = responder.map_err(failure)?;
    // Kernels before Linux 5.19 require it for reading and changing maps.
    user::leave(&args.user, CapabilitySet::BPF)?;
    let status_request = signals::quit()?;
    let url = server.as_ref().map(Server::url);
    let latest = LatestMetrics::new(respond_families(link, &EchoAnswerCounts::default()));
    if let Some(server) = server {
        let posted = Arc::clone(&latest);
        server.serve(args.sandbox, move || posted.read().to_vec())?;
    }
    Sandbox::new(&sandbox::RESPOND).enter(args.sandbox, args.quiet)?;
    begin(args, link, &responder, url.as_deref()).map_err(|error| Failure::stdout(&error))?;
    let mut printed = Instant::now();
    let mut failed = None;
    let stopper = responder.stopper();
    let ran = responder.run(args.interval.min(TICK), |counts| {
        if url.is_some() {
            latest.publish(respond_families(link, counts));
        }
        if status_request.swap(false, Ordering::Relaxed) {
            say(&status(counts));
        }
        if args.json && !args.quiet && printed.elapsed() >= args.interval {
            printed = Instant::now();
            if let Err(error) = json::print(&event("status", counts)) {
                failed = Some(error);
                stopper.stop();
            }
        }
    });
    let summary = responder.finish().map_err(failure)?;
    let reported = failed.map_or_else(|| end(args, &summary), Err);
    reported.map_err(|error| Failure::stdout(&error))?;
    ran.map_err(failure)?;
    Ok(Exit::Done)
}

fn begin(
    args: &PingArgs,
    link: &str,
    responder: &Responder,
    metrics: Option<&str>,
) -> io::Result<()> {
    let mode = responder.mode().to_string();
    if responder.avoids_peer() {
        warn(PEER);
    }
    if args.json {
        return json::print(&json!({
            "event": "start",
            "at_ns": realtime_ns(),
            "interface": link,
            "mode": mode,
            "rate_pps": args.rate.0,
            "metrics": metrics,
        }));
    }
    if !args.quiet {
        let limit = match args.rate.0 {
            Some(pps) => format!("at most {} per second", grouped(pps.into())),
            None => "without a limit".to_owned(),
        };
        let link = printable(link);
        say(&format!(
            "answering echo requests on {link}, {limit} ({mode} XDP), Ctrl-C ends"
        ));
        if let Some(url) = metrics {
            say(&format!("metrics at {url}"));
        }
    }
    Ok(())
}

fn end(args: &PingArgs, summary: &RespondSummary) -> io::Result<()> {
    if !args.json {
        return writeln!(io::stdout(), "{summary}");
    }
    let mut object = event("summary", &summary.counts);
    object["duration_ns"] = (summary.duration.as_nanos() as u64).into();
    object["interface"] = summary.link.as_str().into();
    object["mode"] = summary.mode.to_string().into();
    json::print(&object)
}

fn status(counts: &EchoAnswerCounts) -> String {
    let [answered, limited, damaged, passed] = [
        counts.answered,
        counts.limited,
        counts.damaged,
        counts.passed,
    ]
    .map(grouped);
    format!("{answered} answered, {limited} above the limit, {damaged} damaged, {passed} passed on")
}

fn event(name: &str, counts: &EchoAnswerCounts) -> Value {
    json!({
        "event": name,
        "answered": counts.answered,
        "limited": counts.limited,
        "damaged": counts.damaged,
        "passed": counts.passed,
    })
}

fn failure(error: RespondError) -> Failure {
    let line = chain(&error);
    if error.is_privilege() {
        let advice = "needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON; run with sudo or setcap";
        return Failure::new(Exit::Privilege, format!("{line} ({advice})"));
    }
    match error {
        RespondError::Netlink(error) if error.is_absence() => {
            Failure::new(Exit::Failed, format!("{line} ({NO_LINK})"))
        }
        _ if error.is_old_kernel() => {
            Failure::new(Exit::Unsupported, format!("{line} (needs Linux 5.18)"))
        }
        RespondError::NotEthernet { .. } => Failure::new(Exit::Unsupported, line),
        _ => Failure::new(Exit::Failed, line),
    }
}
