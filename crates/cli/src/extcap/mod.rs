//! `tapline extcap`: the capture plug-in of Wireshark.
//!
//! # Source
//! extcap(4); Wireshark Developer's Guide, 8.2 Adding Capture Interfaces And Log Sources Using Extcap.

mod capture_host;
mod job;
mod message;
mod sentences;
mod toolbar;

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use self::capture_host::CaptureHost;
use crate::args::ExtcapArgs;
use crate::failure::{Exit, Failure};
use crate::sandbox::{self, Sandbox};

pub fn run(args: &ExtcapArgs) -> Result<Exit, Failure> {
    if args.extcap_cleanup_postkill {
        return Ok(Exit::Done);
    }
    let Some(interface) = args
        .extcap_interface
        .as_deref()
        .filter(|_| !args.extcap_interfaces)
    else {
        if args.extcap_interfaces {
            return print(&sentences::interfaces()?);
        }
        let line = "nothing to do: Wireshark runs this command ('tshark -D' lists its interfaces)";
        return Err(Failure::new(Exit::Usage, line));
    };
    // The flag --capture requires --fifo.
    if let (true, Some(fifo)) = (args.capture, &args.fifo) {
        return job::run(args, interface, fifo);
    }
    let text = if args.extcap_dlts {
        sentences::dlts(interface)?
    } else if args.extcap_config {
        match &args.extcap_reload_option {
            Some(_) => remote_interfaces(args, interface)?,
            None => sentences::options(interface),
        }
    } else if let Some(filter) = &args.extcap_capture_filter {
        sentences::filter_error(interface, filter)?
    } else {
        let line = "nothing to do with the interface (see 'tapline extcap --help')";
        return Err(Failure::new(Exit::Usage, line));
    };
    print(&text)
}

/// The interfaces of the other host.
fn remote_interfaces(args: &ExtcapArgs, interface: &str) -> Result<String, Failure> {
    let host = CaptureHost::of(interface, &args.remote)?;
    let words = ["capture", "-D", "--json"].map(str::to_owned);
    let mut command = host.command(&words);
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command
        .output()
        .map_err(|error| Failure::job_on("cannot run ssh", &error))?;
    if !output.status.success() {
        let line = format!("cannot list the interfaces of the host: {}", output.status);
        return Err(Failure::new(Exit::Failed, line));
    }
    Sandbox::new(&sandbox::EXTCAP).enter(args.sandbox, true)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let events = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let names: Vec<String> = events
        .filter_map(|event| Some(event["name"].as_str()?.to_owned()))
        .collect();
    let names = [capture_host::ANY]
        .into_iter()
        .chain(names.iter().map(String::as_str));
    Ok(sentences::remote_interfaces(names))
}

/// A word that is not taken for a flag.
fn positional(text: &str) -> String {
    if text.starts_with('-') {
        format!(" {text}")
    } else {
        text.to_owned()
    }
}

fn print(text: &str) -> Result<Exit, Failure> {
    let mut out = std::io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    printed.map_err(|error| Failure::stdout(&error))?;
    Ok(Exit::Done)
}
