//! What a command may still do once it is set up: from then on it parses what strangers sent.
//!
//! Landlock leaves it the files that it named, and seccomp the system calls of its list (`calls`). Both hold for the calling
//! thread and the threads that it starts from then on, until they end.

#[cfg(debug_assertions)]
mod attacker;
mod calls;
mod files;
mod filters;
#[cfg(debug_assertions)]
mod variation;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};

use rustix::thread::{CapabilitySet, set_no_new_privs};
use serde_json::Value;
use tapline::file::write::read_time_zone;

use crate::args::SandboxArgs;
use crate::failure::{Exit, Failure};
use crate::output::is_stdout;
use crate::process::privilege;
use crate::values::moment::local_zone;

#[cfg(feature = "objects")]
pub use calls::UPLOADS;
pub use calls::{
    CAPTURE, COLUMNS, COMMAND, COUNT, CTL, EXPLAIN, EXTCAP, FILTER, FLOWS, INDEX, IPFIX, LATENCY,
    List, METRICS, MONITOR, PING, PING_XDP, PROCESSES, READ, RESPOND, RPCAP, SEND, SERVE, SIGNALS,
};

/// The files, system calls and other rights that a command keeps in its sandbox.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a need of its own")]
pub struct Sandbox {
    calls: &'static List,
    /// Files and directories.
    reads: Vec<PathBuf>,
    /// Directories in which it creates, writes and removes files, and single files.
    writes: Vec<PathBuf>,
    /// The same, but it does not read there.
    outputs: Vec<PathBuf>,
    /// Directories in which it also creates directories.
    grows: Vec<PathBuf>,
    /// Directories from which it removes empty ones.
    removes: Vec<PathBuf>,
    opens_sockets: bool,
    looks_names_up: bool,
    /// To which it connects by TCP.
    ports: Vec<u16>,
    inspects_processes: bool,
    prints_local_time: bool,
}

/// What the kernel enforces on a thread that has entered its sandbox.
#[derive(Clone, Copy, Debug)]
pub struct Enforced {
    /// How much of Landlock; `None` without it.
    landlock: Option<files::FileRules>,
    seccomp: bool,
}

impl Enforced {
    /// What applies with `--no-sandbox`.
    const NOTHING: Self = Self {
        landlock: None,
        seccomp: false,
    };

    /// Adds it to the start event: whether both apply, and what does not, by name.
    pub fn add_to(self, event: &mut Value) {
        event["sandbox"] = (self.landlock.is_some() && self.seccomp).into();
        let mut lacks = match self.landlock {
            None => vec!["landlock"],
            Some(rules) => rules.missing(),
        };
        if !self.seccomp {
            lacks.push("seccomp");
        }
        event["sandbox_lacks"] = lacks.into();
    }
}

impl Sandbox {
    /// Nothing but the system calls `calls`, and the files of terminals.
    pub fn new(calls: &'static List) -> Self {
        Self {
            calls,
            reads: Vec::new(),
            writes: Vec::new(),
            outputs: Vec::new(),
            grows: Vec::new(),
            removes: Vec::new(),
            opens_sockets: false,
            looks_names_up: false,
            ports: Vec::new(),
            inspects_processes: false,
            prints_local_time: false,
        }
    }

    /// Reads a file, or all files of a directory.
    pub fn read(mut self, path: impl Into<PathBuf>) -> Self {
        self.reads.push(path.into());
        self
    }

    /// Creates the output `path`, and other files beside it: those of rotation.
    pub fn write(mut self, path: Option<&Path>) -> Self {
        if let Some(path) = path.filter(|path| !is_stdout(path)) {
            self.outputs.extend(places(path));
        }
        self
    }

    /// Creates and removes files in a directory.
    pub fn write_in(mut self, directory: PathBuf) -> Self {
        self.writes.push(directory);
        self
    }

    /// Creates directories below `directory`, and creates, writes and renames files there.
    pub fn grow(mut self, directory: PathBuf) -> Self {
        self.grows.push(directory);
        self
    }

    /// Removes empty directories from a directory.
    pub fn remove_from(mut self, directory: PathBuf) -> Self {
        self.removes.push(directory);
        self
    }

    /// Opens sockets: looks up a name of a host, or asks the kernel.
    pub fn open_sockets(mut self, opens: bool) -> Self {
        self.opens_sockets = opens;
        self
    }

    /// Looks up names of hosts again and again over new sockets, as long as it runs, and follows changes of the name servers.
    ///
    /// For that it reads files of `/etc` where the name servers are not in a directory of their own. A thread that looks up a
    /// name when somebody asks it to does without: what it could read there is worth more than the new name servers.
    pub fn look_names_up(mut self, looks: bool) -> Self {
        self.opens_sockets |= looks;
        self.looks_names_up = looks;
        self
    }

    /// Connects to this TCP port of any host.
    pub fn connect(mut self, port: u16) -> Self {
        self.ports.push(port);
        self
    }

    /// Reads the open files of other processes. Landlock has no rule that allows this, so it is not used then, and all that is
    /// opened is opened for reading.
    pub fn inspect_processes(mut self) -> Self {
        self.inspects_processes = true;
        self
    }

