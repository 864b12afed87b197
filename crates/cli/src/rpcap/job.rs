//! The capture: opens it, restricts this program, takes packets and prints the summary.

use std::io::{self, Write};
use std::sync::Arc;

use serde_json::json;
use tapline::capture::{FileConsumer, Limits};
use tapline::file::model::Section;
use tapline::file::write::{CaptureFile, CaptureFileOptions};
use tapline::rpcap::{
    DataTransport, RemoteCapture, RemoteEnd, RemoteError, RemoteOptions, RemoteSummary, error_code,
};

use super::Url;
use super::metrics::{CaptureMetrics, CountingConsumer};
use super::summary::Summary;
use crate::args::CaptureArgs;
use crate::capture::{self, flush};
use crate::failure::{Exit, Failure, chain, is_closed_output};
use crate::filter;
use crate::metrics::Server;
use crate::output::{self, Written, json};
use crate::packet_line::{LineOptions, Printer};
use crate::process::{signals, user};
use crate::sandbox::{self, Sandbox};
use crate::screen::printable;

pub fn run(args: &CaptureArgs, url: &Url, mut options: RemoteOptions) -> Result<Exit, Failure> {
    refuse_misplaced(args)?;
    output::refuse_two_on_stdout(&args.output, args.json)?;
    output::refuse_keep_alone(&args.output)?;
    output::refuse_other_compression(&args.output)?;
    output::refuse_columns(&args.output)?;
    if url.interface.is_empty() {
        let line = format!("no interface in the URL: 'tapline capture -D -i {url}' lists them");
        return Err(Failure::new(Exit::Usage, line));
    }
    options.filter = capture::filter(args)?;
    if args.snaplen != 0 {
        options.snaplen = args.snaplen.min(options.snaplen);
    }
    options.promiscuous = !args.no_promisc;
    options.transport = if args.rpcap.udp {
        DataTransport::Udp
    } else {
        DataTransport::Tcp
    };
    options.limits = Limits {
        packets: args.count.map(Into::into),
        duration: args.duration,
    };
    let server = args.metrics.map(Server::bind).transpose()?;
    let stop = signals::stop_as(&args.user, args.sandbox)?;
    let remote = options.open().map_err(|error| failure(&error, args))?;
    let text = args.filter.join(" ");
    filter::warn(&text, remote.filter_warnings());
    let needed = output::needed_capabilities(args.output.write.as_deref());
    user::leave(&args.user, needed)?;
    let (metrics, latest) = serve(args, url, server)?;
    let begin = |written: &Written| begin(args, url, &remote, written, metrics.as_deref());
    let (written, result) = if let Some(path) = &args.output.write {
        let interfaces = remote.interfaces().to_vec();
        let options = output::options(&args.output, path, Section::default(), interfaces)?;
        let file = create(options)?;
        begin(&Written::from(&file))?;
        let mut consumer = FileConsumer::new(file, flush(args, path));
        let result = remote.run_consumer(&mut CountingConsumer::new(&mut consumer, latest), &stop);
        (capture::written(std::slice::from_ref(&consumer)), result)
    } else {
        let mut printer = Printer::new(args.json, LineOptions::from(&args.print));
        remote
            .interfaces()
            .iter()
            .for_each(|one| printer.add_interface(one));
        begin(&Written::default())?;
        let result = remote.run_consumer(&mut CountingConsumer::new(&mut printer, latest), &stop);
        (Written::default(), result)
    };
    let shown = Summary {
        result: &result,
        written: &written,
        url,
    }
    .show(args);
    // The failure of the capture is reported before that of printing its summary.
    let exit = finish(args, result)?;
    shown.map_err(|error| Failure::output("cannot print the summary", &error))?;
    Ok(exit)
}

/// Serves the counters of the capture. Returns their URL, and the metrics to publish.
fn serve(
    args: &CaptureArgs,
    url: &Url,
    server: Option<Server>,
) -> Result<(Option<String>, Option<CaptureMetrics>), Failure> {
    let Some(server) = server else {
        return Ok((None, None));
    };
    let address = server.url();
    let posted = CaptureMetrics::new(&url.interface);
    let latest = Arc::clone(&posted.latest);
    server.serve(args.sandbox, move || latest.read().to_vec())?;
    Ok((Some(address), Some(posted)))
}

