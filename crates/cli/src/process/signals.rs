//! Signals: the first one ends a job in order, a second one ends the program at once.

use std::fs;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::event::{Timespec, poll};
use rustix::thread::{CapabilitySet, set_name};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::{flag, low_level};
use tapline::Stop;

use super::user;
use crate::args::{SandboxArgs, UserArgs};
use crate::failure::Failure;
use crate::sandbox::{SIGNALS, Sandbox};
use crate::screen;

/// Exit status that shells use for a program ended by SIGINT.
const INTERRUPTED: i32 = 130;

/// A signal within this time of the first is the same request: timeout(1) signals the program and its process
/// group, so the program receives two.
const SAME_REQUEST: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// A [`Stop`] that SIGINT, SIGTERM and SIGHUP trigger.
pub fn stop(sandbox: SandboxArgs) -> Result<Stop, Failure> {
    stop_on(ending(), sandbox, CapabilitySet::empty())
}

/// The same in a command that may change to another user.
pub fn stop_as(user: &UserArgs, sandbox: SandboxArgs) -> Result<Stop, Failure> {
    stop_on(ending(), sandbox, user::to_follow(user))
}

/// The signals that end a job. SIGHUP is none of them if it was ignored from the start: nohup(1) means that a job goes on when its
/// terminal is closed.
fn ending() -> &'static [i32] {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The lowest bit is that of signal 1.
    if ignored.is_some_and(|mask| mask & 1 << (SIGHUP - 1) != 0) {
        return &[SIGINT, SIGTERM];
    }
    &[SIGINT, SIGTERM, SIGHUP]
}

/// A [`Stop`] that SIGINT and SIGTERM trigger, and a stream that has a byte for each SIGHUP.
pub fn stop_or_reload(
    user: &UserArgs,
    sandbox: SandboxArgs,
) -> Result<(Stop, UnixStream), Failure> {
    let open = || {
        let (hangups, writer) = UnixStream::pair()?;
        low_level::pipe::register(SIGHUP, writer)?;
        Ok(hangups)
    };
    let hangups = open().map_err(|error| failed(&error))?;
    let stop = stop_on(&[SIGINT, SIGTERM], sandbox, user::to_follow(user))?;
    Ok((stop, hangups))
}

fn failed(error: &io::Error) -> Failure {
    Failure::job_on("cannot handle signals", error)
}

fn stop_on(signals: &[i32], sandbox: SandboxArgs, kept: CapabilitySet) -> Result<Stop, Failure> {
    let (stop, first) = handle(signals).map_err(|error| failed(&error))?;
    // It ends with the program.
    Sandbox::new(&SIGNALS).spawn_keeping(kept, sandbox, || end_after(first))?;
    Ok(stop)
}

/// A stop that `signals` trigger, and a stream that has a byte for each.
fn handle(signals: &[i32]) -> io::Result<(Stop, UnixStream)> {
    let stop = Stop::new()?;
    let (first, again) = UnixStream::pair()?;
    for &signal in signals {
        // The stop first: a signal that comes in between ends the job, too.
        low_level::pipe::register(signal, stop.stopper().as_fd().try_clone_to_owned()?)?;
        low_level::pipe::register(signal, again.try_clone()?)?;
    }
    Ok((stop, first))
}

/// Ends the program at the first signal that comes a while after another one.
fn end_after(mut signals: UnixStream) {
    let mut byte = [0];
    // A read that a signal interrupts is repeated.
    let _ = signals.read_exact(&mut byte);
    // A signal handled by this thread ends the wait early. It belongs to the same request.
    let _ = poll(&mut [], Some(&SAME_REQUEST));
    let _ = signals.set_nonblocking(true);
    while signals.read(&mut byte).is_ok_and(|read| read > 0) {}
    let _ = signals.set_nonblocking(false);
    // Shows in ps(1) that the first one is being handled.
    let _ = set_name(c"second signal");
    let _ = signals.read_exact(&mut byte);
    screen::abandon();
    low_level::exit(INTERRUPTED);
}

/// Makes a file that reaches `RLIMIT_FSIZE` an error of write(2), as a full disk is. By default a signal ends the program then, in
/// the midst of a block. Programs that this one starts keep the default.
///
/// # Errors
/// The signal cannot be handled, and keeps its effect.
pub fn report_large_files() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::default())?;
    Ok(())
}

/// A flag that SIGQUIT sets instead of ending the program.
pub fn quit() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    flag::register(SIGQUIT, Arc::clone(&flag)).map_err(|error| failed(&error))?;
    Ok(flag)
}
