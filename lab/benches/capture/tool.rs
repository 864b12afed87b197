//! The readers: their command lines and output parsers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use tapline_lab::tool;

use crate::harness::{Capturer, version};
use crate::rig::{Arrival, DROP_FRAMES, DROP_RING_MIB, MOST_FRAMES, RING_MIB, Rig, SNAPLEN};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tapline,
    TaplineRingbuf,
    TaplineDrop,
    /// With the buffer that it chooses itself.
    TaplineDropAuto,
    TaplineNoSandbox,
    Tcpdump,
    Dumpcap,
    NetsniffNg,
    Xdpdump,
}

#[derive(Clone, Debug)]
pub struct Tool {
    pub kind: Kind,
    /// Its name in the table.
    pub name: String,
    /// `None` if it is not installed.
    pub program: Option<PathBuf>,
    /// Its Debian package.
    pub package: &'static str,
    /// A library that is loaded before those that it asks for.
    pub preload: Option<PathBuf>,
    /// The file of a control group to which it writes its number when it starts.
    pub group: Option<PathBuf>,
}

impl Tool {
    /// The given builds of tapline, then the others.
    pub fn all(tapline: &[PathBuf]) -> Vec<Self> {
        let own = tapline.iter().enumerate().flat_map(|(number, path)| {
            [
                (Kind::Tapline, ""),
                (Kind::TaplineRingbuf, " --backend xdp-ringbuf"),
                (Kind::TaplineDrop, " --mode drop"),
            ]
            .map(|(kind, flags)| Self {
                kind,
                name: match number {
                    0 => format!("tapline{flags}"),
                    _ => format!("tapline{flags} ({})", path.display()),
                },
                program: Some(path.clone()),
                package: "",
                preload: None,
                group: None,
            })
        });
        let peers = [
            (Kind::Tcpdump, "tcpdump"),
            (Kind::Dumpcap, "dumpcap"),
            (Kind::NetsniffNg, "netsniff-ng"),
            (Kind::Xdpdump, "xdpdump"),
        ]
        .map(|(kind, name)| Self::peer(kind, name));
        own.chain(peers).collect()
    }

    /// The same build with other flags.
    pub fn with(&self, kind: Kind, name: &str) -> Self {
        let name = name.to_owned();
        Self {
            kind,
            name,
            ..self.clone()
        }
    }

    /// A program of Debian.
    pub fn peer(kind: Kind, name: &'static str) -> Self {
        Self {
            kind,
            name: name.into(),
            program: tool::find(name),
            package: tool::package(name),
            preload: None,
            group: None,
        }
    }

    /// A command of the program on the receiver.
    ///
    /// # Panics
    /// If it is not installed.
    pub fn command(&self, rig: &Rig) -> Command {
        let program = self.program.as_ref().expect("it is installed");
        let program = program.to_str().expect("a path of text");
        let mut command = match &self.group {
            None => rig.receiver.command(program),
            Some(group) => {
                let mut shell = rig.receiver.command("/bin/sh");
                shell.args(["-c", "echo $$ >\"$0\" && exec \"$@\""]);
                shell.arg(group).arg(program);
                shell
            }
        };
        match &self.preload {
            Some(library) => command.env("LD_PRELOAD", library),
            None => command.env_remove("LD_PRELOAD"),
        };
        command
    }

    pub fn is_peer(&self) -> bool {
        matches!(
            self.kind,
            Kind::Tcpdump | Kind::Dumpcap | Kind::NetsniffNg | Kind::Xdpdump
        )
    }

    /// Frames of a trial at full speed.
    pub fn most_frames(&self) -> u64 {
        match self.kind {
            Kind::TaplineDrop | Kind::TaplineDropAuto => DROP_FRAMES,
            _ => MOST_FRAMES,
        }
    }

    /// Which program sees the frames first.
    pub fn arrival(&self) -> Arrival {
        match self.kind {
            Kind::TaplineRingbuf | Kind::TaplineDrop | Kind::TaplineDropAuto | Kind::Xdpdump => {
                Arrival::Reader
            }
            _ => Arrival::Counted,
        }
    }

