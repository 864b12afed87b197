//! `tapline capture -i rpcap://…`: packets of another host, by libpcap's remote protocol.

mod job;
mod metrics;
mod summary;
mod url;

use std::io::{self, Write};

use serde_json::json;
use tapline::rpcap::{Credentials, Password, RemoteAddress, RemoteInterface, RemoteOptions, list};

use crate::args::CaptureArgs;
use crate::failure::{Exit, Failure};
use crate::output::json;
use crate::sandbox::{self, Sandbox};
use job::failure;
pub use url::Url;

/// The environment variable with a password.
const PASSWORD: &str = "TAPLINE_RPCAP_PASSWORD";

/// The URL of the flags, if the interface is one.
pub fn url(args: &CaptureArgs) -> Result<Option<Url>, Failure> {
    let is_url = |name: &&String| Url::is_one(name);
    let usage = |line: &str| Err(Failure::new(Exit::Usage, line));
    let Some(text) = args.interface.iter().find(is_url) else {
        return match (&args.rpcap.password_file, args.rpcap.udp) {
            (None, false) => Ok(None),
            (Some(_), _) => usage("--password-file needs -i rpcap://HOST/IF"),
            (None, true) => usage("--udp needs -i rpcap://HOST/IF"),
        };
    };
    if args.interface.len() > 1 {
        return usage("packets of an rpcap server cannot be captured together with others");
    }
    Url::parse(text).map(Some)
}

pub fn run(args: &CaptureArgs, url: &Url) -> Result<Exit, Failure> {
    let mut options = RemoteOptions::new(url.host.clone(), url.interface.clone());
    options.port = url.port;
    options.credentials = credentials(args, url)?;
    options.before_password = (!args.quiet).then_some(warn_of_password);
    if !args.list_interfaces {
        return job::run(args, url, options);
    }
    let interfaces = list(&options).map_err(|error| failure(&error, args))?;
    Sandbox::new(&sandbox::EXPLAIN).enter(args.sandbox, args.quiet)?;
    let printed = interfaces.iter().try_for_each(|one| print(one, args.json));
    printed.map_err(|error| Failure::stdout(&error))?;
    Ok(Exit::Done)
}

/// Says that others may read the password.
fn warn_of_password() {
    // A closed standard error is no reason to end.
    let _ = writeln!(
        io::stderr(),
        "warning: rpcap is not encrypted: who sees the connection reads the password and the packets"
    );
}

/// User and password. None of them is printed.
fn credentials(args: &CaptureArgs, url: &Url) -> Result<Option<Credentials>, Failure> {
    let password = match (&url.password, &args.rpcap.password_file) {
        (Some(_), Some(_)) => {
            let line = "--password-file and a password in the URL cannot be used together";
            return Err(Failure::new(Exit::Usage, line));
        }
        (Some(password), None) => Some(password.clone()),
        (None, Some(path)) => {
            let password = Password::read_for_client(path).map_err(|error| Failure::job(&error))?;
            return Ok(Some(password.of(url.user.as_deref().unwrap_or_default())));
        }
        (None, None) => std::env::var(PASSWORD).ok().map(String::into_bytes),
    };
    match (password, &url.user) {
        (Some(password), user) => Ok(Some(Credentials {
            user: user.clone().unwrap_or_default(),
            password,
        })),
        (None, Some(_)) => {
            let line = format!("no password for the user (use --password-file, or {PASSWORD})");
            Err(Failure::new(Exit::Usage, line))
        }
        (None, None) => Ok(None),
    }
}

fn print(interface: &RemoteInterface, is_json: bool) -> io::Result<()> {
    let address = |one: &RemoteAddress| one.address.to_string();
    let addresses: Vec<_> = interface.addresses.iter().map(address).collect();
    let state = match (interface.is_up, interface.is_loopback, interface.is_running) {
        (false, ..) => "down",
        (_, true, _) => "loopback",
        (.., true) => "up",
        (.., false) => "up, no carrier",
    };
    if is_json {
        return json::print(&json!({
            "event": "interface",
            "name": interface.name,
            "description": interface.description,
            "state": state,
            "addresses": addresses,
        }));
    }
    let mut line = format!("{} [{state}]", interface.name);
    for text in addresses.iter().chain([&interface.description]) {
        if !text.is_empty() {
            line = format!("{line} {text}");
        }
    }
    writeln!(io::stdout(), "{line}")
}
