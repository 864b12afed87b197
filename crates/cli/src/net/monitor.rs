//! `tapline monitor`: changes as they happen.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::thread::CapabilitySet;
use serde_json::{Value, json};
use tapline::net::codec::messages;
use tapline::net::{Malformed, NetlinkError};

use super::command::{ChangeFormat, ChangeLine, ChangeStream};
use super::handle::{NetHandle, open_namespace, usage_failure};
use super::object::NetObject;
use super::output::{DetailLevel, Record, printable};
use crate::args::MonitorArgs;
use crate::failure::{Exit, Failure};
use crate::metrics::{LatestMetrics, Server, monitor_families};
use crate::output::json;
use crate::process::{signals, user};
use crate::sandbox::{self, Sandbox};

/// The longest file of recorded messages that is read.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// Runs `tapline monitor`.
pub fn run(args: &MonitorArgs) -> Result<Exit, Failure> {
    if let [objects @ .., word, path] = args.objects.as_slice()
        && word == "file"
    {
        return replay(args, objects, path);
    }
    let format = format(args);
    let mut names = NetHandle::open(args.netns.as_deref())?.names;
    let mut streams = streams(args)?;
    let stop = signals::stop_as(&args.user, args.sandbox)?;
    if args.changes {
        for stream in &mut streams {
            // The first changes report the objects that exist already.
            while stream.next(&mut names, format)?.is_some() {}
        }
    }
    let server = args.metrics.map(Server::bind).transpose()?;
    // The sockets are open, and listing objects again takes no privilege.
    user::leave(&args.user, CapabilitySet::empty())?;
    let mut counts = BTreeMap::new();
    let latest = serve(args, server)?;
    Sandbox::new(&sandbox::MONITOR)
        .read("/run/netns")
        .read("/var/run/netns")
        .enter(args.sandbox, false)?;
    let mut count = 0;
    loop {
        for stream in &mut streams {
            while args.count != Some(count)
                && let Some(change) = stream.next(&mut names, format)?
            {
                *counts.entry((change.object, change.event)).or_default() += 1;
                print(change, args)?;
                count += 1;
            }
        }
        if let Some(latest) = &latest {
            latest.publish(monitor_families(&counts));
        }
        if args.count == Some(count) || !wait(&streams, &stop)? {
            break;
        }
    }
    if args.json {
        json::print(&json!({ "event": "summary", "events": count }))?;
    }
    Ok(Exit::Done)
}

fn format(args: &MonitorArgs) -> ChangeFormat {
    ChangeFormat {
        is_json: args.json,
        level: DetailLevel {
            details: args.details,
            ..DetailLevel::default()
        },
    }
}

/// Prints the changes in a file of netlink messages, as rtmon(8) writes it.
fn replay(args: &MonitorArgs, objects: &[String], path: &str) -> Result<Exit, Failure> {
    if args.metrics.is_some() || args.changes {
        let problem = "--metrics and --changes are for changes of this host, not for a file";
        return Err(usage_failure("monitor", problem));
    }
    let objects = if objects.is_empty() {
        NetObject::MONITORED.to_vec()
    } else {
        objects
            .iter()
            .map(|word| named(word))
            .collect::<Result<_, _>>()?
    };
    if !objects
        .iter()
        .all(|object| NetObject::MONITORED.contains(object))
    {
        let problem = "tuntap and vrf cannot be selected from a file; use link";
        return Err(usage_failure("monitor", problem));
    }
    let mut names = NetHandle::open(args.netns.as_deref())?.names;
    let mut recorded = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut recorded))
        .map_err(|error| Failure::job_on(format!("cannot read {path}"), &error))?;
    if recorded.len() as u64 > MAX_FILE_BYTES {
        let line = format!("cannot read {path}: it has more than 256 MiB");
        return Err(Failure::new(Exit::Failed, line));
    }
    user::leave(&args.user, CapabilitySet::empty())?;
    Sandbox::new(&sandbox::MONITOR)
        .read("/run/netns")
        .read("/var/run/netns")
        .enter(args.sandbox, false)?;
    let malformed =
        |malformed: Malformed| Failure::job_on(format!("{path} is malformed"), &malformed);
    let mut count = 0_u64;
    for message in messages(&recorded) {
        if args.count == Some(count) {
            break;
        }
        let message = message.map_err(malformed)?;
        for object in &objects {
            let changes = object.commands();
            let changes = changes.replay(message, &mut names, format(args));
            for change in changes.map_err(malformed)? {
                if args.count == Some(count) {
                    break;
                }
                print(change, args)?;
                count += 1;
            }
        }
    }
    if args.json {
        json::print(&json!({ "event": "summary", "events": count }))?;
    }
    Ok(Exit::Done)
}

