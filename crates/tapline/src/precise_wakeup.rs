//! Thread settings that make the reader wake on time.

use std::num::NonZeroU64;
use std::thread::{self, ThreadId};

use abi::scheduling::{set_thread_slice_ns, thread_slice_ns};
use rustix::thread::{current_timer_slack, set_current_timer_slack};

/// The shortest slice that the kernel grants. A woken reader then need not wait for the end of another
/// thread's slice, which takes some milliseconds.
const SLICE_NS: u64 = 100_000;

/// While it lives, sleeps of this thread end on time instead of up to 50 µs late, and on a busy CPU its
/// wake-ups come first. The thread gets no larger share of the CPU.
///
/// # Source
/// prctl(2), `PR_SET_TIMERSLACK`; sched_setattr(2), of Linux 6.12.
#[doc(alias = "PR_SET_TIMERSLACK")]
pub struct PreciseWakeup {
    /// The thread whose settings were changed.
    thread: ThreadId,
    /// The slack before; `None` if it was not changed.
    slack_ns: Option<NonZeroU64>,
    /// The slice before; `None` if it was not changed.
    slice_ns: Option<u64>,
}

impl PreciseWakeup {
    /// Sleeps end on time. Where the kernel refuses, they last as long as before.
    pub fn begin() -> Self {
        let slack_ns = current_timer_slack().ok().and_then(NonZeroU64::new);
        let changed = slack_ns.filter(|_| set_current_timer_slack(Some(NonZeroU64::MIN)).is_ok());
        Self {
            thread: thread::current().id(),
            slack_ns: changed,
            slice_ns: None,
        }
    }

    /// As [`begin`](Self::begin), and wake-ups come first. For a reader that works little and often: one that
    /// is always busy would cause more context switches.
    pub fn begin_prompt() -> Self {
        let mut precise = Self::begin();
        let slice_ns = thread_slice_ns().ok().flatten();
        let slice_ns = slice_ns.filter(|&before| before > SLICE_NS);
        precise.slice_ns = slice_ns.filter(|_| set_thread_slice_ns(SLICE_NS).is_ok());
        precise
    }

    /// Whether the settings are those of the calling thread.
    pub fn is_of_this_thread(&self) -> bool {
        self.thread == thread::current().id()
    }
}

impl Drop for PreciseWakeup {
    fn drop(&mut self) {
        // Another thread's settings cannot be restored from here.
        if !self.is_of_this_thread() {
            return;
        }
        // Values that were allowed before are allowed.
        if self.slack_ns.is_some() {
            let _ = set_current_timer_slack(self.slack_ns);
        }
        if let Some(slice_ns) = self.slice_ns {
            let _ = set_thread_slice_ns(slice_ns);
        }
    }
}
