//! Signals that a thread blocks: those that its own system calls cause, and those that are for threads of the program.

use std::mem::MaybeUninit;
use std::ptr;

/// Calls `body` without the SIGPIPE that its writes may cause: they fail with EPIPE alone.
///
/// The kernel sends SIGPIPE to the thread that writes to a pipe or socket without a reader, and by default that ends the
/// process. The thread blocks the signal during the call and removes it at the end. If the caller had blocked it
/// before, it stays pending, as after any other write.
///
/// Cost: two or three system calls.
///
/// # Source
/// `anon_pipe_write`, fs/pipe.c; pthread_sigmask(3), sigtimedwait(2).
#[doc(alias = "SIGPIPE")]
pub fn without_sigpipe<R>(body: impl FnOnce() -> R) -> R {
    let _blocked = BlockedSigpipe::new();
    body()
}

/// Blocks SIGPIPE for the calling thread as long as it lives.
struct BlockedSigpipe {
    sigpipe: libc::sigset_t,
    /// What the thread blocked before.
    before: libc::sigset_t,
}

impl BlockedSigpipe {
    fn new() -> Self {
        let mut sigpipe = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: the place is valid for the call.
        unsafe { libc::sigemptyset(sigpipe.as_mut_ptr()) };
        // SAFETY: an initialised set, and a signal that exists.
        unsafe { libc::sigaddset(sigpipe.as_mut_ptr(), libc::SIGPIPE) };
        // SAFETY: both places are valid for the call, and the set is initialised.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, sigpipe.as_ptr(), before.as_mut_ptr()) };
        Self {
            // SAFETY: `sigemptyset` has initialised it.
            sigpipe: unsafe { sigpipe.assume_init() },
            // SAFETY: `pthread_sigmask` has filled it: it only fails for an operation that does not exist.
            before: unsafe { before.assume_init() },
        }
    }
}

impl Drop for BlockedSigpipe {
    fn drop(&mut self) {
        // SAFETY: an initialised set, and a signal that exists.
        if unsafe { libc::sigismember(&raw const self.before, libc::SIGPIPE) } == 1 {
            return;
        }
        // The signal was not blocked before, so none was pending: what is pending now comes from `body`.
        let at_once = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the set and the time are valid for the call, and nothing is reported about the signal.
        unsafe { libc::sigtimedwait(&raw const self.sigpipe, ptr::null_mut(), &raw const at_once) };
        // SAFETY: the set is initialised, and nothing is reported about the mask.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut())
        };
    }
}

/// Signals that a fault of a thread causes. It cannot wait: if the thread blocks it, the kernel ends the process without calling
/// the handler.
const FAULTS: [libc::c_int; 6] = [
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGSEGV,
    libc::SIGSYS,
    libc::SIGTRAP,
];

/// Calls `body` while the calling thread blocks all signals, except those that faults cause. A thread that `body` starts blocks
/// them, too, for as long as it lives. So signals of the process go to the threads of the program: its handlers run there, and
/// a signal that all of them block waits for sigwait(3) or signalfd(2).
///
/// Every thread that the library starts is started with it.
///
/// Cost: two system calls.
///
/// # Source
/// pthread_sigmask(3): a new thread inherits the mask of the one that creates it.
pub fn with_signals_blocked<R>(body: impl FnOnce() -> R) -> R {
    let _blocked = BlockedSignals::new();
    body()
}

/// Blocks signals for the calling thread as long as it lives.
struct BlockedSignals {
    /// What the thread blocked before.
    before: libc::sigset_t,
}

impl BlockedSignals {
    fn new() -> Self {
        let mut all = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: the place is valid for the call.
        unsafe { libc::sigfillset(all.as_mut_ptr()) };
        for fault in FAULTS {
            // SAFETY: an initialised set, and a signal that exists.
            unsafe { libc::sigdelset(all.as_mut_ptr(), fault) };
        }
        // SAFETY: both places are valid for the call, and the set is initialised.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr()) };
        Self {
            // SAFETY: `pthread_sigmask` has filled it: it only fails for an operation that does not exist.
            before: unsafe { before.assume_init() },
        }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: the set is initialised, and nothing is reported about the mask.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut())
        };
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Write, pipe};

    use super::*;

    /// What a thread with the default action of SIGPIPE, or one that blocks it, sees of a write to a closed pipe.
    fn is_pending() -> bool {
        let mut pending = MaybeUninit::uninit();
        // SAFETY: the place is valid for the call.
        unsafe { libc::sigpending(pending.as_mut_ptr()) };
        // SAFETY: `sigpending` has filled it.
        unsafe { libc::sigismember(pending.as_ptr(), libc::SIGPIPE) == 1 }
    }

    /// Whether the calling thread blocks a signal.
    fn is_blocked(signal: libc::c_int) -> bool {
        let mut mask = MaybeUninit::uninit();
        // SAFETY: the place is valid for the call, which changes nothing.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), mask.as_mut_ptr()) };
        // SAFETY: `pthread_sigmask` has filled it.
        unsafe { libc::sigismember(mask.as_ptr(), signal) == 1 }
    }

    #[test]
    fn a_thread_that_is_started_with_signals_blocked_blocks_them() {
        let blocked = || [libc::SIGINT, libc::SIGUSR1, libc::SIGSEGV].map(is_blocked);
        let before = blocked();
        let started = with_signals_blocked(|| std::thread::spawn(blocked));
        assert_eq!(started.join().expect("it ends"), [true, true, false]);
        assert_eq!(blocked(), before);
    }

    #[test]
    fn a_write_to_a_closed_pipe_is_an_error_and_leaves_no_signal() {
        let (reader, mut writer) = pipe().expect("a pipe");
        drop(reader);
        let mut write = || writer.write(b"lost").map_err(|error| error.kind());
        // Rust programs ignore SIGPIPE. Only a signal with an action becomes pending.
        // SAFETY: the default action, which nothing else in this process relies on.
        let before = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        assert_eq!(without_sigpipe(&mut write), Err(ErrorKind::BrokenPipe));
        assert!(!is_pending());
        {
            let _blocked_before = BlockedSigpipe::new();
            assert_eq!(without_sigpipe(&mut write), Err(ErrorKind::BrokenPipe));
            assert!(is_pending(), "the caller's own block stays");
        }
        assert!(!is_pending());
        // SAFETY: the action from before.
        unsafe { libc::signal(libc::SIGPIPE, before) };
    }
}
