//! Waits for planned times: sleeps until shortly before, then watches the clock.

use std::io;
use std::time::Duration;

use abi::clock::{monotonic_ns, thread_cpu_ns};
use abi::scheduling::{ThreadPolicy, run_first, set_thread_policy};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::thread::{ClockId, Timespec, clock_nanosleep_absolute};

use super::idle::AwakeCpus;
use crate::stop::Stop;
use crate::wait::wait;

/// Bounds of the time between the end of a sleep and the planned time.
const MIN_MARGIN_NS: u64 = 2_000;
const MAX_MARGIN_NS: u64 = 200_000;

/// Before any sleep was measured: later than most sleeps. A quarter of the gap at most.
const FIRST_MARGIN_NS: u64 = 100_000;

/// Shorter sleeps are not worth a system call.
const MIN_SLEEP_NS: u64 = 10_000;

/// The margin grows by this part of itself after a sleep that ends behind the planned time; by larger parts at first.
const GROWTH: u64 = 64;
const FIRST_GROWTH: u64 = 4;

/// It shrinks by so much less after the others: about one sleep of 400 ends behind the planned time, mostly
/// by little.
const IN_TIME: u64 = 399;

/// The same while the thread takes more than [`MAX_CPU_PERCENT`]: one sleep of twenty.
const IN_TIME_IF_COSTLY: u64 = 19;

/// The thread takes at most so much of a CPU, unless more than a twentieth of the sleeps would end late.
const MAX_CPU_PERCENT: u64 = 29;

/// Waits between two looks at the thread's CPU time. Over fewer, a few late sleeps would look costly.
const WAITS_PER_LOOK: u64 = 320;

/// Times are averaged over about so many waits.
const AVERAGED: u64 = 32;

/// The longest sleep that a request to stop does not end. The sending thread looks for one after some sleeps.
const MAX_DEAF_SLEEP_NS: u64 = 2_000_000;

/// The longest sleep of one system call.
const MAX_SLEEP_NS: u64 = 3_600_000_000_000;

/// How long the thread may run before all others without a sleep.
const MAX_FIRST_NS: u64 = 1_000_000;

/// Waits for planned times. It learns how late sleeps end on this host, and watches the clock for as long before.
#[derive(Debug)]
pub struct Pacer {
    margin_ns: u64,
    /// The average time between two planned times, 0 if unknown.
    gap_ns: u64,
    /// The planned time of the last wait.
    last_ns: Option<u64>,
    waits: u64,
    cost: Cost,
    priority: Priority,
    cpus: AwakeCpus,
}

impl Pacer {
    pub fn new() -> Self {
        Self {
            margin_ns: FIRST_MARGIN_NS,
            gap_ns: 0,
            last_ns: None,
            waits: 0,
            cost: Cost::default(),
            priority: Priority::default(),
            cpus: AwakeCpus::default(),
        }
    }

    /// Waits until `until_ns` (`CLOCK_MONOTONIC`). Returns the time, or `None` if `stop` was requested before.
    pub fn wait_until(&mut self, until_ns: u64, stop: &Stop) -> io::Result<Option<u64>> {
        let mut now_ns = monotonic_ns();
        self.priority.limit(now_ns);
        if self.waits.is_multiple_of(WAITS_PER_LOOK) {
            self.cost.look(now_ns, thread_cpu_ns());
        }
        let mut late_ns = None;
        while now_ns + self.margin_ns + MIN_SLEEP_NS < until_ns {
            let wake_ns = until_ns - self.margin_ns;
            self.priority.raise();
            self.cpus.adapt(self.gap_ns);
            if sleep_until(now_ns, wake_ns, stop)? {
                return Ok(None);
            }
            now_ns = monotonic_ns();
            self.priority.slept(now_ns);
            // It may have been shorter than planned.
            late_ns = now_ns.checked_sub(wake_ns);
        }
        // Without a sleep nothing is learned, so that a margin that is too large must shrink by itself.
        self.learn(late_ns.unwrap_or(0), until_ns);
        while now_ns < until_ns {
            std::hint::spin_loop();
            now_ns = monotonic_ns();
        }
        Ok(Some(now_ns))
    }

