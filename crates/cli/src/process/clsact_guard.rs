//! Removes the tc filters of a `count` that is killed.
//!
//! Before Linux 6.6 a tc filter outlives the process that attached it. A second process of this program, with
//! its own session and name, therefore sleeps until the first has ended and removes its filters. It starts
//! before the first filter is attached and ends after the last is detached.
//!
//! If a whole control group or PID namespace is killed, the second process dies too. The next `count` then
//! removes the filters.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{PidfdFlags, getppid, pidfd_open, setsid};
use rustix::thread::{CapabilitySet, set_name};
use tapline::count::remove_leftover_filters;

use super::privilege;
use crate::failure::{Exit, Failure};

/// Ends the second process before the first has ended. At the end of the pipe without it, the first was killed.
const DONE: &[u8] = b"done";

/// The hidden subcommand of the second process.
const SUBCOMMAND: &str = "clsact-guard";

/// The second process, which waits until this one has ended.
#[derive(Debug)]
pub struct Guard(Child);

impl Guard {
    /// Starts the process and returns when it is waiting.
    pub fn start() -> io::Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        // Another name, so that killing the first process by name spares this one.
        command.arg0(SUBCOMMAND).arg(SUBCOMMAND);
        command.stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take();
        let guard = Self(child);
        let mut line = String::new();
        output.map_or(Ok(0), |output| BufReader::new(output).read_line(&mut line))?;
        if line.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // It may have ended already. This process may be restricted, and then it cannot send signals.
        if let Some(mut stdin) = self.0.stdin.take() {
            let _ = stdin.write_all(DONE);
        }
        let _ = self.0.wait();
    }
}

/// Main function of the second process.
pub fn run() -> Result<Exit, Failure> {
    if !wait_for_parent()? {
        return Ok(Exit::Failed);
    }
    remove_leftover_filters()?;
    Ok(Exit::Done)
}

/// Waits until the parent has ended; returns false if there is none, or if it says that it is done.
///
/// Waiting for a closed pipe would return too early: the parent may still hold the sockets by which its
/// filters show that it is alive.
fn wait_for_parent() -> io::Result<bool> {
    setsid()?;
    set_name(c"clsact-guard")?;
    privilege::drop_all_but(CapabilitySet::NET_ADMIN)?;
    let Some(parent) = getppid() else {
        return Ok(false);
    };
    let ended = pidfd_open(parent, PidfdFlags::empty())?;
    // The PID may have been reused, unless it is still the parent.
    if getppid() == Some(parent) {
        writeln!(io::stdout(), "ready")?;
        // No signal is handled here, so nothing interrupts this wait.
        let input = io::stdin();
        let mut descriptors = [
            PollFd::new(&ended, PollFlags::IN),
            PollFd::new(&input, PollFlags::IN),
        ];
        poll(&mut descriptors, None)?;
        let has_ended = !descriptors[0].revents().is_empty();
        if !has_ended && input.lock().read_exact(&mut [0; DONE.len()]).is_ok() {
            return Ok(false);
        }
        poll(&mut descriptors[..1], None)?;
    }
    Ok(true)
}