/// The object called `word`.
fn named(word: &str) -> Result<NetObject, Failure> {
    let words = NetObject::names(|object| NetObject::MONITORED.contains(&object));
    let line = format!("{word:?} is not an object that monitor can follow (use {words})");
    NetObject::named(word).ok_or_else(|| Failure::new(Exit::Usage, line))
}

/// Serves the counters that are published in the result, and prints the URL.
fn serve(
    args: &MonitorArgs,
    server: Option<Server>,
) -> Result<Option<Arc<LatestMetrics>>, Failure> {
    let Some(server) = server else {
        return Ok(None);
    };
    let (url, latest) = (
        server.url(),
        LatestMetrics::new(monitor_families(&BTreeMap::new())),
    );
    let posted = Arc::clone(&latest);
    server.serve(args.sandbox, move || posted.read().to_vec())?;
    if args.json {
        json::print(&json!({ "event": "start", "metrics": url }))?;
    } else {
        // A closed standard error is not a failure.
        let _ = writeln!(io::stderr(), "metrics at {url}");
    }
    Ok(Some(latest))
}

fn streams(args: &MonitorArgs) -> Result<Vec<Box<dyn ChangeStream>>, Failure> {
    let namespace = open_namespace(args.netns.as_deref())?;
    let watch = |object: NetObject| object.commands().watch(namespace.as_ref());
    if args.objects.is_empty() {
        // Skip the objects that this kernel does not support.
        let is_unsupported = |error: &NetlinkError| error.errno() == Some(libc::EOPNOTSUPP);
        let streams = NetObject::MONITORED.into_iter().map(watch);
        let streams = streams.filter(|stream| !stream.as_ref().is_err_and(is_unsupported));
        return streams.map(|stream| Ok(stream?)).collect();
    }
    let objects: Vec<_> = args
        .objects
        .iter()
        .map(|word| named(word))
        .collect::<Result<_, _>>()?;
    objects
        .into_iter()
        .map(|object| Ok(watch(object)?))
        .collect()
}

/// Waits until there may be a change; false if the job has to stop.
fn wait(streams: &[Box<dyn ChangeStream>], stop: &tapline::Stop) -> Result<bool, Failure> {
    let mut descriptors = vec![PollFd::from_borrowed_fd(stop.as_fd(), PollFlags::IN)];
    let others = streams.iter().map(|stream| stream.as_fd());
    descriptors.extend(others.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
    match poll(&mut descriptors, None) {
        Ok(_) | Err(Errno::INTR) => Ok(descriptors[0].revents().is_empty()),
        Err(errno) => Err(Failure::job(&io::Error::from(errno))),
    }
}

fn print(change: ChangeLine, args: &MonitorArgs) -> io::Result<()> {
    let ChangeLine {
        event,
        object,
        record,
    } = change;
    if args.json {
        let value = match record {
            Some(Record::Json(fields)) => fields.into(),
            _ => Value::Null,
        };
        return json::print(&json!({ "event": event, "object": object, object: value }));
    }
    let mut out = io::stdout().lock();
    match (event, record) {
        ("removed", Some(Record::Text(text))) => {
            writeln!(out, "[{object}] Deleted {}", printable(&text))?;
        }
        (_, Some(Record::Text(text))) => writeln!(out, "[{object}] {}", printable(&text))?,
        _ => writeln!(
            out,
            "[{object}] overrun: the next lines bring the state up to date"
        )?,
    }
    out.flush()
}
