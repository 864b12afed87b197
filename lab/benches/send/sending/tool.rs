//! The sending programs and their command lines.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tapline_lab::tool;

use super::peer::Peers;
use super::rig::{FILE_PACKETS, Rig, Traffic};
use crate::harness::version;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `--path`, if the program is to be told one.
    Tapline(Option<String>),
    /// tapline reads the file into memory before it sends.
    Preload,
    /// tapline makes the packets, instead of reading a file.
    Generator,
    Tcpreplay {
        preload: bool,
    },
    Trafgen,
    Sendmmsg {
        bypass: bool,
    },
    SendmmsgFile,
    LiveFrames,
}

/// A program that sends.
#[derive(Clone, Debug)]
pub struct Sender {
    pub kind: Kind,
    /// Its name in the tables.
    pub name: String,
    /// `None` if it is not installed.
    pub program: Option<PathBuf>,
}

impl Sender {
    pub fn tapline(program: &Path, path: Option<&str>) -> Self {
        let flag = path.map_or(String::new(), |path| format!(" --path {path}"));
        Self {
            kind: Kind::Tapline(path.map(Into::into)),
            name: format!("tapline{flag}"),
            program: Some(program.into()),
        }
    }

    pub fn preload(program: &Path) -> Self {
        Self {
            kind: Kind::Preload,
            name: "tapline --preload".into(),
            program: Some(program.into()),
        }
    }

    pub fn generator(program: &Path) -> Self {
        Self {
            kind: Kind::Generator,
            name: "tapline --raw".into(),
            program: Some(program.into()),
        }
    }

    pub fn tcpreplay(preload: bool) -> Self {
        let name = if preload {
            "tcpreplay --preload-pcap"
        } else {
            "tcpreplay"
        };
        Self {
            kind: Kind::Tcpreplay { preload },
            name: name.into(),
            program: tool::find("tcpreplay"),
        }
    }

    pub fn trafgen() -> Self {
        Self {
            kind: Kind::Trafgen,
            name: "trafgen".into(),
            program: tool::find("trafgen"),
        }
    }

    pub fn sendmmsg(peers: &Peers, bypass: bool) -> Self {
        let name = if bypass {
            "sendmmsg in C, without qdisc"
        } else {
            "sendmmsg in C"
        };
        Self {
            kind: Kind::Sendmmsg { bypass },
            name: name.into(),
            program: Some(peers.path("sendmmsg")),
        }
    }

    pub fn sendmmsg_file(peers: &Peers) -> Self {
        Self {
            kind: Kind::SendmmsgFile,
            name: "sendmmsg in C, the file from memory".into(),
            program: Some(peers.path("sendmmsg_file")),
        }
    }

    pub fn live_frames(peers: &Peers) -> Self {
        Self {
            kind: Kind::LiveFrames,
            name: "live frames in C".into(),
            program: Some(peers.path("live_frames")),
        }
    }

    pub fn is_tapline(&self) -> bool {
        matches!(
            self.kind,
            Kind::Tapline(_) | Kind::Preload | Kind::Generator
        )
    }

    /// Whether it is a peer of every path of tapline. The C program with live frames is a bound instead: it cannot send
    /// through a far end without XDP.
    pub fn is_peer(&self) -> bool {
        !self.is_tapline() && self.kind != Kind::LiveFrames
    }

    /// Whether it sends the packets of a file. The others send one frame over and over.
    pub fn sends_file(&self) -> bool {
        matches!(
            self.kind,
            Kind::Tapline(_) | Kind::Preload | Kind::Tcpreplay { .. } | Kind::SendmmsgFile
        )
    }

    /// The number of packets that it really sends if it is to send about `count`: it sends whole files.
    pub fn whole(count: u64) -> u64 {
        count.div_ceil(FILE_PACKETS).max(1) * FILE_PACKETS
    }

