//! `tapline ctl start`.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::failure::{Exit, Failure};

/// Longest wait for the start of a capture.
const START: Timespec = Timespec {
    tv_sec: 30,
    tv_nsec: 0,
};

/// Longest error message shown, bytes.
const MESSAGE_BYTES_MAX: u64 = 4096;

/// Starts a capture that outlives this program, and waits until it captures.
pub fn run(name: &str, flags: &[String]) -> Result<Exit, Failure> {
    let address = format!("tapline-start-{}", std::process::id());
    let ready = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&address)?)?;
    let mut errors = tempfile::tempfile()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["capture", "--quiet", "--name", name]);
    command.args(flags);
    command.env("NOTIFY_SOCKET", format!("@{address}"));
    // Signals for the group of this program, such as Ctrl-C, do not concern it.
    command.process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(errors.try_clone()?);
    let mut child = command.spawn()?;
    let is_ready = waits_for_ready(&child, &ready);
    if let Ok(true) = is_ready {
        return Ok(Exit::Done);
    }
    // It has ended, does not begin within the time, or nobody can say.
    let _ = child.kill();
    let status = child.wait()?;
    is_ready?;
    let message = message(&mut errors)?;
    let line = message.strip_prefix("tapline: ").unwrap_or(&message);
    let line = match line {
        "" => "the capture did not begin",
        line => line,
    };
    Err(Failure::new(exit(status.code()), line))
}

/// Whether the capture announces itself. False if it ends before.
fn waits_for_ready(child: &Child, ready: &UnixDatagram) -> io::Result<bool> {
    let pid = Pid::from_child(child);
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let mut sources = [
        PollFd::new(ready, PollFlags::IN),
        PollFd::new(&process, PollFlags::IN),
    ];
    loop {
        match poll(&mut sources, Some(&START)) {
            Ok(_) => return Ok(!sources[0].revents().is_empty()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn message(errors: &mut File) -> io::Result<String> {
    errors.rewind()?;
    let mut text = Vec::new();
    errors.take(MESSAGE_BYTES_MAX).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).trim_end().to_owned())
}

/// The exit status of the capture.
fn exit(status: Option<i32>) -> Exit {
    match status {
        Some(2) => Exit::Usage,
        Some(3) => Exit::Privilege,
        Some(4) => Exit::Unsupported,
        _ => Exit::Failed,
    }
}
