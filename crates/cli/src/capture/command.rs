//! The command that a capture runs and watches: `tapline capture … -- COMMAND`.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::thread::{self, JoinHandle};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};
use tapline::{Stop, Stopper};

use super::cgroup::Cgroup;
use crate::args::CaptureArgs;
use crate::failure::{Exit, Failure};
use crate::output;

/// Joins the control group whose file is `$1`, and becomes the command.
const JOIN: &str = r#"echo 0 > "$1" && shift && exec "$@""#;

/// A command that is not running yet.
pub struct Prepared<'a> {
    namespace: Option<&'a str>,
    /// The file of the control group to join.
    processes: Option<PathBuf>,
    words: &'a [String],
    /// Standard output carries packets or JSON.
    is_stdout_taken: bool,
}

/// A running command.
pub struct Running {
    /// Signals it, also after it has ended.
    pidfd: OwnedFd,
    waiter: JoinHandle<io::Result<ExitStatus>>,
    name: String,
}

/// The command of the flags, if there is one.
pub fn prepare<'a>(
    args: &'a CaptureArgs,
    cgroup: Option<&Cgroup>,
) -> Result<Option<Prepared<'a>>, Failure> {
    match (&args.command[..], &args.netns[..]) {
        ([], _) => Ok(None),
        (words, netns @ ([] | [_])) if !netns.iter().any(|name| name == super::source::ALL) => {
            let namespace = netns.first().map(String::as_str);
            let is_file = |path: &PathBuf| !output::is_stdout(path);
            let is_stdout_taken = args.json || !args.output.write.as_ref().is_some_and(is_file);
            Ok(Some(Prepared {
                namespace,
                processes: cgroup.map(Cgroup::processes),
                words,
                is_stdout_taken,
            }))
        }
        _ => Err(Failure::new(
            Exit::Usage,
            "a command runs in one namespace: give --netns NAME once",
        )),
    }
}

impl Prepared<'_> {
    /// Starts it, in a namespace as `tapline netns exec` does. Its output goes to standard error if standard output is taken. When it ends, the capture is stopped.
    pub fn start(self, stop: &Stop) -> Result<Running, Failure> {
        let name = self.words[0].clone();
        let failed = |error: io::Error| Failure::job_on(format!("cannot run {name}"), &error);
        let mut words: Vec<OsString> = Vec::new();
        if let Some(processes) = self.processes {
            words.extend(["/bin/sh", "-c", JOIN, "tapline"].map(OsString::from));
            words.push(processes.into());
        }
        if let Some(namespace) = self.namespace {
            // `/proc/self/exe` would be the shell.
            words.push(std::env::current_exe().map_err(failed)?.into());
            words.extend(["netns", "exec", namespace].map(OsString::from));
        }
        words.extend(self.words.iter().map(OsString::from));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        if self.is_stdout_taken {
            let errors = io::stderr().as_fd().try_clone_to_owned();
            command.stdout(errors.map_err(failed)?);
        }
        let mut child = command.spawn().map_err(failed)?;
        let pid = Pid::from_child(&child);
        let pidfd = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(error) => {
                // What counts is the first error.
                let _ = child.kill().and_then(|()| child.wait());
                return Err(failed(error.into()));
            }
        };
        let stopper = stop.stopper();
        let waiter = thread::Builder::new().name("command".into());
        let waiter = match waiter.spawn(move || wait(child, &stopper)) {
            Ok(waiter) => waiter,
            Err(error) => {
                let _ = pidfd_send_signal(&pidfd, Signal::KILL);
                let _ = waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED);
                return Err(failed(error));
            }
        };
        Ok(Running {
            pidfd,
            waiter,
            name,
        })
    }
}

fn wait(mut child: Child, stopper: &Stopper) -> io::Result<ExitStatus> {
    // An error says nothing about the command, which may still run.
    let status = child.wait().or_else(|_| child.wait());
    stopper.stop();
    status
}

impl Running {
    /// Waits for its end, after SIGTERM if it still runs. Fails as the command did.
    pub fn finish(self) -> Result<(), Failure> {
        let Self {
            pidfd,
            waiter,
            name,
        } = self;
        let is_terminated = !waiter.is_finished();
        if is_terminated {
            // It may have ended just now.
            let _ = pidfd_send_signal(&pidfd, Signal::TERM);
        }
        match waiter.join() {
            Ok(Ok(status)) if status.success() || is_terminated => Ok(()),
            Ok(Ok(status)) => {
                let line = format!("{name} failed: {status}");
                Err(Failure::new(Exit::Failed, line))
            }
            Ok(Err(error)) => {
                // Nobody knows whether it has ended.
                let _ = pidfd_send_signal(&pidfd, Signal::TERM);
                let line = format!("cannot wait for {name}: {error}");
                Err(Failure::new(Exit::Failed, line))
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
