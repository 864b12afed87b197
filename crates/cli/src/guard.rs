//! What a count leaves that is killed, taken away at once where the kernel does not do it.
//!
//! Before Linux 6.6 a filter at tc outlives the process that put it there. So a second process of this
//! program, with a session and a name of its own, sleeps until the first has ended, whichever way, and
//! removes what is left. It is started before the first filter and ended behind the last.
//!
//! It does not outlive what kills all processes of a control group or a PID namespace; then the next count
//! removes the filter.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use bpf::{TcLink, TcPlace, tcx_programs};
use netlink::{Link, Netlink};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{PidfdFlags, getppid, pidfd_open, setsid};
use rustix::thread::{CapabilitySet, set_name};

use crate::failure::{Exit, Failure};
use crate::privilege;

/// The hidden subcommand that is the second process.
const SUBCOMMAND: &str = "clsact-guard";

/// The index of the loopback, which every network namespace has.
const LOOPBACK: u32 = 1;

/// A second process that waits for the end of this one.
#[derive(Debug)]
pub struct Guard(Child);

impl Guard {
    /// Whether this kernel leaves filters behind: it has no tcx.
    pub fn is_needed() -> bool {
        let asked = tcx_programs(LOOPBACK, TcPlace::Egress);
        asked.is_err_and(|error| error.kind() == io::ErrorKind::InvalidInput)
    }

    /// Returns when it waits.
    pub fn start() -> io::Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        // Under a name by which it is not killed together with the first.
        command.arg0(SUBCOMMAND).arg(SUBCOMMAND);
        command.stdin(Stdio::null()).stderr(Stdio::null());
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
        // It may have ended; what counts is that it does.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The second process: removes what its parent leaves.
pub fn run() -> Result<Exit, Failure> {
    if !wait_for_parent()? {
        return Ok(Exit::Failed);
    }
    for link in Netlink::open()?.list(&Link::new())?.items {
        // An interface may go meanwhile.
        let _ = TcLink::remove_leftovers(link.ifindex().0);
    }
    Ok(Exit::Done)
}

/// Returns when the parent has ended; false without one.
///
/// That the parent's descriptors are closed would be too early: the sockets that say whether it lives may
/// be among the last.
fn wait_for_parent() -> io::Result<bool> {
    setsid()?;
    set_name(c"clsact-guard")?;
    privilege::drop_all_but(CapabilitySet::NET_ADMIN)?;
    let Some(parent) = getppid() else {
        return Ok(false);
    };
    let ended = pidfd_open(parent, PidfdFlags::empty())?;
    // Its number may be another's by now, unless it is still the parent.
    if getppid() == Some(parent) {
        writeln!(io::stdout(), "ready")?;
        // Nothing interrupts it: no signal is handled here.
        poll(&mut [PollFd::new(&ended, PollFlags::IN)], None)?;
    }
    Ok(true)
}
