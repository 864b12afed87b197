//! Thread settings that make the reader wake on time.

use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use abi::scheduling::{set_thread_slice_ns, thread_slice_ns};
use rustix::thread::{current_timer_slack, set_current_timer_slack};

/// The shortest slice that the kernel grants. A woken reader then need not wait for the end of another
/// thread's slice, which takes some milliseconds.
const SLICE_NS: u64 = 100_000;

/// While it lives, sleeps of this thread end on time instead of up to 50 µs late, and on a busy CPU its
/// wake-ups come first. The thread gets no larger share of the CPU.
///
/// A thread may have several: the last one that it drops restores its settings, in whatever order. Another thread cannot
/// restore them. If the last one is dropped there, the settings stay until the thread has another one and drops it.
///
/// # Source
/// prctl(2), `PR_SET_TIMERSLACK`; sched_setattr(2), of Linux 6.12.
#[doc(alias = "PR_SET_TIMERSLACK")]
pub struct PreciseWakeup {
    /// The thread whose settings were changed.
    thread: ThreadId,
    /// The settings that all guards of this thread share.
    settings: Arc<Mutex<Settings>>,
    is_prompt: bool,
}

thread_local! {
    static SETTINGS: Arc<Mutex<Settings>> = Arc::default();
}

/// The settings of a thread.
#[derive(Default)]
struct Settings {
    slack: Setting,
    slice: Setting,
}

/// A setting that some change together.
#[derive(Default)]
struct Setting {
    /// How many need the changed value.
    users: usize,
    /// The value before; `None` if it is not changed.
    before: Option<u64>,
}

impl Setting {
    /// `change` returns the value before, if it can change it.
    fn begin(&mut self, change: impl FnOnce() -> Option<u64>) {
        self.users += 1;
        self.before = self.before.or_else(change);
    }

    fn end(&mut self, is_of_this_thread: bool, restore: impl FnOnce(u64)) {
        self.users -= 1;
        // A value that was allowed before is allowed.
        if self.users == 0
            && is_of_this_thread
            && let Some(before) = self.before.take()
        {
            restore(before);
        }
    }
}

fn shorten_slack() -> Option<u64> {
    let slack_ns = current_timer_slack().ok().filter(|&before| before > 1)?;
    set_current_timer_slack(Some(NonZeroU64::MIN)).ok()?;
    Some(slack_ns)
}

fn shorten_slice() -> Option<u64> {
    let slice_ns = thread_slice_ns().ok().flatten();
    let slice_ns = slice_ns.filter(|&before| before > SLICE_NS)?;
    set_thread_slice_ns(SLICE_NS).ok()?;
    Some(slice_ns)
}

impl PreciseWakeup {
    /// Sleeps end on time. Where the kernel refuses, they last as long as before.
    pub fn begin() -> Self {
        Self::new(false)
    }

    /// As [`begin`](Self::begin), and wake-ups come first. For a reader that works little and often: one that
    /// is always busy would cause more context switches.
    pub fn begin_prompt() -> Self {
        Self::new(true)
    }

    fn new(is_prompt: bool) -> Self {
        // A thread that ends has none any more.
        let settings = SETTINGS.try_with(Arc::clone).unwrap_or_default();
        let mut held = settings.lock().unwrap_or_else(PoisonError::into_inner);
        held.slack.begin(shorten_slack);
        if is_prompt {
            held.slice.begin(shorten_slice);
        }
        drop(held);
        Self {
            thread: thread::current().id(),
            settings,
            is_prompt,
        }
    }
}

impl Drop for PreciseWakeup {
    fn drop(&mut self) {
        let is_of_this_thread = self.thread == thread::current().id();
        let settings = self.settings.lock();
        let mut settings = settings.unwrap_or_else(PoisonError::into_inner);
        settings.slack.end(is_of_this_thread, |before| {
            let _ = set_current_timer_slack(NonZeroU64::new(before));
        });
        if self.is_prompt {
            settings.slice.end(is_of_this_thread, |before| {
                let _ = set_thread_slice_ns(before);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slack_ns() -> u64 {
        current_timer_slack().expect("the slack")
    }

    #[test]
    fn the_last_one_that_a_thread_drops_restores_its_settings() {
        let (slack_before, slice_before) = (slack_ns(), thread_slice_ns().ok());
        assert!(slack_before > 1);
        for is_opposite in [false, true] {
            let [first, second] = [PreciseWakeup::begin(), PreciseWakeup::begin_prompt()];
            let (first, second) = if is_opposite {
                (second, first)
            } else {
                (first, second)
            };
            assert_eq!(slack_ns(), 1);
            drop(first);
            assert_eq!(slack_ns(), 1);
            drop(second);
            assert_eq!(slack_ns(), slack_before);
            assert_eq!(thread_slice_ns().ok(), slice_before);
        }
        // Another thread cannot restore them, and the next one does.
        let first = PreciseWakeup::begin();
        let dropped = thread::spawn(move || drop(first));
        dropped.join().expect("it ends");
        assert_eq!(slack_ns(), 1);
        drop(PreciseWakeup::begin());
        assert_eq!(slack_ns(), slack_before);
    }
}