    /// The thread is about to do something else than to send at planned times.
    pub fn pause(&mut self) {
        self.priority.lower();
        self.cpus.end();
    }

    /// Takes a sleep into account that ended `late_ns` late; the planned time was `until_ns`. The margin becomes the lateness
    /// that one sleep of 400 exceeds, or one of twenty if that costs too much. Single late ones, while another thread has the
    /// CPU, change it little.
    fn learn(&mut self, late_ns: u64, until_ns: u64) {
        let gap_ns = self.last_ns.map_or(0, |last| until_ns.saturating_sub(last));
        self.last_ns = Some(until_ns);
        if self.gap_ns == 0 && gap_ns > 0 {
            self.gap_ns = gap_ns;
            self.margin_ns = self.margin_ns.min(gap_ns / 4);
        }
        average(&mut self.gap_ns, gap_ns.min(MAX_SLEEP_NS));
        let in_time = if self.cost.is_high {
            IN_TIME_IF_COSTLY
        } else {
            IN_TIME
        };
        self.waits += 1;
        let step_ns = self.margin_ns / (FIRST_GROWTH + self.waits / 4).min(GROWTH);
        let margin_ns = if late_ns > self.margin_ns {
            self.margin_ns + step_ns
        } else {
            self.margin_ns - step_ns.div_ceil(in_time)
        };
        self.margin_ns = margin_ns.clamp(MIN_MARGIN_NS, self.most_margin_ns());
    }

    /// At least half of the time is slept.
    fn most_margin_ns(&self) -> u64 {
        if self.gap_ns == 0 {
            return MAX_MARGIN_NS;
        }
        (self.gap_ns / 2).clamp(MIN_MARGIN_NS, MAX_MARGIN_NS)
    }
}

/// Moves an average a step towards a value.
fn average(average_ns: &mut u64, value_ns: u64) {
    *average_ns = (*average_ns * (AVERAGED - 1) + value_ns) / AVERAGED;
}

/// Whether the thread takes much of a CPU: for sleeps and sending, and for watching the clock.
#[derive(Debug, Default)]
struct Cost {
    /// The time and the thread's CPU time at the last look.
    last: Option<(u64, u64)>,
    is_high: bool,
}

impl Cost {
    fn look(&mut self, now_ns: u64, cpu_ns: u64) {
        if let Some((last_ns, last_cpu_ns)) = self.last.replace((now_ns, cpu_ns)) {
            let percent = 100 * u128::from(cpu_ns.saturating_sub(last_cpu_ns));
            let most = u128::from(MAX_CPU_PERCENT) * u128::from(now_ns.saturating_sub(last_ns));
            self.is_high = percent > most;
        }
    }
}

/// Whether this thread runs before all others when it wakes. Only as long as it sleeps most of the time: it never keeps
/// others from their CPU for long.
#[derive(Debug, Default)]
struct Priority {
    /// The policy before; `None` if it was not changed.
    before: Option<ThreadPolicy>,
    /// The kernel refused to change it.
    is_refused: bool,
    slept_ns: u64,
}

impl Priority {
    fn raise(&mut self) {
        if self.before.is_none() && !self.is_refused {
            self.before = run_first().ok().flatten();
            self.is_refused = self.before.is_none();
        }
    }

    fn slept(&mut self, now_ns: u64) {
        self.slept_ns = now_ns;
    }

    /// Ends it if the thread has not slept for long.
    fn limit(&mut self, now_ns: u64) {
        if self.before.is_some() && now_ns - self.slept_ns > MAX_FIRST_NS {
            self.lower();
        }
    }

    fn lower(&mut self) {
        if let Some(before) = self.before.take() {
            // It was allowed before.
            let _ = set_thread_policy(before);
        }
    }
}

