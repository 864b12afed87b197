//! Replies that are read in batches are reported as if each were read separately.

use std::time::{Duration, Instant};

use crate::support::ping::{BACKENDS, complete, open, open_ping_sockets, options};
use lab::{Host, Net};
use tapline::Stopper;
use tapline::ping::{PingEvent, PingOptions, PingSummary};

/// Time between two probes.
const INTERVAL: Duration = Duration::from_millis(40);

/// Records when probes are sent and replies reported.
#[derive(Default)]
struct Reports {
    sent: Vec<Instant>,
    /// For each reply: the round of its probe, its round-trip time, and when it was reported.
    answers: Vec<(u32, Duration, Instant)>,
    /// Stops the run after this many probes.
    stop: Option<(usize, Stopper)>,
}

impl Reports {
    fn event(&mut self, event: &PingEvent) {
        match event {
            PingEvent::Sent { .. } => {
                self.sent.push(Instant::now());
                if let Some((count, stopper)) = &self.stop
                    && self.sent.len() == *count
                {
                    stopper.stop();
                }
            }
            PingEvent::Answer { class, .. } => {
                let rtt = event.rtt().unwrap_or_else(|| panic!("{class:?}"));
                let probe = event.probe().expect("a probe");
                self.answers.push((probe.round, rtt, Instant::now()));
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Runs with `options`, and a `max_wait` for replies.
fn run_patiently(
    host: &Host,
    mut options: PingOptions,
    max_wait: Duration,
    stop_after: Option<usize>,
) -> (PingSummary, Reports) {
    options.max_wait = max_wait;
    let ping = open(host, &options, "10.1.0.2");
    let mut reports = Reports {
        stop: stop_after.map(|count| (count, ping.stopper())),
        ..Reports::default()
    };
    let summary = complete(ping, |event, _| reports.event(event));
    (summary, reports)
}

/// The first reply of a batch is reported after the last was sent, long after its round trip ended.
#[test]
fn answers_are_read_together_and_timed_one_by_one() {
    for backend in BACKENDS {
        let [left, _right] = Net::new().pair();
        open_ping_sockets(&left);
        let mut options = options(backend, 10);
        options.interval = INTERVAL;

        let (summary, reports) = run_patiently(&left, options, Duration::from_mins(1), None);
        let total = summary.statistics.total();
        assert_eq!((total.sent, total.received, total.lost), (10, 10, 0));
        assert_eq!(reports.answers.len(), 10);
        let (first, rtt, told) = reports.answers[0];
        assert_eq!(first, 0);
        let later = reports.sent.iter().filter(|sent| **sent < told).count();
        assert!(later > 4, "{backend:?}: only {later} had left");
        let waited = told.duration_since(reports.sent[0]);
        assert!(
            waited > rtt + 2 * INTERVAL,
            "{backend:?}: {rtt:?} of {waited:?}"
        );
    }
}

/// The timeout of a probe with a reply does not end the wait. From the 17th probe on such timeouts occur.
#[test]
fn answers_are_read_together_as_long_as_the_run_lasts() {
    let [left, _right] = Net::new().pair();
    let mut options = options(BACKENDS[0], 41);
    options.interval = INTERVAL;
    options.timeout = 16 * INTERVAL;

    let (summary, reports) = run_patiently(&left, options, Duration::from_mins(1), None);
    let total = summary.statistics.total();
    assert_eq!((total.sent, total.received, total.lost), (41, 41, 0));
    // Told at once, each of the later ones would be told before the next probe leaves.
    let late = reports.answers.iter().filter(|(round, _, told)| {
        let next = reports.sent.get(*round as usize + 1);
        *round >= 20 && next.is_some_and(|next| next < told)
    });
    let late = late.count();
    assert!(late >= 10, "{late} of 20");
}

/// The wait ends when sending ends: no reply delays the end of a run. A run that missed this would take an hour.
#[test]
fn the_last_answer_ends_the_run() {
    let [left, _right] = Net::new().pair();
    let mut options = options(BACKENDS[0], 1);
    options.interval = Duration::from_hours(1);
    options.timeout = Duration::from_hours(1);

    let (summary, _) = run_patiently(&left, options, Duration::from_hours(1), None);
    assert_eq!(summary.statistics.total().received, 1);
}

#[test]
fn a_run_that_is_stopped_counts_what_has_come() {
    let [left, _right] = Net::new().pair();
    let mut options = options(BACKENDS[0], 1);
    options.interval = INTERVAL;

    options.count = None;
    let (summary, reports) = run_patiently(&left, options, Duration::from_mins(1), Some(4));
    let total = summary.statistics.total();
    // The answer to the last may still be on its way.
    assert_eq!(total.sent, 4);
    assert!(total.received >= 3, "{total:?}");
    assert_eq!(total.received as usize, reports.answers.len());
}
