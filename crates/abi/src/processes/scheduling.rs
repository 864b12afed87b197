//! How the scheduler treats a thread: its time slice, and whether it runs before all others.

use std::io;

use libc::sched_attr;

/// `SCHED_BATCH` and `SCHED_OTHER`, include/uapi/linux/sched.h: the fair scheduling policies.
const FAIR: [u32; 2] = [0, 3];
const BYTES: u32 = size_of::<sched_attr>() as u32;

/// The lowest priority of a real-time policy: before all threads that have none.
const LOWEST_PRIORITY: u32 = 1;

/// The scheduling policy of a thread, with its parameters.
#[derive(Clone, Copy, Debug)]
pub struct ThreadPolicy(sched_attr);

/// Has the calling thread run before all threads without a real-time policy (`SCHED_FIFO`, lowest priority): when it wakes,
/// it preempts them. Returns the policy before. `None` if the thread has another policy than the fair ones already.
///
/// Threads that it starts meanwhile inherit this.
///
/// # Errors
/// Errors of sched_setattr(2): EPERM without the privilege.
/// # Privileges
/// `CAP_SYS_NICE`, or a limit `RLIMIT_RTPRIO` of at least 1.
/// # Source
/// sched(7).
#[doc(alias = "SCHED_FIFO")]
pub fn run_first() -> io::Result<Option<ThreadPolicy>> {
    let before = attributes()?;
    if !FAIR.contains(&before.sched_policy) {
        return Ok(None);
    }
    let first = sched_attr {
        sched_policy: libc::SCHED_FIFO.cast_unsigned(),
        sched_priority: LOWEST_PRIORITY,
        sched_nice: 0,
        sched_runtime: 0,
        ..before
    };
    set_attributes(first)?;
    Ok(Some(ThreadPolicy(before)))
}

/// Restores a policy of the calling thread.
///
/// # Errors
/// Errors of sched_setattr(2); none for a policy that [`run_first`] returned in this thread.
/// # Privileges
/// None for such a policy.
pub fn set_thread_policy(policy: ThreadPolicy) -> io::Result<()> {
    set_attributes(policy.0)
}

/// Time slice of the calling thread, nanoseconds: the scheduler may preempt the thread after this run time. Of
/// two eligible threads, the one with the shorter slice tends to run first.
///
/// `None` if the kernel does not report it, and for threads with other scheduling policies.
///
/// # Errors
/// Errors of sched_getattr(2).
/// # Kernel
/// Linux 6.12.
#[doc(alias = "sched_getattr")]
pub fn thread_slice_ns() -> io::Result<Option<u64>> {
    let attributes = attributes()?;
    let is_fair = FAIR.contains(&attributes.sched_policy);
    Ok(Some(attributes.sched_runtime).filter(|&ns| is_fair && ns > 0))
}

/// Requests another time slice for the calling thread, nanoseconds. The kernel clamps it to 0.1 to 100 ms.
///
/// Nothing happens where [`thread_slice_ns`] is `None`.
///
/// # Errors
/// Errors of sched_setattr(2).
/// # Privileges
/// None.
/// # Kernel
/// Linux 6.12; older kernels ignore the request.
/// # Source
/// `__setparam_fair`, kernel/sched/fair.c; `PREEMPT_SHORT`, kernel/sched/features.h.
#[doc(alias = "sched_setattr")]
pub fn set_thread_slice_ns(ns: u64) -> io::Result<()> {
    let mut attributes = attributes()?;
    if !FAIR.contains(&attributes.sched_policy) {
        return Ok(());
    }
    attributes.sched_runtime = ns;
    set_attributes(attributes)
}

fn set_attributes(mut attributes: sched_attr) -> io::Result<()> {
    attributes.size = BYTES;
    // SAFETY: the kernel reads the struct, whose size is in it, and the borrow outlives the call.
    let answer = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0_u32) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn attributes() -> io::Result<sched_attr> {
    let mut attributes = sched_attr {
        size: 0,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the kernel writes at most `BYTES` bytes, the size of the struct, which has only integer fields.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_sched_getattr,
            0,
            &raw mut attributes,
            BYTES,
            0_u32,
        )
    };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(attributes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// `/proc/thread-self/sched` shows it, where the kernel is built with that (`CONFIG_SCHED_DEBUG`).
    #[test]
    fn the_slice_is_what_was_asked_for_and_back() {
        let Some(before) = thread_slice_ns().unwrap() else {
            // Asking does no harm.
            return set_thread_slice_ns(200_000).unwrap();
        };
        for (asked, taken) in [(200_000, 200_000), (1, 100_000), (u64::MAX, 100_000_000)] {
            set_thread_slice_ns(asked).unwrap();
            assert_eq!(thread_slice_ns().unwrap(), Some(taken));
            if let Ok(text) = fs::read_to_string("/proc/thread-self/sched") {
                let line = text.lines().find_map(|line| line.strip_prefix("se.slice"));
                if let Some(line) = line {
                    assert!(line.ends_with(&format!(" {taken}")), "{line}");
                }
            }
        }
        set_thread_slice_ns(before).unwrap();
        assert_eq!(thread_slice_ns().unwrap(), Some(before));
    }

    /// The kernel shows the policy in field 41 of `/proc/thread-self/stat`.
    #[test]
    fn a_thread_that_ran_first_has_its_policy_back() {
        let policy = || {
            let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
            // The name, which may contain blanks, ends with the last parenthesis. Field 3 follows.
            let fields = stat.rsplit_once(") ").unwrap().1;
            fields.split(' ').nth(41 - 3).unwrap().to_owned()
        };
        let (policy_before, slice_before) = (policy(), thread_slice_ns().unwrap());
        match run_first() {
            Ok(Some(before)) => {
                assert_eq!(policy(), "1");
                assert!(run_first().unwrap().is_none());
                set_thread_policy(before).unwrap();
            }
            Ok(None) => panic!("a test does not begin with a real-time policy"),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
        }
        assert_eq!(policy(), policy_before);
        assert_eq!(thread_slice_ns().unwrap(), slice_before);
    }
}
