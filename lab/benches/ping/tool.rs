//! The ping programs: their command lines and output parsers.

use std::path::PathBuf;

use serde_json::Value;
use tapline_lab::{Host, tool};

use crate::harness::{BenchOptions, Report, Running, version};
use crate::peer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tapline,
    Ping,
    Fping,
    Bpfpinger,
}

#[derive(Clone, Debug)]
pub struct Tool {
    pub kind: Kind,
    pub name: &'static str,
    pub program: PathBuf,
}

/// Probe counts reported by a program.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    pub sent: f64,
    pub received: f64,
}

impl Tool {
    /// The installed programs, tapline first. Reports why others are missing.
    pub fn all(options: &BenchOptions, report: &mut Report) -> Vec<Self> {
        let tapline = options.tapline().remove(0);
        let found =
            |name| tool::find(name).ok_or(format!("apt-get install {}", tool::package(name)));
        let tools = [
            (
                Kind::Tapline,
                "tapline ping",
                tapline.canonicalize().map_err(|e| e.to_string()),
                "--version",
            ),
            (Kind::Ping, "ping", found("ping"), "-V"),
            (Kind::Fping, "fping", found("fping"), "--version"),
            (Kind::Bpfpinger, "bpfpinger", peer::build(), ""),
        ];
        let found = tools
            .into_iter()
            .filter_map(|(kind, name, program, flag)| match program {
                Err(reason) => {
                    report.note(format!("{name} is not measured: {reason}"));
                    None
                }
                Ok(program) => {
                    let version = (!flag.is_empty())
                        .then(|| version(&program, flag, 1))
                        .flatten();
                    if let Some(version) = version {
                        report.note(version);
                    }
                    Some(Self {
                        kind,
                        name,
                        program,
                    })
                }
            });
        found.collect()
    }

    /// Starts it on `host` with these arguments.
    pub fn start(&self, host: &Host, arguments: &str) -> Running {
        let mut command = host.command(self.program.to_str().expect("a path of text"));
        command.args(arguments.split_whitespace());
        Running::start(command)
    }

    /// Arguments for `count` probes to `target`, one every `interval_ms`, with counts at the end.
    pub fn steady(&self, target: &str, count: u32, interval_ms: u32) -> String {
        match self.kind {
            Kind::Tapline => format!("ping --json -q -c {count} -i {interval_ms}ms {target}"),
            Kind::Ping => {
                let seconds = f64::from(interval_ms) / 1000.0;
                format!("-n -q -c {count} -i {seconds} {target}")
            }
            Kind::Fping => format!("-q -c {count} -p {interval_ms} {target}"),
            Kind::Bpfpinger => format!("{target} {count} {interval_ms}"),
        }
    }

    /// Parses the counts from its output. It was started with `count` probes.
    pub fn counted(&self, text: &str, count: u32) -> Counted {
        let found = self.find_counts(text, f64::from(count));
        let [sent, received] =
            found.unwrap_or_else(|| panic!("{} counts nothing: {text}", self.name));
        Counted { sent, received }
    }

    fn find_counts(&self, text: &str, count: f64) -> Option<[f64; 2]> {
        match self.kind {
            Kind::Tapline => {
                let summary = summary(text);
                Some([summary["sent"].as_f64()?, summary["received"].as_f64()?])
            }
            Kind::Ping => {
                let (sent, rest) = text.split_once(" packets transmitted, ")?;
                let (received, _) = rest.split_once(' ')?;
                Some([
                    sent.rsplit('\n').next()?.parse().ok()?,
                    received.parse().ok()?,
                ])
            }
            Kind::Fping => {
                let lines = text.lines();
                let counts = lines.filter_map(|line| line.split_once(" : xmt/rcv/%loss = "));
                let (mut sent, mut received) = (0.0, 0.0);
                for (_, counts) in counts {
                    let mut counts = counts.split('/').map(str::parse::<f64>);
                    sent += counts.next()?.ok()?;
                    received += counts.next()?.ok()?;
                }
                Some([sent, received])
            }
            Kind::Bpfpinger => {
                let lost: f64 = text.split(' ').next()?.parse().ok()?;
                Some([count, (count * (1.0 - lost)).round()])
            }
        }
    }
}

/// The summary at the end of tapline's output.
pub fn summary(text: &str) -> Value {
    let events = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let found = { events }.find(|event: &Value| event["event"] == "summary");
    found.unwrap_or_else(|| panic!("tapline prints no summary: {text}"))
}
