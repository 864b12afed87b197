//! The process that looks up the processes of `capture --who`.
//!
//! Looking up processes requires `CAP_SYS_PTRACE` and `CAP_DAC_READ_SEARCH`, and Landlock would hide the processes of other users.
//! The process that parses packets has neither capability: it sends the inode number of a socket to this process, which can open
//! files only for reading.

use std::env;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::setsid;
use rustix::thread::set_name;
use tapline::who::{ProcessHelper, serve_processes};

use super::{privilege, user};
use crate::args::{CaptureArgs, HelperArgs};
use crate::failure::{Exit, Failure};
use crate::sandbox::{self, Sandbox};

/// The hidden subcommand.
const SUBCOMMAND: &str = "process-helper";

/// The running process. It ends when the connection is dropped: drop that first.
#[derive(Debug)]
pub struct RunningHelper(Child);

impl RunningHelper {
    /// Starts the process, and returns when it has read all of `/proc`.
    pub fn start(args: &CaptureArgs) -> Result<(Self, ProcessHelper), Failure> {
        Self::connected(args)
            .map_err(|error| Failure::job_on("cannot start the search for processes", &error))
    }

    fn connected(args: &CaptureArgs) -> io::Result<(Self, ProcessHelper)> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(env::current_exe()?);
        command.arg0(SUBCOMMAND).arg(SUBCOMMAND);
        if let Some(user) = &args.user.user {
            command.args(["--user", &user.name]);
        }
        if args.sandbox.no_sandbox {
            command.arg("--no-sandbox");
        }
        command.stdin(OwnedFd::from(theirs));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut helper = Self(command.spawn()?);
        // Closes our copy of the helper's end, so that we notice when the helper ends.
        drop(command);
        match ProcessHelper::connect(ours) {
            Ok(connection) => Ok((helper, connection)),
            Err(error) => {
                // It may have ended already.
                let _ = helper.0.kill();
                Err(error)
            }
        }
    }
}

impl Drop for RunningHelper {
    fn drop(&mut self) {
        let _ = self.0.wait();
    }
}

/// Main function of the process.
pub fn run(args: &HelperArgs) -> Result<Exit, Failure> {
    // Signals of the terminal go to the capture only, which ends this process.
    setsid().map_err(io::Error::from)?;
    set_name(c"processes").map_err(io::Error::from)?;
    let connection = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    user::leave(&args.user, privilege::FIND_PROCESSES)?;
    Sandbox::new(&sandbox::PROCESSES)
        .inspect_processes()
        .enter(args.sandbox, true)?;
    serve_processes(connection)?;
    Ok(Exit::Done)
}
