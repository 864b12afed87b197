//! Answers that are read together: what is told of each is what it would be, read by itself.

#[path = "support/ping.rs"]
mod ping;

use std::time::{Duration, Instant};

use lab::Net;
use ping::{BACKENDS, open_ping_sockets, options, targets};
use tapline::ping::{Event, Observer, Pinger};
use tapline::probe::{Prober, Verdict};
use tapline::{Stop, Stopper};

/// Time between two probes.
const INTERVAL: Duration = Duration::from_millis(40);

/// Notes when probes leave and answers are told of.
struct Patient {
    patience: Duration,
    sent: Vec<Instant>,
    /// Of each answer: the number of its probe, its round trip, and when it was told.
    told: Vec<(u32, Duration, Instant)>,
    /// Stops the run when so many probes have left.
    stop: Option<(usize, Stopper)>,
}

impl Patient {
    fn new(patience: Duration) -> Self {
        Self {
            patience,
            sent: Vec::new(),
            told: Vec::new(),
            stop: None,
        }
    }
}

impl Observer for Patient {
    fn event(&mut self, event: &Event<'_>, _: &Prober) {
        match event {
            Event::Sent { .. } => {
                self.sent.push(Instant::now());
                if let Some((count, stopper)) = &self.stop
                    && self.sent.len() == *count
                {
                    stopper.stop();
                }
            }
            Event::Answer { verdict, .. } => {
                let Verdict::Received {
                    probe,
                    rtt_ns: Some(rtt_ns),
                    ..
                } = verdict
                else {
                    panic!("{verdict:?}");
                };
                let rtt = Duration::from_nanos(*rtt_ns);
                self.told.push((probe.round, rtt, Instant::now()));
            }
            other => panic!("{other:?}"),
        }
    }

    fn patience(&self) -> Duration {
        self.patience
    }
}

/// The first of a group is told of when the last has left; its round trip ended long before.
#[test]
fn answers_are_read_together_and_timed_one_by_one() {
    for backend in BACKENDS {
        let [left, _right] = Net::new().pair();
        open_ping_sockets(&left);
        let options = tapline::ping::Options {
            interval: INTERVAL,
            ..options(backend, 10)
        };
        let pinger = left.run(|| Pinger::open(targets("10.1.0.2"), &options).unwrap());
        let mut patient = Patient::new(Duration::from_mins(1));
        let outcome = pinger.run(&mut patient, &Stop::new().unwrap());
        let total = outcome.prober.total();
        assert_eq!((total.sent, total.received, total.lost), (10, 10, 0));
        assert_eq!(patient.told.len(), 10);
        let (first, rtt, told) = patient.told[0];
        assert_eq!(first, 0);
        let later = patient.sent.iter().filter(|sent| **sent < told).count();
        assert!(later > 4, "{backend:?}: only {later} had left");
        let waited = told.duration_since(patient.sent[0]);
        assert!(
            waited > rtt + 2 * INTERVAL,
            "{backend:?}: {rtt:?} of {waited:?}"
        );
    }
}

/// What is settled does not end the patience when its time is over, as it is from the 17th probe on.
#[test]
fn answers_are_read_together_as_long_as_the_run_lasts() {
    let [left, _right] = Net::new().pair();
    let options = tapline::ping::Options {
        interval: INTERVAL,
        timeout: 16 * INTERVAL,
        ..options(BACKENDS[0], 41)
    };
    let pinger = left.run(|| Pinger::open(targets("10.1.0.2"), &options).unwrap());
    let mut patient = Patient::new(Duration::from_mins(1));
    let outcome = pinger.run(&mut patient, &Stop::new().unwrap());
    let total = outcome.prober.total();
    assert_eq!((total.sent, total.received, total.lost), (41, 41, 0));
    // Told at once, each of the later ones would be told before the next probe leaves.
    let late = patient.told.iter().filter(|(round, _, told)| {
        let next = patient.sent.get(*round as usize + 1);
        *round >= 20 && next.is_some_and(|next| next < told)
    });
    let late = late.count();
    assert!(late >= 10, "{late} of 20");
}

/// Patience ends with the sending: no answer ends a run later than it comes. A run that did not notice would take an hour.
#[test]
fn the_last_answer_ends_the_run() {
    let [left, _right] = Net::new().pair();
    let options = tapline::ping::Options {
        interval: Duration::from_hours(1),
        timeout: Duration::from_hours(1),
        ..options(BACKENDS[0], 1)
    };
    let pinger = left.run(|| Pinger::open(targets("10.1.0.2"), &options).unwrap());
    let mut patient = Patient::new(Duration::from_hours(1));
    let outcome = pinger.run(&mut patient, &Stop::new().unwrap());
    assert_eq!(outcome.prober.total().received, 1);
}

#[test]
fn a_run_that_is_stopped_counts_what_has_come() {
    let [left, _right] = Net::new().pair();
    let mut options = tapline::ping::Options {
        interval: INTERVAL,
        ..options(BACKENDS[0], 1)
    };
    options.count = None;
    let pinger = left.run(|| Pinger::open(targets("10.1.0.2"), &options).unwrap());
    let stop = Stop::new().unwrap();
    let mut patient = Patient::new(Duration::from_mins(1));
    patient.stop = Some((4, stop.stopper()));
    let outcome = pinger.run(&mut patient, &stop);
    let total = outcome.prober.total();
    // The answer to the last may still be on its way.
    assert_eq!(total.sent, 4);
    assert!(total.received >= 3, "{total:?}");
    assert_eq!(total.received as usize, patient.told.len());
}
