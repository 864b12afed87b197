//! Signals: the first one ends a job in order, a second one ends the program at once.

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

/// Exit status that shells use for a program ended by SIGINT.
const INTERRUPTED: i32 = 130;

/// A signal within this time of the first is the same request: timeout(1) signals the program and its process
/// group, so the program receives two.
const SAME_REQUEST: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// A [`Stop`] that SIGINT, SIGTERM and SIGHUP trigger.
pub fn stop() -> io::Result<Stop> {
    let stop = Stop::new()?;
    let is_repeated = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&is_repeated))?;
        low_level::pipe::register(signal, stop.stopper().as_fd().try_clone_to_owned()?)?;
    }
    let first = stop.as_fd().try_clone_to_owned()?;
    let name = thread::Builder::new().name("signals".into());
    name.spawn(move || arm_after(&first, &is_repeated))?;
    Ok(stop)
}

/// Sets `is_repeated`, so that the next signal ends the program, a while after `first` became readable.
fn arm_after(first: &OwnedFd, is_repeated: &AtomicBool) {
    // Capabilities belong to each thread.
    let _ = privilege::drop_all_but(CapabilitySet::empty());
    while let Err(Errno::INTR) = poll(&mut [PollFd::new(first, PollFlags::IN)], None) {}
    // A signal handled by this thread ends the wait early. It belongs to the same request.
    let _ = poll(&mut [], Some(&SAME_REQUEST));
    is_repeated.store(true, Ordering::Release);
}

/// A flag that SIGQUIT sets instead of ending the program.
pub fn quit() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    flag::register(SIGQUIT, Arc::clone(&flag))?;
    Ok(flag)
}
