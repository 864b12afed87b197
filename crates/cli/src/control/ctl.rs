//! `tapline ctl`.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tapline::control::{
    ControlError, ControlReply, ControlRequest, ControlStats, ControlledSettings, Setting, ask,
    directory, list,
};

use super::server::failure;
use super::{hwtstamp, start};
use crate::args::{CtlArgs, CtlCommand, SandboxArgs};
use crate::failure::{Exit, Failure};
use crate::output::json;
use crate::process::privilege;
use crate::sandbox::{self, Sandbox};
use crate::screen::printable;
use crate::values::units::{binary, grouped};

pub fn run(args: &CtlArgs) -> Result<Exit, Failure> {
    if let CtlCommand::Hwtstamp { interface, state } = &args.command {
        return hwtstamp::run(interface, *state, args.json);
    }
    if let CtlCommand::Start { start_name, flags } = &args.command {
        return start::run(start_name, flags);
    }
    let directory = directory().map_err(|error| failure(&error))?;
    restrict(args, &directory)?;
    let request = match &args.command {
        CtlCommand::List => return show_all(args, &directory),
        CtlCommand::Stats => ControlRequest::Stats,
        CtlCommand::Rotate => ControlRequest::Rotate,
        CtlCommand::Trigger => ControlRequest::Trigger,
        CtlCommand::Stop => ControlRequest::Stop,
        CtlCommand::Add { interface } => ControlRequest::Add {
            interface: interface.clone(),
        },
        CtlCommand::Remove { interface } => ControlRequest::Remove {
            interface: interface.clone(),
        },
        CtlCommand::Set { words } => ControlRequest::Set {
            setting: mode_setting(words)?,
        },
        command => ControlRequest::Set {
            setting: setting(command),
        },
    };
    let name = match &args.name {
        Some(name) => name.clone(),
        None => only_name(&directory)?,
    };
    let reply = ask(&directory, &name, &request).map_err(|error| failure(&error))?;
    match reply {
        ControlReply::Stats(stats) => show(args, &stats)?,
        ControlReply::Refused { error } => return Err(Failure::new(Exit::Failed, error)),
        _ if args.json => {
            let done = json!({"event": "done", "name": name});
            json::print(&done).map_err(|error| Failure::stdout(&error))?;
        }
        _ => {}
    }
    Ok(Exit::Done)
}

/// Leaves the program the sockets of captures, whose answers it parses.
fn restrict(args: &CtlArgs, directory: &Path) -> Result<(), Failure> {
    privilege::drop_all_but(privilege::ANY_FILE)?;
    let flags = SandboxArgs {
        no_sandbox: args.no_sandbox,
    };
    let sandbox = Sandbox::new(&sandbox::CTL).read(directory);
    sandbox.enter(flags, false)?;
    Ok(())
}

/// The words `[dev IF] mode MODE`.
fn mode_setting(words: &[String]) -> Result<Setting, Failure> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (interface, mode) = match words[..] {
        ["mode", mode] => (None, mode),
        ["dev", interface, "mode", mode] => (Some(interface.to_owned()), mode),
        _ => {
            let line = "'ctl set' takes: [dev IF] mode mirror|drop";
            return Err(Failure::new(Exit::Usage, line));
        }
    };
    let mode = mode.to_owned();
    Ok(Setting::Mode { interface, mode })
}

fn setting(command: &CtlCommand) -> Setting {
    let ns = |time: &std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    match command {
        CtlCommand::Snaplen { bytes } => Setting::Snaplen(*bytes),
        CtlCommand::Buffer { size } => Setting::BufferBytes(*size),
        CtlCommand::Sample { rate } => Setting::Sample(rate.clone()),
        CtlCommand::Delivery { delivery } => {
            let value = clap::ValueEnum::to_possible_value(delivery);
            Setting::Delivery(value.map_or_else(String::new, |value| value.get_name().to_owned()))
        }
        CtlCommand::Direction { direction } => Setting::Direction(direction.clone()),
        CtlCommand::MinBytes { size } => Setting::MinBytes(*size),
        CtlCommand::Timeout { time } => Setting::TimeoutNs(ns(time)),
        CtlCommand::Stall { time } => Setting::StallNs(ns(time)),
        CtlCommand::Filter { filter } => Setting::Filter(filter.join(" ")),
        CtlCommand::Hwtstamp { .. }
        | CtlCommand::List
        | CtlCommand::Stats
        | CtlCommand::Add { .. }
        | CtlCommand::Remove { .. }
        | CtlCommand::Set { .. }
        | CtlCommand::Rotate
        | CtlCommand::Trigger
        | CtlCommand::Stop
        | CtlCommand::Start { .. } => unreachable!("these are no settings"),
    }
}

