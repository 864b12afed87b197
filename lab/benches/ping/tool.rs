//! The ping programs: their command lines and output parsers.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde_json::Value;
use tapline_lab::{Host, tool};

use crate::harness::{BenchOptions, Report, Running, version};
use crate::peer::{BPFPINGER, PINGER};
use crate::rig::{PEER, Rig};

/// The first of a million addresses of the peer.
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 64, 0, 0);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tapline,
    Ping,
    Fping,
    Bpfpinger,
    Pinger,
    Zmap,
    Masscan,
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
            (Kind::Bpfpinger, "bpfpinger", BPFPINGER.build(), ""),
            (Kind::Pinger, "pinger", PINGER.build(), ""),
            (Kind::Zmap, "zmap", found("zmap"), "--version"),
            (Kind::Masscan, "masscan", found("masscan"), "--version"),
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
            Kind::Bpfpinger | Kind::Pinger => format!("{target} {count} {interval_ms}"),
            Kind::Zmap | Kind::Masscan => unreachable!("a scanner has no rate per target"),
        }
    }

    /// The same for tapline's XDP back end.
    pub fn steady_by_xdp(rig: &Rig, target: &str, count: u32, interval_ms: u32) -> String {
        let link = rig.interface();
        format!(
            "ping --backend xdp -I {link} --json -q -s 16 -c {count} -i {interval_ms}ms {target}"
        )
    }

    /// Arguments for `count` probes as fast as possible, for those whose rate is compared with the XDP back end's. ping and
    /// fping print a summary, the others nothing.
    pub fn fastest(&self, rig: &Rig, count: u64) -> String {
        let link = rig.interface();
        let (from, mac) = (rig.left.interface().v4, rig.right.interface().mac);
        match self.kind {
            Kind::Zmap => format!(
                "-q -M icmp_echo_time -i {link} -G {mac} -S {from} -T 1 -r 10000000 -c 1 -n {count} -b /dev/null \
                 -o /dev/null 10.64.0.0/12"
            ),
            Kind::Masscan => {
                let mac = mac.to_string().replace(':', "-");
                let last = Ipv4Addr::from_bits(FIRST.to_bits() + (count - 1) as u32);
                format!(
                    "--ping {FIRST}-{last} --rate 10000000 -e {link} --router-mac {mac} --adapter-ip {from} --wait 1 \
                     -oL /dev/null"
                )
            }
            Kind::Fping => "-q -b 16 -i 0 -c 1 -g 10.2.0.1 10.2.234.96".into(),
            _ => format!("-f -n -q -s 16 -l 100 -c {count} {PEER}"),
        }
    }

    /// zmap's arguments for a probe to each of `count` targets as fast as possible, with a row for each that answers.
    pub fn sweep(&self, rig: &Rig, count: u64) -> String {
        let arguments = self.fastest(rig, count);
        arguments.replace(" -o /dev/null", " -o -")
    }

    /// Whether it probes each of many targets once, and has no steady rate per target.
    pub fn is_scanner(&self) -> bool {
        matches!(self.kind, Kind::Zmap | Kind::Masscan)
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
            Kind::Bpfpinger | Kind::Pinger => {
                let lost: f64 = text.split(' ').next()?.parse().ok()?;
                Some([count, (count * (1.0 - lost)).round()])
            }
            Kind::Zmap | Kind::Masscan => None,
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
