//! Setting the wall clock during a ping is reported, and no probe is lost or wrongly timed. A test may not set the
//! clock of the machine, so it runs in user-mode-linux.

use crate::UML;
use std::fs;
use std::time::{Duration, Instant, SystemTime};

use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};
use tapline::ping::targets::{NoResolver, Targets, TargetsBuilder};
use tapline::ping::{Backend, Classification, Ended, PingEvent, PingSummary};
use tapline_lab::Host;

const HOUR_S: i64 = 3600;
const SECOND_NS: i64 = 1_000_000_000;
/// The clock is set by so many seconds, each time after three answers that were timed.
const STEPS_S: [i64; 2] = [HOUR_S, -2 * HOUR_S];
const TIMED: usize = 3;
/// Enough for that, and for as many timed answers afterwards, even where some come together.
const COUNT: usize = 20;
/// For all that a machine under load adds, and far below a step.
const TOLERANCE_NS: u64 = 60_000_000_000;

/// Whether the test has been run under user-mode-linux, as it has on any machine but that.
#[track_caller]
fn has_run() -> bool {
    UML.has_run()
}

/// Sets the wall clock of user-mode-linux, and of no other kernel.
fn set_clock(by_s: i64) {
    let processor = fs::read_to_string("/proc/cpuinfo").expect("the kernel tells");
    assert!(processor.contains("User Mode Linux"), "{processor}");
    let now = clock_gettime(ClockId::Realtime);
    let then = Timespec {
        tv_sec: now.tv_sec + by_s,
        ..now
    };
    clock_settime(ClockId::Realtime, then).expect("the clock is set");
}

#[track_caller]
fn assert_near(found_ns: i64, expected_s: i64) {
    assert!(
        found_ns.abs_diff(expected_s * SECOND_NS) < TOLERANCE_NS,
        "{found_ns} ns for {expected_s} s"
    );
}

fn targets(words: &str) -> Targets {
    let mut builder = TargetsBuilder::default();
    builder.add_list(words, &mut NoResolver).expect("targets");
    builder.build().expect("not too many")
}

/// Sets the clock between answers, and records what is reported.
#[derive(Debug, Default)]
struct Setter {
    /// The round trip of each answer, and when it came by the kernel's stamp.
    answers: Vec<(Option<u64>, i64)>,
    /// The timed answers since the latest step was reported.
    timed: usize,
    /// After how many answers the clock was set.
    sets: Vec<usize>,
    /// After how many answers a step was told, and of how many nanoseconds.
    steps: Vec<(usize, i64)>,
}

impl Setter {
    fn answer(&mut self, class: Classification, wall_ns: Option<u64>) {
        let Classification::Received { rtt_ns, .. } = class else {
            panic!("{class:?}");
        };
        let stamp_ns = wall_ns.expect("the kernel stamps").cast_signed();
        self.answers.push((rtt_ns, stamp_ns));
        self.timed += usize::from(rtt_ns.is_some());
        let done = self.sets.len();
        if self.timed >= TIMED
            && self.steps.len() == done
            && let Some(by_s) = STEPS_S.get(done)
        {
            set_clock(*by_s);
            self.sets.push(self.answers.len());
        }
    }

    #[track_caller]
    fn check(&self) {
        assert_eq!(self.steps.len(), STEPS_S.len(), "{self:?}");
        assert_eq!(self.sets.len(), STEPS_S.len(), "{self:?}");
        let ends = [self.sets[1], COUNT];
        for (at, by_s) in STEPS_S.into_iter().enumerate() {
            let (set, (told, by_ns), end) = (self.sets[at], self.steps[at], ends[at]);
            assert!((set..end).contains(&told), "{self:?}");
            assert_near(by_ns, by_s);
            // The kernel stamps by the clock as it is set.
            assert_near(self.answers[end - 1].1 - self.answers[set - 1].1, by_s);
            // Of the answer by which it was noticed nobody can say by which clock it was stamped.
            assert_eq!(self.answers[told].0, None, "{self:?}");
        }
        assert!(self.timed >= TIMED, "timed again: {self:?}");
        let mut rtts = self.answers.iter().filter_map(|(rtt_ns, _)| *rtt_ns);
        assert!(rtts.all(|rtt_ns| rtt_ns < TOLERANCE_NS), "{self:?}");
    }
}

impl Setter {
    fn event(&mut self, event: &PingEvent) {
        match event {
            PingEvent::Answer { class, wall_ns, .. } => self.answer(*class, *wall_ns),
            PingEvent::ClockStep { by_ns } => {
                self.steps.push((self.answers.len(), *by_ns));
                self.timed = 0;
            }
            PingEvent::Lost { probe } => panic!("{probe:?} was lost"),
            _ => {}
        }
    }
}

fn ping(backend: Backend, target: &str) -> (PingSummary, Setter) {
    let host = Host::new("alone");
    host.set_sysctl("ipv4/ping_group_range", "0 2147483647");
    let ping = tapline::ping(targets(target))
        .count(COUNT as u32)
        .interval(Duration::from_millis(20))
        .timeout(Duration::from_secs(10))
        .backend(backend);
    let ping = host.run(|| ping.open());
    let mut ping = ping.unwrap_or_else(|error| panic!("{error}: {error:?}"));
    let mut setter = Setter::default();
    ping.run(|event, _| setter.event(event))
        .expect("it can wait");
    (ping.finish().expect("a summary"), setter)
}

/// What the wall clock said at `start`, had it been set then as it is now: nanoseconds since 1970.
fn wall_ns_at(start: Instant) -> i64 {
    let then = SystemTime::now() - start.elapsed();
    let wall = then.duration_since(SystemTime::UNIX_EPOCH);
    let wall = wall.expect("it is after 1970");
    wall.as_nanos().try_into().expect("before 2262")
}

fn check(backend: Backend) {
    for target in ["127.0.0.1", "::1"] {
        let start = Instant::now();
        let before_ns = wall_ns_at(start);
        let (summary, setter) = ping(backend, target);
        assert_near(wall_ns_at(start) - before_ns, STEPS_S.iter().sum());

        assert!(matches!(summary.ended, Ended::Count), "{:?}", summary.ended);
        assert_eq!(summary.backend, backend);
        let (total, others) = (
            summary.statistics.total(),
            summary.statistics.other_counts(),
        );
        let count = COUNT as u64;
        assert_eq!((total.sent, total.received), (count, count), "{total:?}");
        assert_eq!((total.lost, total.late, total.duplicate), (0, 0, 0));
        assert_eq!(summary.clock_steps, 2, "{target} {setter:?}");
        setter.check();
        let untimed = setter.answers.iter().filter(|(rtt, _)| rtt.is_none());
        assert_eq!(others.untimed, untimed.count() as u64, "{others:?}");
    }
}

#[test]
fn a_clock_that_is_set_is_noticed_by_raw_sockets() {
    if !has_run() {
        check(Backend::Raw);
    }
}

#[test]
fn a_clock_that_is_set_is_noticed_by_ping_sockets() {
    if !has_run() {
        check(Backend::PingSocket);
    }
}

#[test]
fn a_clock_that_is_set_is_noticed_by_a_ring() {
    if !has_run() {
        check(Backend::Ring);
    }
}
