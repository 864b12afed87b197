//! Programs that ask hosts for echoes: how each is told to do the same, and what each says.

use std::io::{PipeReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use abi::process;
use serde_json::Value;
use tapline_lab::{Host, tool};

use crate::harness::BenchOptions;
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
    pub program: PathBuf,
}

/// A program at work.
#[derive(Debug)]
pub struct Running {
    pub child: Child,
    said: PipeReader,
}

/// What a program said and used.
#[derive(Debug)]
pub struct Finished {
    pub text: String,
    pub cpu: Duration,
}

impl Running {
    /// Waits for its end.
    pub fn finish(mut self) -> Finished {
        let mut text = String::new();
        self.said.read_to_string(&mut text).expect("text");
        let ended = process::wait(self.child).expect("it ends");
        Finished {
            text,
            cpu: ended.cpu,
        }
    }
}

/// What a program counted.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    pub sent: f64,
    pub received: f64,
}

impl Tool {
    /// Those that are there; why the others are not is told.
    pub fn all(options: &BenchOptions) -> Vec<Self> {
        let program = &options.tapline[0];
        assert!(
            program.is_file(),
            "{} is missing: cargo build --release -p tapline-cli",
            program.display()
        );
        let mut tools = vec![Self {
            kind: Kind::Tapline,
            program: program.canonicalize().expect("its path"),
        }];
        for (kind, name) in [(Kind::Ping, "ping"), (Kind::Fping, "fping")] {
            match tool::find(name) {
                Some(program) => tools.push(Self { kind, program }),
                None => println!("- {name} is not installed ({})", tool::package(name)),
            }
        }
        match peer::build() {
            Ok(program) => tools.push(Self {
                kind: Kind::Bpfpinger,
                program,
            }),
            Err(reason) => println!("- bpfpinger is not measured: {reason}"),
        }
        tools
    }

    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Tapline => "tapline ping",
            Kind::Ping => "ping",
            Kind::Fping => "fping",
            Kind::Bpfpinger => "bpfpinger",
        }
    }

    /// What its `--version` says.
    pub fn version(&self) -> Option<String> {
        let flag = match self.kind {
            Kind::Ping => "-V",
            Kind::Bpfpinger => return None,
            _ => "--version",
        };
        let output = Command::new(&self.program).arg(flag).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Some(text.lines().next()?.trim().to_owned())
    }

    /// Starts it on `host` with these arguments.
    pub fn start(&self, host: &Host, arguments: &str) -> Running {
        let (said, outputs) = std::io::pipe().expect("a pipe");
        let mut command = host.command(self.program.to_str().expect("a path of text"));
        command.args(arguments.split_whitespace());
        command
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(outputs.try_clone().expect("a pipe"))
            .stderr(outputs);
        let child = command.spawn().expect("it starts");
        Running { child, said }
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

    /// Finds the counts in what it printed.
    pub fn counted(&self, text: &str, count: u32) -> Option<Counted> {
        match self.kind {
            Kind::Tapline => {
                let summary = summary(text)?;
                Some(Counted {
                    sent: summary["sent"].as_f64()?,
                    received: summary["received"].as_f64()?,
                })
            }
            Kind::Ping => {
                let (sent, rest) = text.split_once(" packets transmitted, ")?;
                let (received, _) = rest.split_once(' ')?;
                Some(Counted {
                    sent: sent.rsplit('\n').next()?.parse().ok()?,
                    received: received.parse().ok()?,
                })
            }
            Kind::Fping => {
                let mut all = Counted {
                    sent: 0.0,
                    received: 0.0,
                };
                for line in text.lines() {
                    let Some((_, counts)) = line.split_once(" : xmt/rcv/%loss = ") else {
                        continue;
                    };
                    let mut counts = counts.split('/');
                    all.sent += counts.next()?.parse::<f64>().ok()?;
                    all.received += counts.next()?.parse::<f64>().ok()?;
                }
                Some(all)
            }
            Kind::Bpfpinger => {
                let lost: f64 = text.split(' ').next()?.parse().ok()?;
                let count = f64::from(count);
                Some(Counted {
                    sent: count,
                    received: (count * (1.0 - lost)).round(),
                })
            }
        }
    }
}

/// The summary that tapline ends with.
pub fn summary(text: &str) -> Option<Value> {
    let mut events = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    events.find(|event: &Value| event["event"] == "summary")
}
