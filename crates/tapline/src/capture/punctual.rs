//! A thread that wakes when it should.

use std::marker::PhantomData;
use std::num::NonZeroU64;

use abi::slice::{set_thread_slice_ns, thread_slice_ns};
use rustix::thread::{current_timer_slack, set_current_timer_slack};

/// The shortest that the kernel grants: a reader that was woken need not wait for another thread's slice to be
/// over, which takes some milliseconds.
const SLICE_NS: u64 = 100_000;

/// Makes the sleeps of this thread end when their time is over, and not up to 50 µs later, as long as
/// it lives; and on a processor that others keep busy, makes its wake-ups come first.
///
/// It gets no more of the processor than otherwise.
///
/// # Source
/// prctl(2), `PR_SET_TIMERSLACK`; sched_setattr(2), of Linux 6.12.
#[doc(alias = "PR_SET_TIMERSLACK")]
pub(super) struct Punctual {
    /// What was before; `None` where nothing was changed.
    slack_ns: Option<NonZeroU64>,
    /// The same.
    slice_ns: Option<u64>,
    /// It is the thread's.
    _not_send: PhantomData<*const ()>,
}

impl Punctual {
    /// Where the kernel refuses, sleeps are as long as they were.
    pub fn begin() -> Self {
        let slack_ns = current_timer_slack().ok().and_then(NonZeroU64::new);
        let changed = slack_ns.filter(|_| set_current_timer_slack(Some(NonZeroU64::MIN)).is_ok());
        Self {
            slack_ns: changed,
            slice_ns: None,
            _not_send: PhantomData,
        }
    }

    /// As [`begin`](Self::begin), and it comes first. For a reader that works little and often: for one that is
    /// always busy it would mean more changes of threads.
    pub fn begin_prompt() -> Self {
        let mut punctual = Self::begin();
        let slice_ns = thread_slice_ns().ok().flatten();
        let slice_ns = slice_ns.filter(|&before| before > SLICE_NS);
        punctual.slice_ns = slice_ns.filter(|_| set_thread_slice_ns(SLICE_NS).is_ok());
        punctual
    }
}

impl Drop for Punctual {
    fn drop(&mut self) {
        // Values that were allowed before are allowed.
        if self.slack_ns.is_some() {
            let _ = set_current_timer_slack(self.slack_ns);
        }
        if let Some(slice_ns) = self.slice_ns {
            let _ = set_thread_slice_ns(slice_ns);
        }
    }
}
