//! The control socket of a running capture.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tapline::capture::{
    ChangeError, Control as CaptureControl, DeliveryMode, FileAnswer, FileControl,
    FileControlError, LiveCounters, Mode, RecorderTrigger,
};
use tapline::control::{
    ControlError, ControlReply, ControlRequest, ControlSocket, ControlStats, ControlledInterface,
    Peer, Setting, directory, passed_sockets,
};
use tapline::{Expression, Stop, Stopper};

use super::settings::{Deliveries, sampling, shown};
use crate::args::{CaptureArgs, direction, mode as parse_mode};
use crate::capture::Source;
use crate::failure::{Exit, Failure, chain};
use crate::output;
use crate::values::moment;
use tapline::file::write::Format;
use tapline::filter::{DEFAULT_SNAPLEN, SystemNames};

/// Longest wait for the reader to finish the ring before a change.
const SETTLE: Duration = Duration::from_secs(10);

/// Opens the control socket. `None` with `--no-control`, or if there is no place for a socket that nobody asked for by name.
pub fn socket(args: &CaptureArgs) -> Result<Option<ControlSocket>, Failure> {
    if args.no_control {
        return Ok(None);
    }
    if let Some(socket) = passed_sockets()?.pop() {
        return Ok(Some(ControlSocket::from_listening(socket)));
    }
    // Changes take a thread with more privileges, and another user cannot remove the socket.
    if args.user.user.is_some() && args.name.is_none() {
        return Ok(None);
    }
    match directory().and_then(|place| ControlSocket::listen(&place, &name(args))) {
        Ok(socket) => Ok(Some(socket)),
        Err(error) if args.name.is_some() => Err(failure(&error)),
        Err(error) => {
            if !args.quiet {
                // A closed standard error is no reason to end.
                let _ = writeln!(io::stderr(), "{}", without_control(&error));
            }
            Ok(None)
        }
    }
}

/// A control socket that nobody serves yet.
pub struct Control {
    socket: ControlSocket,
    server: Server,
}

impl Control {
    /// Starts the thread that carries changes out, with the privileges of the calling thread.
    pub fn open(
        args: &CaptureArgs,
        socket: ControlSocket,
        capture: &mut Source,
        (delivery, spin): (DeliveryMode, Duration),
        live: &LiveCounters,
        stop: &Stop,
    ) -> io::Result<Self> {
        Ok(Self {
            socket,
            server: Server {
                name: name(args),
                control: capture.control()?,
                deliveries: Deliveries::new(delivery),
                spin,
                live: live.clone(),
                file_controls: Vec::new(),
                triggers: Vec::new(),
                stopper: stop.stopper(),
                filter: args.filter.join(" "),
                takes_interfaces: capture.is_hotplug() || takes_interfaces(args),
                start_ns: moment::now_ns(),
            },
        })
    }

    /// Path of the socket.
    pub fn path(&self) -> Option<String> {
        let path = self.socket.path()?;
        Some(path.to_string_lossy().into_owned())
    }

    /// Answers requests from now on.
    pub fn serve(
        self,
        file_controls: Vec<FileControl>,
        triggers: Vec<RecorderTrigger>,
    ) -> io::Result<RunningControl> {
        let Self { socket, mut server } = self;
        server.file_controls = file_controls;
        server.triggers = triggers;
        let stop = Stop::new()?;
        let stopper = stop.stopper();
        let thread = thread::Builder::new().name("control".into());
        let thread = thread.spawn(move || {
            // Without a socket the capture goes on.
            let _ = socket.serve(&stop, |request, peer| server.answer(&request, peer));
        })?;
        Ok(RunningControl {
            stopper,
            thread: Some(thread),
        })
    }
}

/// A control socket that is served until this is dropped.
pub struct RunningControl {
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

impl Drop for RunningControl {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            // It does not panic.
            let _ = thread.join();
        }
    }
}

/// Packets of a pcap file do not say to which interface they belong.
fn takes_interfaces(args: &CaptureArgs) -> bool {
    let path = args.output.write.as_ref();
    path.is_none_or(|path| output::format(&args.output, path) == Format::Pcapng)
}

