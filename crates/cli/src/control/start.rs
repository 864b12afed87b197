//! `tapline ctl start`.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Seek};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tapline::control::{ControlReply, ControlRequest, ask, directory};

use crate::failure::{Exit, Failure};

/// Longest wait for the start of a capture.
const START: Duration = Duration::from_secs(30);

/// Longest error message shown, bytes.
const MESSAGE_BYTES_MAX: u64 = 4096;

/// Starts a capture that outlives this program, and waits until it captures.
pub fn run(name: &str, flags: &[String]) -> Result<Exit, Failure> {
    // Nobody can take an address that cannot be guessed.
    let number = RandomState::new().hash_one(std::process::id());
    let address = format!("tapline-start-{number:016x}");
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
    let is_ready = waits_for_ready(&child, &ready, name);
    if let Ok(true) = is_ready {
        return Ok(Exit::Done);
    }
    // It has ended, does not begin within the time, or nobody can say.
    let _ = child.kill();
    let status = child.wait()?;
    is_ready?;
    if status.success() {
        // It was a short one.
        return Ok(Exit::Done);
    }
    let message = message(&mut errors)?;
    let line = message.strip_prefix("tapline: ").unwrap_or(&message);
    let line = match line {
        "" => "the capture did not begin",
        line => line,
    };
    Err(Failure::new(exit(status.code()), line))
}

/// Whether the capture announces itself. False if it ends before.
fn waits_for_ready(child: &Child, ready: &UnixDatagram, name: &str) -> io::Result<bool> {
    let pid = Pid::from_child(child);
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let deadline = Instant::now() + START;
    loop {
        let mut sources = [
            PollFd::new(ready, PollFlags::IN),
            PollFd::new(&process, PollFlags::IN),
        ];
        let left = deadline.saturating_duration_since(Instant::now());
        match poll(&mut sources, Timespec::try_from(left).ok().as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        if sources[0].revents().is_empty() {
            return Ok(false);
        }
        ready.recv(&mut [0; 64])?;
        if answers(child, name) {
            return Ok(true);
        }
    }
}

/// Whether the capture answers. Every user of this host can announce it.
fn answers(child: &Child, name: &str) -> bool {
    let answer = directory().and_then(|directory| ask(&directory, name, &ControlRequest::Stats));
    matches!(answer, Ok(ControlReply::Stats(stats)) if stats.pid == child.id())
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