    /// Prints local time, or names files by it: the time zone is read before its files are forbidden.
    pub fn local_time(mut self, prints: bool) -> Self {
        self.prints_local_time |= prints;
        self
    }

    /// Restricts the calling thread, and those that it starts from now on, unless `--no-sandbox` is given. Says on standard
    /// error what the kernel lacks, unless `quiet`. Returns what applies.
    pub fn enter(&self, args: SandboxArgs, quiet: bool) -> Result<Enforced, Failure> {
        if self.prints_local_time {
            local_zone();
            read_time_zone();
        }
        let enforced = if args.no_sandbox {
            Enforced::NOTHING
        } else {
            self.restrict(quiet)?
        };
        #[cfg(debug_assertions)]
        attacker::act(self.calls.name);
        Ok(enforced)
    }

    /// Starts a thread that drops its capabilities, restricts itself and then does `work`. Returns when it has restricted itself.
    pub fn spawn<T: Send + 'static>(
        self,
        args: SandboxArgs,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<JoinHandle<Option<T>>, Failure> {
        self.spawn_keeping(CapabilitySet::empty(), args, work)
    }

    /// Like [`spawn`](Self::spawn); the thread keeps the capabilities `kept`.
    pub fn spawn_keeping<T: Send + 'static>(
        self,
        kept: CapabilitySet,
        args: SandboxArgs,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<JoinHandle<Option<T>>, Failure> {
        let name = self.calls.name;
        let failed = |error: &io::Error| {
            Failure::job_on(format!("cannot start the thread of {name}"), error)
        };
        let (entered, has_entered) = sync_channel(1);
        let run = move || {
            let dropped = privilege::drop_all_but(kept);
            // The command says what the kernel lacks.
            let result = dropped
                .map_err(Failure::from)
                .and_then(|()| self.enter(args, true));
            let is_restricted = result.is_ok();
            let _ = entered.send(result);
            is_restricted.then(work)
        };
        let thread = thread::Builder::new().name(name.into()).spawn(run);
        let thread = thread.map_err(|error| failed(&error))?;
        match has_entered.recv() {
            Ok(result) => result.map(|_| thread),
            // It has panicked.
            Err(_) => Err(failed(&io::ErrorKind::Other.into())),
        }
    }

    fn restrict(&self, quiet: bool) -> Result<Enforced, Failure> {
        let enforced = self.enforce().map_err(|error| {
            let line =
                format!("cannot restrict this program (--no-sandbox runs it without): {error}");
            Failure::new(Exit::Failed, line)
        })?;
        if let Some(lacks) = self.lacks(enforced).filter(|_| !quiet) {
            // A closed standard error is no reason to end.
            let _ = writeln!(io::stderr(), "warning: {lacks}");
        }
        Ok(enforced)
    }

    fn lacks(&self, enforced: Enforced) -> Option<&'static str> {
        match enforced {
            Enforced {
                landlock: None,
                seccomp: false,
            } if !self.inspects_processes => {
                Some("this kernel has neither Landlock nor seccomp, so that the sandbox is off")
            }
            Enforced { landlock: None, .. } if !self.inspects_processes => {
                Some("this kernel has no Landlock: the sandbox restricts system calls, not files")
            }
            Enforced { seccomp: false, .. } => {
                Some("this kernel has no seccomp: the sandbox restricts files, not system calls")
            }
            _ => None,
        }
    }

    /// Fails with errors of landlock_restrict_self(2) and seccomp(2) in a kernel that has them.
    fn enforce(&self) -> io::Result<Enforced> {
        let landlock = if self.inspects_processes {
            None
        } else {
            files::restrict(self)?
        };
        let seccomp = filters::restrict(self)?;
        Ok(Enforced { landlock, seccomp })
    }
}

/// Starts another program that parses packets. It gets no capabilities, also not those that root gets by starting a program, and
/// unless `--no-sandbox` is given it writes no files, opens no sockets and types nothing into a terminal, as far as the kernel has
/// Landlock and seccomp.
///
/// This thread stays as it is.
pub fn start_parser(command: &mut Command, args: SandboxArgs) -> io::Result<Child> {
    let start = || -> io::Result<Child> {
        privilege::drop_all_but(CapabilitySet::empty())?;
        set_no_new_privs(true)?;
        if !args.no_sandbox {
            files::only_read()?;
            filters::restrict_parser()?;
        }
        command.spawn()
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("start".into());
        let started = thread.spawn_scoped(scope, start)?.join();
        // It has panicked.
        started.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    })
}

/// The directory of a file that exists or may be created, and that to which a link leads; anything else alone, for example a
/// device.
fn places(path: &Path) -> Vec<PathBuf> {
    if path.metadata().is_ok_and(|about| !about.is_file()) {
        return vec![path.to_owned()];
    }
    let directory = |path: &Path| match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => path.to_owned(),
    };
    let mut places = vec![directory(path)];
    if let Ok(target) = path.canonicalize() {
        places.push(directory(&target));
    } else if let Ok(target) = path.read_link() {
        places.push(directory(&places[0].join(target)));
    }
    places
}
