//! Prints flows.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tapline::capture::ConsumerError;
use tapline::file::model::Interface;
use tapline::flows::{Flow, FlowAccount, FlowEnd, FlowSink};

use super::fields::{Field, fields};
use super::outputs::{Output, Outputs};
use super::summary::families;
use crate::args::FlowsArgs;
use crate::metrics::LatestMetrics;
use crate::output::{self, json};
use crate::screen::printable;
use crate::values::moment::{local_zone, time_of_day};

/// Buffered text that causes a write.
const BUFFER_BYTES: usize = 64 << 10;

/// Characters of a bracketed IPv4 address with its port.
const END_WIDTH: usize = 21;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Text,
    Json,
    Csv,
}

/// Prints a line for each flow. Lines are buffered until there are many, or until nothing else is to be done.
pub struct Printer {
    format: Format,
    text: String,
    interfaces: Vec<String>,
    has_heading: bool,
    latest: Option<Arc<LatestMetrics>>,
    stdout: Output<io::Stdout>,
    outputs: Outputs,
}

impl Printer {
    pub fn new(args: &FlowsArgs, outputs: Outputs) -> Self {
        Self {
            format: match (args.json, args.csv) {
                (true, _) => Format::Json,
                (_, true) => Format::Csv,
                _ => Format::Text,
            },
            text: String::with_capacity(2 * BUFFER_BYTES),
            interfaces: Vec::new(),
            has_heading: false,
            latest: None,
            stdout: Output::new(io::stdout()),
            outputs,
        }
    }

    /// Also publishes the counters as `latest`.
    pub fn publish_to(&mut self, latest: Arc<LatestMetrics>) {
        self.latest = Some(latest);
    }

    /// Where flows went besides.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    fn write(&mut self) -> Result<(), ConsumerError> {
        let text = self.text.as_bytes();
        let written = self.stdout.call(|out| {
            let written = out.write_all(text).and_then(|()| out.flush());
            Ok(written.map_err(|error| output::named(&error))?)
        });
        self.text.clear();
        written
    }

    /// The line above the first flow, also if there is none: a reader of CSV needs it.
    pub fn heading(&mut self) {
        if std::mem::replace(&mut self.has_heading, true) {
            return;
        }
        match self.format {
            Format::Json => {}
            Format::Csv => {
                let unknown = FlowEnd {
                    address: [0, 0, 0, 0].into(),
                    port: 0,
                };
                let names = fields(&Flow::new(0, unknown, unknown), "").map(|(name, _)| name);
                self.text.push_str(&names.join(","));
                self.text.push('\n');
            }
            Format::Text => {
                let _ = writeln!(
                    self.text,
                    "{:<15} {:>9} {:<5} {:<END_WIDTH$} {:<END_WIDTH$} {:>15} {:>15}  {:<8}{:<13}{:>8} {:>7}",
                    "start",
                    "duration",
                    "proto",
                    "initiator",
                    "responder",
                    "packets",
                    "bytes",
                    "end",
                    "tcp",
                    "rtt",
                    "retr"
                );
            }
        }
    }

    fn print(&mut self, flow: &Flow) {
        let name = self.interfaces.get(flow.interface as usize);
        let name = name.map_or("", String::as_str);
        match self.format {
            Format::Text => write_text(&mut self.text, flow),
            Format::Json => {
                let value = |field| match field {
                    Field::Number(number) => number.into(),
                    Field::Address(address) => address.to_string().into(),
                    Field::Text(text) => text.into(),
                    Field::Null => Value::Null,
                };
                let mut object = Map::new();
                object.insert("event".into(), "flow".into());
                for (name, field) in fields(flow, name) {
                    object.insert(name.into(), value(field));
                }
                self.text.push_str(&json::line(&Value::Object(object)));
                self.text.push('\n');
            }
            Format::Csv => {
                for (number, (_, field)) in fields(flow, name).into_iter().enumerate() {
                    if number > 0 {
                        self.text.push(',');
                    }
                    // Writing to a String cannot fail.
                    let _ = match field {
                        Field::Text(text) => self.text.write_str(&csv_text(text)),
                        field => write!(self.text, "{field}"),
                    };
                }
                self.text.push('\n');
            }
        }
    }
}

/// As in RFC 4180, without control characters: names of interfaces are whatever a file says.
fn csv_text(text: &str) -> String {
    let text = printable(text);
    if text.contains(['"', ',']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

fn write_text(out: &mut String, flow: &Flow) {
    let pair = |[forward, backward]: [u64; 2]| format!("{forward}/{backward}");
    let mut start = time_of_day(flow.first_ns, local_zone());
    // Microseconds.
    start.truncate(15);
    let (forward, backward) = (&flow.forward, &flow.backward);
    let tcp = flow.tcp.as_ref();
    let again = tcp.map(|tcp| tcp.retransmissions);
    let again = again.filter(|again| again.iter().any(|&segments| segments > 0));
    let line = format!(
        "{start:<15} {:>9} {:<5} {:<END_WIDTH$} {:<END_WIDTH$} {:>15} {:>15}  {:<8}{:<13}{:>8} {:>7}",
        time(flow.duration_ns()),
        protocol(flow.protocol),
        end(flow.initiator),
        end(flow.responder),
        pair([forward.packets, backward.packets]),
        pair([forward.bytes, backward.bytes]),
        flow.end.name(),
        tcp.map_or("", |tcp| tcp.state.name()),
        tcp.and_then(|tcp| tcp.rtt_ns).map_or(String::new(), time),
        again.map_or(String::new(), |again| pair(again.map(u64::from))),
    );
    out.push_str(line.trim_end());
    out.push('\n');
}

fn end(end: FlowEnd) -> String {
    match (end.address, end.port) {
        (address, 0) => address.to_string(),
        (address, port) => std::net::SocketAddr::new(address, port).to_string(),
    }
}

/// The name of a protocol, as pcap-filter(7) and /etc/protocols have it.
fn protocol(number: u8) -> String {
    let name = match number {
        1 => "icmp",
        2 => "igmp",
        6 => "tcp",
        17 => "udp",
        33 => "dccp",
        47 => "gre",
        50 => "esp",
        51 => "ah",
        58 => "icmp6",
        89 => "ospf",
        103 => "pim",
        112 => "vrrp",
        132 => "sctp",
        136 => "udplt",
        _ => return number.to_string(),
    };
    name.to_owned()
}

fn time(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} us", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => crate::values::units::span(Duration::from_nanos(ns)),
    }
}

impl FlowSink for Printer {
    fn flow(&mut self, flow: &Flow) -> Result<(), ConsumerError> {
        let sent = self.outputs.flow(flow);
        if self.outputs.is_any() && self.format == Format::Text {
            return sent;
        }
        self.heading();
        self.print(flow);
        if self.text.len() >= BUFFER_BYTES {
            return sent.and(self.write());
        }
        sent
    }

    fn interface(&mut self, interface: &Interface) -> Result<(), ConsumerError> {
        let name = interface.name.clone().unwrap_or_default();
        self.interfaces.push(name);
        self.outputs.interface(interface)
    }

    fn flush(&mut self, account: &FlowAccount) -> Result<(), ConsumerError> {
        let flushed = self.outputs.flush(account);
        if let Some(latest) = &self.latest {
            latest.publish(families(account, self.outputs.sent()));
        }
        flushed.and(self.write())
    }

    fn finish(&mut self) -> Result<(), ConsumerError> {
        self.outputs.finish()
    }
}