/// Sleeps until `wake_ns`, or for as long as one system call may. Returns whether `stop` was requested.
fn sleep_until(now_ns: u64, wake_ns: u64, stop: &Stop) -> io::Result<bool> {
    let sleep_ns = wake_ns - now_ns;
    if sleep_ns > MAX_DEAF_SLEEP_NS {
        return is_stopped(stop, (sleep_ns - MAX_DEAF_SLEEP_NS / 2).min(MAX_SLEEP_NS));
    }
    // It costs less CPU time than poll(2).
    let wake = Timespec {
        tv_sec: (wake_ns / 1_000_000_000).cast_signed(),
        tv_nsec: (wake_ns % 1_000_000_000).cast_signed(),
    };
    match clock_nanosleep_absolute(ClockId::Monotonic, &wake) {
        Ok(()) | Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether `stop` is requested within `wait_ns`.
pub fn is_stopped(stop: &Stop, wait_ns: u64) -> io::Result<bool> {
    wait(
        &mut [PollFd::new(stop, PollFlags::IN)],
        Duration::from_nanos(wait_ns),
    )
}

/// Waits for `time`, or until a signal.
pub fn pause(time: Duration) -> io::Result<()> {
    wait(&mut [], time).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP_NS: u64 = 1_000_000;

    /// The margin after sleeps that end late by turns, one every `gap_ns`. Each costs `timer_ns` of CPU time, and that for
    /// which the clock is watched.
    fn margin(gap_ns: u64, timer_ns: u64, late_ns: &[u64]) -> u64 {
        let mut pacer = Pacer::new();
        let mut cpu_ns = 0;
        for (late_ns, number) in late_ns.iter().cycle().zip(0..100_000) {
            cpu_ns += timer_ns + pacer.margin_ns.saturating_sub(*late_ns);
            pacer.cost.look(number * gap_ns, cpu_ns);
            pacer.learn(*late_ns, number * gap_ns);
        }
        pacer.margin_ns
    }

    /// One of `each` sleeps ends 15 µs late, the others 5 µs.
    fn rarely_late(each: usize) -> Vec<u64> {
        let mut late_ns = vec![5_000; each - 1];
        late_ns.push(15_000);
        late_ns
    }

    fn assert_within(margin_ns: u64, bounds: std::ops::Range<u64>) {
        assert!(bounds.contains(&margin_ns), "{margin_ns} in {bounds:?}");
    }

    #[test]
    fn the_margin_is_a_lateness_that_few_sleeps_exceed() {
        assert_within(margin(GAP_NS, 0, &[5_000]), 4_900..5_500);
        assert_within(margin(GAP_NS, 0, &rarely_late(30)), 14_000..16_000);
        assert_within(margin(GAP_NS, 0, &rarely_late(500)), 4_900..5_500);
        assert_eq!(margin(GAP_NS, 0, &[0]), MIN_MARGIN_NS);
        assert_eq!(margin(GAP_NS, 0, &[u64::MAX]), MAX_MARGIN_NS);
    }

    #[test]
    fn the_margin_is_found_soon() {
        let mut pacer = Pacer::new();
        for number in 0..10 {
            pacer.learn(150_000, number * GAP_NS);
        }
        assert_within(pacer.margin_ns, 150_000..200_000);
    }

    #[test]
    fn the_thread_takes_a_bounded_part_of_a_cpu() {
        let gap_ns = 100_000;
        // 29 µs of each gap: those that the timer leaves are enough for the late ones, or not.
        assert_within(margin(gap_ns, 17_000, &rarely_late(30)), 14_000..16_000);
        assert_within(margin(gap_ns, 20_000, &rarely_late(30)), 11_000..14_500);
        assert_within(margin(gap_ns, 25_000, &rarely_late(4)), 14_000..16_000);
        assert_eq!(margin(gap_ns, 0, &[u64::MAX]), gap_ns / 2);
    }
}