/// The name of the capture; without one the first interface or namespace, and the process ID.
fn name(args: &CaptureArgs) -> String {
    if let Some(name) = &args.name {
        return name.clone();
    }
    let of = args.interface.first().or(args.netns.first());
    let mut name = of.cloned().unwrap_or_default();
    name.retain(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    name.truncate(32);
    format!("{name}-{}", std::process::id())
}

fn without_control(error: &ControlError) -> String {
    format!(
        "not controllable by 'tapline ctl': {} (--name NAME selects another name, --no-control none)",
        chain(error)
    )
}

pub fn failure(error: &ControlError) -> Failure {
    let exit = match error {
        ControlError::Name { .. } => Exit::Usage,
        ControlError::Socket { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            Exit::Privilege
        }
        _ => Exit::Failed,
    };
    Failure::new(exit, chain(error))
}

struct Server {
    name: String,
    control: CaptureControl,
    deliveries: Deliveries,
    /// Of deliveries other than batches.
    spin: Duration,
    live: LiveCounters,
    /// One, or one for each reader.
    file_controls: Vec<FileControl>,
    /// Of the flight recorders.
    triggers: Vec<RecorderTrigger>,
    stopper: Stopper,
    filter: String,
    /// Whether the output takes interfaces later.
    takes_interfaces: bool,
    start_ns: u64,
}

impl Server {
    fn answer(&mut self, request: &ControlRequest, peer: Peer) -> ControlReply {
        let done = match request {
            ControlRequest::Stats => return ControlReply::Stats(Box::new(self.stats())),
            ControlRequest::Set { setting } => self.set(setting, peer),
            ControlRequest::Add { interface } => self.add(interface, peer),
            ControlRequest::Remove { interface } => self.remove(interface, peer),
            ControlRequest::Rotate => self.rotate(),
            ControlRequest::Trigger => self.trigger(),
            ControlRequest::Stop => {
                let note = format!("stop{}", by(peer));
                // A reader that is held up, e.g. by a pipe, writes the note at its end.
                drop(self.ask_files(|file| file.note(note.as_str())));
                self.stopper.stop();
                Ok(())
            }
            _ => Err("this version does not support that".to_owned()),
        };
        match done {
            Ok(()) => ControlReply::Done,
            Err(error) => ControlReply::Refused { error },
        }
    }

    fn stats(&self) -> ControlStats {
        let settings = self.control.settings();
        let modes = settings.as_ref().map(|settings| settings.modes.as_slice());
        let accounts = self.live.accounts().into_iter();
        let interfaces = accounts.map(|live| ControlledInterface {
            mode: modes.and_then(|modes| {
                // An interface that was removed has no mode any more.
                let own = modes.iter().find(|(name, _)| *name == live.link);
                own.map(|(_, mode)| mode.name().to_owned())
            }),
            name: live.link,
            delivered: live.account.delivered,
            bytes: live.bytes,
            filtered: live.account.filtered,
            lost: live.account.lost,
        });
        let files = self.file_controls.iter().filter_map(FileControl::path);
        ControlStats {
            name: self.name.clone(),
            pid: std::process::id(),
            uid: rustix::process::geteuid().as_raw(),
            start_ns: self.start_ns,
            filter: self.filter.clone(),
            settings: settings.as_ref().map(shown),
            files: files
                .map(|path| path.to_string_lossy().into_owned())
                .collect(),
            interfaces: interfaces.collect(),
        }
    }

    /// Changes a setting, waits until no packet is left in the ring before, and notes it in the file.
    fn set(&mut self, setting: &Setting, peer: Peer) -> Result<(), String> {
        let control = &self.control;
        let what = match setting {
            Setting::Filter(text) => {
                let names = Arc::new(SystemNames::new());
                let filter = (!text.is_empty()).then(|| Expression::new(text, names).into());
                told(control.set_filter(filter))?;
                self.filter.clone_from(text);
                format!("filter {text:?}")
            }
            Setting::Snaplen(bytes) => {
                // As with 'capture -s', 0 is the default.
                let bytes = if *bytes == 0 { DEFAULT_SNAPLEN } else { *bytes };
                told(control.set_snaplen(bytes))?;
                format!("snaplen {bytes}")
            }
            Setting::BufferBytes(bytes) => {
                let size = usize::try_from(*bytes).map_err(|error| error.to_string())?;
                told(control.set_buffer(size))?;
                format!("buffer {bytes}")
            }
            Setting::Sample(text) => {
                told(control.set_sampling(sampling(text)?))?;
                format!("sample {text}")
            }
            Setting::Direction(text) => {
                told(control.set_direction(direction(text)?))?;
                format!("direction {text}")
            }
            Setting::StallNs(ns) => {
                let time = Duration::from_nanos(*ns);
                told(control.set_stall(Some(time)))?;
                format!("stall {time:?}")
            }
            Setting::Delivery(_) | Setting::MinBytes(_) | Setting::TimeoutNs(_) => {
                let (delivery, what) = self.deliveries.changed(setting)?;
                let spin = match delivery {
                    DeliveryMode::Batch { .. } => Duration::ZERO,
                    _ => self.spin,
                };
                told(control.set_delivery(delivery, spin))?;
                self.deliveries.set(delivery);
                what
            }
            Setting::Mode { interface, mode } => {
                let of =
                    (interface.as_ref()).map_or_else(String::new, |name| format!("dev {name} "));
                let what = format!("set {of}mode {mode}");
                let modes = || control.settings().map(|settings| settings.modes);
                let before = modes();
                let changed = told(control.set_mode(interface.clone(), parse_mode(mode)?));
                if changed.is_err() && has_changed(before, modes()) {
                    self.complete(&format!("{what}, not of all interfaces"), peer);
                }
                changed?;
                what
            }
            _ => return Err("this version does not support that".to_owned()),
        };
        self.complete(&what, peer);
        Ok(())
    }

    /// Captures from another interface, too.
    fn add(&mut self, interface: &str, peer: Peer) -> Result<(), String> {
        if !self.takes_interfaces || !self.triggers.is_empty() {
            let line = "a pcap file and a flight recorder take no interfaces later (write pcapng)";
            return Err(line.to_owned());
        }
        told(self.control.add_interface(interface))?;
        self.complete(&format!("add {interface}"), peer);
        Ok(())
    }

    /// Captures from an interface no more.
    fn remove(&mut self, interface: &str, peer: Peer) -> Result<(), String> {
        told(self.control.remove_interface(interface))?;
        self.complete(&format!("remove {interface}"), peer);
        Ok(())
    }

    /// Waits until the reader follows a change, and notes it in the file.
    fn complete(&self, what: &str, peer: Peer) {
        // A reader that is held up longer, e.g. by a pipe, has the change nevertheless.
        self.control.wait_for(SETTLE);
        self.note(&format!("{what}{}", by(peer)));
    }

    fn trigger(&self) -> Result<(), String> {
        if self.triggers.is_empty() {
            return Err("the capture has no flight recorder (see 'capture --record')".to_owned());
        }
        self.triggers.iter().for_each(RecorderTrigger::trigger);
        self.control.wake();
        Ok(())
    }

    fn rotate(&self) -> Result<(), String> {
        if self.file_controls.is_empty() {
            return Err("the capture writes no file".to_owned());
        }
        let answers = self.ask_files(FileControl::start_next);
        answers.into_iter().try_for_each(|answer| {
            answer.wait().map_err(|error| match error {
                FileControlError::NoRotation => {
                    "the file has no rotation (start the capture with a --rotate flag)".to_owned()
                }
                error => chain(&error),
            })
        })
    }

    /// Adds a note to each file. The end of the capture is no failure of the change.
    fn note(&self, text: &str) {
        for answer in self.ask_files(|file| file.note(text)) {
            let _ = answer.wait();
        }
    }

    /// Asks all files the same, and wakes their readers.
    fn ask_files(&self, request: impl Fn(&FileControl) -> FileAnswer) -> Vec<FileAnswer> {
        let answers = self.file_controls.iter().map(request).collect();
        self.control.wake();
        answers
    }
}

/// Whether an interface that was captured before and is captured now has another mode. Others may come and go meanwhile.
fn has_changed(before: Option<Vec<(String, Mode)>>, now: Option<Vec<(String, Mode)>>) -> bool {
    let (Some(mut before), Some(mut now)) = (before, now) else {
        return false;
    };
    let has = |modes: &[(String, Mode)], name: &str| modes.iter().any(|(other, _)| other == name);
    before.retain(|(name, _)| has(&now, name));
    now.retain(|(name, _)| has(&before, name));
    before != now
}

fn told(result: Result<(), ChangeError>) -> Result<(), String> {
    result.map_err(|error| chain(&error))
}

fn by(peer: Peer) -> String {
    format!(" by uid {}, pid {}", peer.uid, peer.pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_that_come_or_go_do_not_count_as_changed() {
        let modes = |list: &[(&str, Mode)]| {
            let owned = list.iter().map(|&(name, mode)| (name.to_owned(), mode));
            Some(owned.collect::<Vec<_>>())
        };
        let (mirror, dropping) = (Mode::Mirror, Mode::Drop);
        let before = || modes(&[("eth0", mirror), ("eth1", mirror)]);
        for (now, expected) in [
            (before(), false),
            (modes(&[("eth1", mirror)]), false),
            (modes(&[("eth1", mirror), ("eth2", dropping)]), false),
            (modes(&[("eth0", mirror), ("eth1", dropping)]), true),
            (modes(&[("eth1", dropping)]), true),
            (None, false),
        ] {
            assert_eq!(has_changed(before(), now.clone()), expected, "{now:?}");
        }
    }
}