    /// Its version and command line, or the package to install.
    pub fn description(&self, rig: &Rig) -> String {
        let Some(path) = &self.program else {
            return format!(
                "{}: not installed (apt-get install {})",
                self.name, self.package
            );
        };
        // libpcap does most of tcpdump's work, so print its version too.
        let lines = if self.kind == Kind::Tcpdump { 2 } else { 1 };
        let version = version(path, "--version", lines).unwrap_or_default();
        let arguments = self.arguments(rig, "FILE".as_ref(), "N").into_iter();
        let words = [OsString::from(path)].into_iter().chain(arguments);
        let words: Vec<_> = words
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        format!("{}: {version}; `{}`", self.name, words.join(" "))
    }

    /// Arguments to capture `count` packets from the rig into `file`. The table shows letters for both.
    pub fn arguments(&self, rig: &Rig, file: &Path, count: &str) -> Vec<OsString> {
        let interface = rig.interface();
        let text = match self.kind {
            Kind::Tapline => format!(
                "capture -i {interface} -s {SNAPLEN} -c {count} --backend packet-v3 \
                 --buffer {RING_MIB}M --json -w"
            ),
            Kind::TaplineRingbuf => format!(
                "capture -i {interface} --direction in -s {SNAPLEN} -c {count} \
                 --backend xdp-ringbuf --xdp native --buffer {RING_MIB}M --json -w"
            ),
            Kind::TaplineDrop => format!(
                "capture -i {interface} -s {SNAPLEN} -c {count} --mode drop --xdp native \
                 --buffer {DROP_RING_MIB}M --json -w"
            ),
            Kind::TaplineDropAuto => format!(
                "capture -i {interface} -s {SNAPLEN} -c {count} --mode drop --xdp native --json -w"
            ),
            Kind::TaplineNoSandbox => format!(
                "capture -i {interface} -s {SNAPLEN} -c {count} --backend packet-v3 \
                 --buffer {RING_MIB}M --no-sandbox --json -w"
            ),
            // -Z: otherwise it switches to a user without write access here.
            Kind::Tcpdump => {
                let kib = RING_MIB * 1024;
                format!("-i {interface} -n -s {SNAPLEN} -c {count} -B {kib} -Z root -w")
            }
            Kind::Dumpcap => {
                format!("-i {interface} -q -s {SNAPLEN} -c {count} -B {RING_MIB} -w")
            }
            // netsniff-ng has no snaplen flag; its filter truncates packets instead. It gathers its output from the
            // ring itself, so with /dev/null it never touches the packet bytes. -T: nanoseconds, like the others. -N,
            // -A, -Q: keep it from changing time stamping, memory limits and interrupts of the machine.
            Kind::NetsniffNg => format!(
                "--in {interface} --num {count} --ring-size {RING_MIB}MiB --filter {} --silent \
                 -T 0xa1b23c4d -N -A -Q --out",
                rig.snaplen_filter().display()
            ),
            // It has no limit of packets and no size of its ring: it is interrupted.
            Kind::Xdpdump => format!("-i {interface} --load-xdp-program -s {SNAPLEN} -w"),
        };
        let mut arguments: Vec<OsString> = text.split_whitespace().map(Into::into).collect();
        arguments.push(file.into());
        arguments
    }

    /// The program, whatever its flags.
    pub fn capturer(&self) -> Capturer {
        match self.kind {
            Kind::Tapline
            | Kind::TaplineRingbuf
            | Kind::TaplineDrop
            | Kind::TaplineDropAuto
            | Kind::TaplineNoSandbox => Capturer::Tapline,
            Kind::Tcpdump => Capturer::Tcpdump,
            Kind::Dumpcap => Capturer::Dumpcap,
            Kind::NetsniffNg => Capturer::NetsniffNg,
            Kind::Xdpdump => Capturer::Xdpdump,
        }
    }
}
