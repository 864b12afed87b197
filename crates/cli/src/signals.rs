//! Signals end a job in order; a second one ends the program at once.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::{flag, low_level};
use tapline::Stop;

/// Exit status of a program that a second SIGINT ends, as shells know it.
const INTERRUPTED: i32 = 130;

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
    let again = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The order matters: the first signal finds the flag unset, sets it and wakes the job.
        flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&again))?;
        flag::register(signal, Arc::clone(&again))?;
        low_level::pipe::register(signal, stop.stopper().as_fd().try_clone_to_owned()?)?;
    }
    Ok(Signals { stop, flag: again })
}

/// What SIGQUIT sets, instead of ending the program.
pub fn quit() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    flag::register(SIGQUIT, Arc::clone(&flag))?;
    Ok(flag)
}
