//! Child processes.

use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::clock::thread_cpu_ns;

/// Makes the kernel kill the child of `command` when the thread that spawns it ends.
///
/// It holds however that thread ends, even when its whole process is killed, so such a child never
/// outlives it. It is the thread that counts: a child spawned on a short-lived thread dies with that.
///
/// # Source
/// prctl(2), `PR_SET_PDEATHSIG`.
#[doc(alias = "PR_SET_PDEATHSIG")]
pub fn end_with_thread(command: &mut Command) {
    let ask = || set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from);
    // SAFETY: between fork and exec the closure makes one system call with plain arguments; it neither
    // allocates nor locks, and an error is made of the bare errno.
    unsafe { command.pre_exec(ask) };
}

/// How a process ended, and its resource usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its exit status, or the signal that ended it.
    pub status: ExitStatus,
    /// CPU time of all its threads, user and system, from start to end.
    pub cpu: Duration,
    /// Voluntary context switches: its wake-ups.
    pub waits: u64,
}

/// Closes the standard input of `child` and waits for its end.
///
/// Blocks. Take the pipes that you want to read from `child` first.
///
/// # Errors
/// Errors of wait4(2): ECHILD if the caller ignores SIGCHLD.
/// # Source
/// wait4(2), getrusage(2).
#[doc(alias("wait4", "rusage"))]
pub fn wait(mut child: Child) -> io::Result<Ended> {
    drop(child.stdin.take());
    let id = child.id().cast_signed();
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // Bound: each further round follows a signal that the caller handled.
    loop {
        // SAFETY: both places are valid for the call. Nobody can wait for this process later, when
        // its number may be another's: `Child` is owned, and dropped here.
        let ended = unsafe { libc::wait4(id, &raw mut status, 0, usage.as_mut_ptr()) };
        if ended == id {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: all zeroes are a valid value of this struct of numbers; then the kernel writes it.
    let usage = unsafe { usage.assume_init() };
    let span = |time: libc::timeval| {
        let micros = time.tv_sec.cast_unsigned() * 1_000_000 + time.tv_usec.cast_unsigned();
        Duration::from_micros(micros)
    };
    Ok(Ended {
        status: ExitStatus::from_raw(status),
        cpu: span(usage.ru_utime) + span(usage.ru_stime),
        waits: usage.ru_nvcsw.cast_unsigned(),
    })
}

/// Resource usage of a thread so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Processor time, in user space and in the kernel.
    pub cpu: Duration,
    /// Voluntary context switches: its wake-ups.
    pub waits: u64,
}

/// Resource usage of the calling thread since it started.
///
/// # Source
/// getrusage(2), `RUSAGE_THREAD`; clock_gettime(2), `CLOCK_THREAD_CPUTIME_ID`, which is exact where the
/// kernel estimates times by its ticks.
#[doc(alias("getrusage", "RUSAGE_THREAD"))]
pub fn thread_usage() -> ThreadUsage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the place is valid for the call, which fails for a bad address or number only.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: all zeroes are a valid value of this struct of numbers; then the kernel may write it.
    let usage = unsafe { usage.assume_init() };
    ThreadUsage {
        cpu: Duration::from_nanos(thread_cpu_ns()),
        waits: usage.ru_nvcsw.cast_unsigned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gets_its_own_work_and_waits() {
        let (sender, receiver) = std::sync::mpsc::sync_channel::<u32>(0);
        let before = thread_usage();
        // A thread that is always ready and one that waits for each of its numbers, or the reverse.
        let other = std::thread::spawn(move || {
            (0..1000).for_each(|number| sender.send(number).unwrap());
            thread_usage()
        });
        assert_eq!(receiver.iter().count(), 1000);
        let (own, other) = (thread_usage(), other.join().unwrap());
        assert!(own.waits - before.waits + other.waits > 0);
        assert!(own.cpu > before.cpu && other.cpu > Duration::ZERO);
    }

    #[test]
    fn a_child_that_worked_has_used_the_processor() {
        let loops = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 7";
        let child = Command::new("sh").args(["-c", loops]).spawn().unwrap();
        let ended = wait(child).unwrap();
        assert_eq!(ended.status.code(), Some(7));
        assert!(ended.cpu > Duration::ZERO);
    }
}