fn create(options: CaptureFileOptions) -> Result<CaptureFile, Failure> {
    CaptureFile::create(options, crate::values::moment::now_ns()).map_err(|error| {
        if is_closed_output(&error) {
            Failure::closed()
        } else {
            Failure::job(&error)
        }
    })
}

/// Restricts this program, and says that packets come from now on.
fn begin(
    args: &CaptureArgs,
    url: &Url,
    remote: &RemoteCapture,
    written: &Written,
    metrics: Option<&str>,
) -> Result<(), Failure> {
    let makes_files = output::rotation(&args.output).is_any();
    let prints = args.output.write.is_none() && !args.json;
    let enforced = Sandbox::new(&sandbox::RPCAP)
        .write(args.output.write.as_deref().filter(|_| makes_files))
        .local_time(prints || makes_files)
        .enter(args.sandbox, args.quiet)?;
    let link_type = remote.interfaces().first().map(|one| one.link_type.0);
    if args.json {
        let mut event = json!({
            "event": "start",
            "at_ns": crate::values::moment::now_ns(),
            "url": url.to_string(),
            "link_type": link_type,
            "transport": if args.rpcap.udp { "udp" } else { "tcp" },
            "files": written.names(),
            "metrics": metrics,
        });
        enforced.add_to(&mut event);
        return json::print(&event).map_err(|error| Failure::stdout(&error));
    }
    if !args.quiet {
        let way = if args.rpcap.udp { "UDP" } else { "TCP" };
        // A closed standard error is no reason to end.
        let url = printable(&url.to_string());
        let _ = writeln!(io::stderr(), "capturing on {url}, packets by {way}");
        if args.sandbox.no_sandbox {
            let _ = writeln!(
                io::stderr(),
                "not restricted to what it needs (--no-sandbox)"
            );
        }
        if let Some(metrics) = metrics {
            let _ = writeln!(io::stderr(), "metrics at {metrics}");
        }
    }
    Ok(())
}

/// The exit status, or the failure that ended the capture.
fn finish(args: &CaptureArgs, summary: RemoteSummary) -> Result<Exit, Failure> {
    let account = summary.account;
    match summary.ended {
        RemoteEnd::Failed(error) => return Err(failure(&error, args)),
        RemoteEnd::Consumer(error) => capture::consumer_failed(&*error)?,
        _ => {}
    }
    let all = account.received();
    capture::within_limit(args, account.lost_total(), all)
}

/// Why it cannot begin, or has failed.
pub fn failure(error: &RemoteError, args: &CaptureArgs) -> Failure {
    let below = match error {
        RemoteError::Filter { error, .. } => filter::shown(&args.filter.join(" "), error),
        _ => String::new(),
    };
    let advice = match error {
        RemoteError::Filter { .. } => None,
        // The server says who may connect.
        RemoteError::Refused { code, .. } if *code == error_code::NOT_ALLOWED => None,
        error if error.is_authentication() => {
            Some("rpcap://USER@HOST/IF with --password-file, or another user")
        }
        RemoteError::Connect { .. } => {
            Some("is the server running there, and listening on this address?")
        }
        _ => None,
    };
    let exit = match error {
        RemoteError::Filter { .. } => Exit::Usage,
        _ => Exit::Failed,
    };
    let line = chain(error);
    let line = advice.map_or_else(|| line.clone(), |advice| format!("{line} ({advice})"));
    Failure {
        below,
        ..Failure::new(exit, line)
    }
}

/// Rejects flags about interfaces of this host.
fn refuse_misplaced(args: &CaptureArgs) -> Result<(), Failure> {
    let decodes = args.print.decode.is_some().then_some("--decode");
    let Some(flag) = args.needs_interface().or(decodes) else {
        return Ok(());
    };
    let line = format!("{flag} needs an interface of this host, not an rpcap server");
    Err(Failure::new(Exit::Usage, line))
}
