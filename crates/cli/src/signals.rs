//! Signals end a job in order; a second one, when the first was not enough, ends the program at once.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::thread::CapabilitySet;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::{flag, low_level};
use tapline::Stop;

use crate::privilege;

/// Exit status of a program that a second SIGINT ends, as shells know it.
const INTERRUPTED: i32 = 130;

/// A signal within this time of the first is the same request: timeout(1) sends one to the program and one to its
/// group, which the program is in.
const SAME: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// What SIGINT, SIGTERM and SIGHUP ask for, in two forms.
pub struct Signals {
    /// For those who wait.
    pub stop: Stop,
    /// For those who work: cheap to look at.
    pub flag: Arc<AtomicBool>,
}

/// A stop that SIGINT, SIGTERM and SIGHUP ask for.
pub fn stop() -> io::Result<Stop> {
    Ok(watch()?.stop)
}

/// As [`stop`], with the flag.
pub fn watch() -> io::Result<Signals> {
    let stop = Stop::new()?;
    let asked = Arc::new(AtomicBool::new(false));
    let insists = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&insists))?;
        flag::register(signal, Arc::clone(&asked))?;
        low_level::pipe::register(signal, stop.stopper().as_fd().try_clone_to_owned()?)?;
    }
    let first = stop.as_fd().try_clone_to_owned()?;
    let name = thread::Builder::new().name("signals".into());
    name.spawn(move || insist_after(&first, &insists))?;
    Ok(Signals { stop, flag: asked })
}

/// Sets `insists` a while after `first` has become readable.
fn insist_after(first: &OwnedFd, insists: &AtomicBool) {
    // Privileges are a thread's own.
    let _ = privilege::drop_all_but(CapabilitySet::empty());
    while let Err(Errno::INTR) = poll(&mut [PollFd::new(first, PollFlags::IN)], None) {}
    // A signal that this thread handles ends the wait early; it was the same request.
    let _ = poll(&mut [], Some(&SAME));
    insists.store(true, Ordering::Release);
}

/// What SIGQUIT sets, instead of ending the program.
pub fn quit() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    flag::register(SIGQUIT, Arc::clone(&flag))?;
    Ok(flag)
}