    /// A command that sends `count` packets as fast as possible; a multiple of the packets in the file.
    pub fn command(&self, rig: &Rig, traffic: &Traffic, count: u64) -> Command {
        let passes = count.div_ceil(FILE_PACKETS);
        let interface = rig.interface();
        let index = rig.near.interface().index;
        let mut command = self.bare(rig);
        let Traffic {
            pcap, config, raw, ..
        } = traffic;
        match &self.kind {
            Kind::Tapline(path) => {
                command.args(["send", "-i", &interface, "--json", "-r"]);
                command.arg(pcap).args(["--loop", &passes.to_string()]);
                if let Some(path) = path {
                    command.args(["--path", path]);
                }
            }
            Kind::Preload => {
                command.args(["send", "-i", &interface, "--json", "--preload", "-r"]);
                command.arg(pcap).args(["--loop", &passes.to_string()]);
            }
            Kind::Generator => {
                let frame = fs::read(raw).expect("the frame");
                let digits: Vec<_> = frame.iter().map(|byte| format!("{byte:02x}")).collect();
                command.args(["send", "-i", &interface, "--json", "--raw"]);
                command.arg(digits.concat());
                command.args(["-c", &count.to_string()]);
            }
            Kind::Tcpreplay { preload } => {
                // Without statistics of flows it is faster.
                command.args(["-i", &interface, "--topspeed", "--no-flow-stats"]);
                command.args(["--loop", &passes.to_string()]);
                command.args(preload.then_some("--preload-pcap")).arg(pcap);
            }
            Kind::Trafgen => {
                command.args(trafgen_flags(&interface)).arg(config);
                command.args(["--num", &count.to_string()]);
            }
            Kind::Sendmmsg { bypass } => {
                command.arg(index.to_string()).arg(raw);
                command.arg(count.to_string());
                command.args(bypass.then_some("bypass"));
            }
            Kind::SendmmsgFile => {
                command.arg(index.to_string()).arg(pcap);
                command.arg(count.to_string());
            }
            Kind::LiveFrames => {
                command.arg(index.to_string()).arg(raw);
                command.arg(count.to_string());
            }
        }
        command
    }

    /// The program without arguments, on the sending host.
    pub fn bare(&self, rig: &Rig) -> Command {
        let program = self.program.as_ref().expect("it is installed");
        rig.near.command(program.to_str().expect("a path of text"))
    }

    /// Its version and command line.
    pub fn description(&self, rig: &Rig, traffic: &Traffic) -> String {
        let Some(program) = &self.program else {
            return format!("{}: not installed", self.name);
        };
        let command = self.command(rig, traffic, FILE_PACKETS);
        let words = command.get_args().map(|word| word.to_string_lossy());
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let words: Vec<_> = [name].into_iter().chain(words).collect();
        let line = words.join(" ");
        let line = line.replace(&format!("{}/", rig.folder().display()), "");
        match &self.kind {
            Kind::Sendmmsg { .. } | Kind::SendmmsgFile | Kind::LiveFrames => {
                format!("{}: `{line}`", self.name)
            }
            _ => {
                let version = version(program, "--version", 1).unwrap_or_default();
                format!("{}: {version}; `{line}`", self.name)
            }
        }
    }
}

/// One process, which changes neither the limits of this machine's sockets nor its interrupts.
pub fn trafgen_flags(interface: &str) -> [&str; 8] {
    [
        "--dev",
        interface,
        "--cpus",
        "1",
        "--no-sock-mem",
        "--notouch-irq",
        "--no-cpu-stats",
        "--conf",
    ]
}

/// The paths that a build of tapline knows: those that it names when it is given an unknown one. None if it has no such
/// flag.
pub fn tapline_paths(program: &Path) -> Vec<String> {
    let mut command = Command::new(program);
    command.args(["send", "-i", "none", "-r", "none", "--path", "?"]);
    let output = command.output().expect("tapline runs");
    paths_in(&String::from_utf8_lossy(&output.stderr))
}

/// From `… use auto, xdp or bypass`.
fn paths_in(message: &str) -> Vec<String> {
    let Some((_, names)) = message.split_once(": use ") else {
        return Vec::new();
    };
    // Behind the names there may be a hint in parentheses.
    let end = names.find(['(', '\n']).unwrap_or(names.len());
    let names = names[..end].trim_end().replace(" or ", ", ");
    names.split(", ").map(Into::into).collect()
}

/// Whether a build of tapline generates packets.
pub fn has_generator(program: &Path) -> bool {
    let output = Command::new(program).args(["send", "--help"]).output();
    let output = output.expect("tapline runs");
    String::from_utf8_lossy(&output.stdout).contains("--flows")
}
