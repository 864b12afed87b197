//! The command that a capture runs and watches: `tapline capture … -- COMMAND`.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tapline::{Stop, Stopper};

use super::cgroup::Cgroup;
use crate::args::{CaptureArgs, SandboxArgs};
use crate::failure::{Exit, Failure};
use crate::output;
use crate::sandbox::{self, Sandbox};

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

/// A command whose thread has started, and runs it on request.
pub struct Waiting {
    begin: Sender<()>,
    begun: Receiver<Result<OwnedFd, Failure>>,
    waiter: JoinHandle<io::Result<ExitStatus>>,
    name: String,
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
    /// Starts the thread that runs it: call it before the sandbox, which starts no programs and holds for later threads. The
    /// thread restricts itself, too, once the command runs.
    pub fn wait(self, stop: &Stop, args: SandboxArgs) -> Result<Waiting, Failure> {
        let name = self.words[0].clone();
        let mut command = self.command().map_err(|error| failed(&name, &error))?;
        let stopper = stop.stopper();
        let program = name.clone();
        let (begin, may_begin) = channel();
        let (tell, begun) = channel();
        let run = move || {
            if may_begin.recv().is_err() {
                return Ok(ExitStatus::default());
            }
            match spawn(&mut command, args, &program) {
                Ok((child, pidfd)) => {
                    let _ = tell.send(Ok(pidfd));
                    wait(child, &stopper)
                }
                Err(failure) => {
                    let _ = tell.send(Err(failure));
                    Ok(ExitStatus::default())
                }
            }
        };
        let waiter = thread::Builder::new().name("command".into()).spawn(run);
        Ok(Waiting {
            begin,
            begun,
            waiter: waiter.map_err(|error| failed(&name, &error))?,
            name,
        })
    }

    /// In a namespace as `tapline netns exec` does. Its output goes to standard error if standard output is taken.
    fn command(self) -> io::Result<Command> {
        let mut words: Vec<OsString> = Vec::new();
        if let Some(processes) = self.processes {
            words.extend(["/bin/sh", "-c", JOIN, "tapline"].map(OsString::from));
            words.push(processes.into());
        }
        if let Some(namespace) = self.namespace {
            // `/proc/self/exe` would be the shell.
            words.push(std::env::current_exe()?.into());
            words.extend(["netns", "exec", namespace].map(OsString::from));
        }
        words.extend(self.words.iter().map(OsString::from));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        if self.is_stdout_taken {
            command.stdout(io::stderr().as_fd().try_clone_to_owned()?);
        }
        Ok(command)
    }
}

impl Waiting {
    /// Runs it. When it ends, the capture is stopped.
    pub fn begin(self) -> Result<Running, Failure> {
        let Self {
            begin,
            begun,
            waiter,
            name,
        } = self;
        let _ = begin.send(());
        // An error: its thread has panicked.
        let begun = begun
            .recv()
            .unwrap_or_else(|_| Err(failed(&name, &io::ErrorKind::Other.into())));
        Ok(Running {
            pidfd: begun?,
            waiter,
            name,
        })
    }
}

fn failed(name: &str, error: &io::Error) -> Failure {
    Failure::job_on(format!("cannot run {name}"), error)
}

/// Starts it, and restricts the calling thread.
fn spawn(
    command: &mut Command,
    args: SandboxArgs,
    name: &str,
) -> Result<(Child, OwnedFd), Failure> {
    let mut child = command.spawn().map_err(|error| failed(name, &error))?;
    let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
    let pidfd = pidfd.map_err(|error| failed(name, &error.into()));
    let restrict = |pidfd| {
        // The capture says what the kernel lacks.
        Sandbox::new(&sandbox::COMMAND).enter(args, true)?;
        Ok(pidfd)
    };
    match pidfd.and_then(restrict) {
        Ok(pidfd) => Ok((child, pidfd)),
        Err(failure) => {
            // What counts is the first error.
            let _ = child.kill().and_then(|()| child.wait());
            Err(failure)
        }
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