/// Statistics of the captures that answer, and the first failure of a capture that runs but does not answer. The socket of a killed
/// capture is no failure, nor is a capture that has just ended.
fn running(directory: &Path) -> Result<(Vec<ControlStats>, Result<(), Failure>), Failure> {
    let names = list(directory).map_err(|error| failure(&error))?;
    let mut running = Vec::new();
    let mut all_answer = Ok(());
    for name in names {
        match ask(directory, &name, &ControlRequest::Stats) {
            Ok(ControlReply::Stats(stats)) => running.push(*stats),
            Ok(_) | Err(ControlError::NotRunning { .. } | ControlError::Connection { .. }) => {}
            Err(error) => {
                let Failure { exit, line, .. } = failure(&error);
                let line = format!("capture {} does not answer: {line}", printable(&name));
                all_answer = all_answer.and(Err(Failure::new(exit, line)));
            }
        }
    }
    Ok((running, all_answer))
}

fn only_name(directory: &Path) -> Result<String, Failure> {
    let (mut running, all_answer) = running(directory)?;
    all_answer?;
    match running.len() {
        0 => Err(Failure::new(Exit::Failed, "no capture is running")),
        1 => Ok(running.remove(0).name),
        count => {
            let line = format!("{count} captures are running: select one with --name");
            Err(Failure::new(Exit::Usage, line))
        }
    }
}

fn show_all(args: &CtlArgs, directory: &Path) -> Result<Exit, Failure> {
    let (running, all_answer) = running(directory)?;
    for stats in &running {
        show(args, stats)?;
    }
    all_answer?;
    if running.is_empty() && !args.json {
        writeln!(io::stderr(), "no capture is running")?;
    }
    Ok(Exit::Done)
}

fn show(args: &CtlArgs, stats: &ControlStats) -> Result<(), Failure> {
    let printed = if args.json {
        let mut event = json!({"event": "capture"});
        if let (Some(event), Ok(serde_json::Value::Object(stats))) =
            (event.as_object_mut(), serde_json::to_value(stats))
        {
            event.extend(stats);
        }
        json::print(&event)
    } else {
        let text = text(stats, matches!(args.command, CtlCommand::List));
        let mut out = io::stdout().lock();
        // What a capture answers contains names of interfaces.
        text.lines()
            .try_for_each(|line| writeln!(out, "{}", printable(line)))
    };
    printed.map_err(|error| Failure::stdout(&error))
}

/// One line, and below it, unless it is `brief`, one for each interface.
fn text(stats: &ControlStats, is_brief: bool) -> String {
    let names: Vec<_> = (stats.interfaces.iter())
        .map(|of| of.name.as_str())
        .collect();
    let filter = match stats.filter.as_str() {
        "" => String::new(),
        filter => format!("  filter {filter:?}"),
    };
    let (name, pid, files) = (
        &stats.name,
        stats.pid,
        stats.files.join(" ").escape_debug().to_string(),
    );
    let mut text = format!("{name}  pid {pid}  on {}{filter}  {files}", names.join(" "));
    text.truncate(text.trim_end().len());
    if !is_brief {
        if let Some(settings) = &stats.settings {
            text.push_str("\n  ");
            text.push_str(&settings_text(settings));
        }
        for of in &stats.interfaces {
            let unknown = || "unknown".to_owned();
            // Writing to a String cannot fail.
            let _ = write!(
                text,
                "\n  {}{}  {} delivered  {} filtered  {} lost",
                of.name,
                (of.mode.as_ref()).map_or_else(String::new, |mode| format!("  mode {mode}")),
                grouped(of.delivered),
                of.filtered.map_or_else(unknown, grouped),
                grouped(of.lost.total()),
            );
        }
    }
    text
}

/// The settings in the words of `tapline ctl`.
fn settings_text(settings: &ControlledSettings) -> String {
    let mut text = format!("snaplen {}", settings.snaplen);
    let mut add = |word: &str, value: Option<String>| {
        // Writing to a String cannot fail.
        let _ = value.map(|value| write!(text, "  {word} {value}"));
    };
    let size = |bytes: u64| binary(usize::try_from(bytes).unwrap_or(usize::MAX));
    let time = |ns: u64| format!("{:?}", Duration::from_nanos(ns));
    add("buffer", Some(size(settings.buffer_bytes)));
    add("sample", Some(settings.sample.clone()));
    add("direction", Some(settings.direction.clone()));
    add("delivery", Some(settings.delivery.clone()));
    let min_bytes = settings.min_bytes.map(size);
    let is_batch = settings.timeout_ns.is_some();
    add(
        "min-bytes",
        min_bytes.or_else(|| is_batch.then(|| "auto".to_owned())),
    );
    add("timeout", settings.timeout_ns.map(time));
    add("latency target", settings.latency_target_ns.map(time));
    add("stall", settings.stall_ns.map(time));
    text
}
