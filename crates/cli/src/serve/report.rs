//! What a server prints about its clients: lines on standard error, or JSON on standard output.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use tapline::rpcap::{Access, SessionEnd, SessionReport};

use crate::args::ServeRpcapArgs;
use crate::capture::{account_line, lost_json};
use crate::failure::chain;
use crate::output::json;
use crate::screen::printable;
use crate::values::units::{counted, grouped};

/// Said when others may see the connections.
const NOT_ENCRYPTED: &str =
    "rpcap is not encrypted: who sees the connections reads the password and the packets";

/// Prints for all threads.
pub struct Reporter {
    is_json: bool,
    is_quiet: bool,
    /// Clients that are served now.
    open: AtomicU64,
    /// Clients that were served and have gone.
    served: AtomicU64,
    clients: AtomicU64,
    refused: AtomicU64,
    captures: AtomicU64,
    sent: AtomicU64,
}

/// Clients so far.
#[derive(Clone, Copy, Debug)]
pub struct ClientCounts {
    pub open: u64,
    pub served: u64,
    pub refused: u64,
}

impl Reporter {
    pub fn new(args: &ServeRpcapArgs) -> Self {
        Self {
            is_json: args.json,
            is_quiet: args.quiet,
            open: AtomicU64::new(0),
            served: AtomicU64::new(0),
            clients: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            captures: AtomicU64::new(0),
            sent: AtomicU64::new(0),
        }
    }

    /// The server listens at `address`.
    pub fn start(
        &self,
        address: SocketAddr,
        access: &Access,
        metrics: Option<&str>,
    ) -> io::Result<()> {
        let has_password = matches!(access, Access::Password(_));
        if self.is_json {
            let way = if has_password {
                "password"
            } else {
                "local-users"
            };
            json::print(&json!({
                "event": "start",
                "at_ns": crate::values::moment::now_ns(),
                "listen": address.to_string(),
                "access": way,
                "metrics": metrics,
            }))?;
        }
        let who = if has_password {
            "clients with the password"
        } else {
            "root and the user who started it"
        };
        self.line(&format!("serving rpcap at {address}, for {who}"));
        if let Some(url) = metrics {
            self.line(&format!("metrics at {url}"));
        }
        if !address.ip().is_loopback() {
            // Also to those who want no lines about clients. A closed standard error is no reason to end.
            let _ = writeln!(io::stderr(), "warning: {NOT_ENCRYPTED}");
        }
        Ok(())
    }

    /// A client is served from now on.
    pub fn begin(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    pub fn counts(&self) -> ClientCounts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ClientCounts {
            open: count(&self.open),
            served: count(&self.served),
            refused: count(&self.refused),
        }
    }

    /// A capture of a client has ended.
    pub fn capture(&self, report: &SessionReport) {
        self.captures.fetch_add(1, Ordering::Relaxed);
        self.sent.fetch_add(report.sent, Ordering::Relaxed);
        let account = report.summary.as_ref().map(|summary| summary.account);
        if self.is_json {
            event(&json!({
                "event": "capture",
                "client": report.peer.to_string(),
                "interface": report.interface,
                "received": account.and_then(|account| account.received()),
                "filtered": account.and_then(|account| account.filtered),
                "lost": account.map(|account| lost_json(&account.lost)),
                "delivered": account.map(|account| account.delivered),
                "sent": report.sent,
                "refused": report.refused,
                "sampled_out": report.sampled_out,
                "unsent": report.unsent,
            }));
            return;
        }
        let mut text = Vec::new();
        if let Some(account) = &account {
            // Writing to memory does not fail.
            let _ = account_line(&mut text, Some(&report.interface), account);
        }
        let account = String::from_utf8_lossy(&text);
        let mut line = format!("{}: {} sent", report.peer, counted(report.sent, "packet"));
        let others = [
            ("refused by its filter", report.refused),
            ("sampled out", report.sampled_out),
            ("not sent", report.unsent),
        ];
        for (what, packets) in others.iter().filter(|(_, packets)| *packets > 0) {
            line = format!("{line}, {} {what}", grouped(*packets));
        }
        self.line(&format!("{line}; {}", account.trim()));
    }

    /// A client has gone.
    pub fn client(&self, peer: SocketAddr, end: &SessionEnd) {
        self.open.fetch_sub(1, Ordering::Relaxed);
        self.clients.fetch_add(1, Ordering::Relaxed);
        let outcome = if matches!(end, SessionEnd::NotAllowed(_)) {
            &self.refused
        } else {
            &self.served
        };
        outcome.fetch_add(1, Ordering::Relaxed);
        let (end, why) = words(end);
        if self.is_json {
            event(&json!({
                "event": "client",
                "client": peer.to_string(),
                "end": end,
                "error": why,
            }));
            return;
        }
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        self.line(&format!("{peer}: {end}{why}"));
    }

    /// A client cannot be served.
    pub fn refused(&self, peer: SocketAddr, why: &str) {
        self.clients.fetch_add(1, Ordering::Relaxed);
        self.refused.fetch_add(1, Ordering::Relaxed);
        if self.is_json {
            event(&json!({
                "event": "client",
                "client": peer.to_string(),
                "end": "failed",
                "error": why,
            }));
        }
        self.line(&format!("{peer}: cannot be served: {why}"));
    }

    pub fn summary(&self) -> io::Result<()> {
        let [clients, refused, captures, sent] =
            [&self.clients, &self.refused, &self.captures, &self.sent]
                .map(|count| count.load(Ordering::Relaxed));
        if self.is_json {
            return json::print(&json!({
                "event": "summary",
                "clients": clients,
                "refused": refused,
                "captures": captures,
                "sent": sent,
            }));
        }
        self.line(&format!(
            "{} ({} refused), {}, {} sent",
            counted(clients, "client"),
            grouped(refused),
            counted(captures, "capture"),
            counted(sent, "packet")
        ));
        Ok(())
    }

    fn line(&self, line: &str) {
        if !self.is_quiet && !self.is_json {
            // As in `event`.
            let _ = writeln!(io::stderr(), "{}", printable(line));
        }
    }
}

fn event(event: &Value) {
    // The server goes on if nobody reads what it prints.
    let _ = json::print(event);
}

/// The end of a session in words, and its error.
fn words(end: &SessionEnd) -> (&'static str, Option<String>) {
    match end {
        SessionEnd::Closed => ("closed", None),
        SessionEnd::Stopped => ("stopped", None),
        SessionEnd::NotAllowed(why) => ("refused", Some(why.clone())),
        SessionEnd::Message(error) => ("damaged message", Some(error.to_string())),
        SessionEnd::Late => ("timed out", None),
        SessionEnd::Connection(error) => ("connection failed", Some(chain(error))),
        _ => ("ended", None),
    }
}
