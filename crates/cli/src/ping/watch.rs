//! What happens during a run besides output: status requests, metrics, and the early end of a run.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tapline::Stopper;
use tapline::ping::{Classification, PingEvent, Prober};

use super::output::figures::PingFigures;
use super::output::milliseconds::summary_ms;
use super::output::reporter::Reporter;
use super::output::{target_changes, warnings};
use super::sweep_state::SweepState;
use super::timeline::Timeline;
use crate::failure::Failure;
use crate::metrics::{ChangeCounts, LatestMetrics, ping_families};
use crate::screen::{self, Progress};

/// Time between two updates of the metrics.
const METRICS_PERIOD: Duration = Duration::from_secs(1);
/// Weight of a new round trip in the moving average, as in ping.
const SMOOTHING: f64 = 8.0;

/// Passes events to the reporter, and handles the rest.
pub struct Watch<'a> {
    pub reporter: &'a mut dyn Reporter,
    /// Set by SIGQUIT, which requests a status line.
    pub status_request: Arc<AtomicBool>,
    pub stopper: Stopper,
    /// The error of standard output that ended the reports.
    pub failed: Option<io::Error>,
    pub latest: Option<Arc<LatestMetrics>>,
    /// When the metrics were updated.
    pub updated: Instant,
    /// Number of replies that end the run.
    pub max_replies: Option<u32>,
    /// Shown instead of answers.
    pub progress: Option<Progress>,
    /// Moving average of the round trips.
    pub smoothed_ns: Option<f64>,
    pub changes: ChangeCounts,
    /// The reporter prints changes of the targets itself.
    pub is_json: bool,
    /// The file of a sweep, and why it could not be written.
    pub state: Option<SweepState>,
    pub unkept: Option<Failure>,
    /// For the page of `--report`.
    pub timeline: Option<Timeline>,
}

impl Watch<'_> {
    pub fn event(&mut self, event: &PingEvent, statistics: &Prober) {
        if self.failed.is_some() {
            return;
        }
        if self.is_complete(statistics) {
            self.stopper.stop();
        }
        match event {
            PingEvent::Answer {
                class:
                    Classification::Received {
                        rtt_ns: Some(rtt_ns),
                        ..
                    },
                ..
            } => {
                let rtt = *rtt_ns as f64;
                let smoothed = self.smoothed_ns.unwrap_or(rtt);
                self.smoothed_ns = Some(smoothed + (rtt - smoothed) / SMOOTHING);
            }
            PingEvent::TargetChange { target, change } => {
                self.changes.count(change);
                if !self.is_json {
                    target_changes::changed(statistics, *target, change);
                }
            }
            PingEvent::TargetsReplaced {
                added,
                removed,
                unchanged,
            } if !self.is_json => target_changes::replaced(*added, *removed, *unchanged),
            PingEvent::NotAdded { .. } => warnings::warn(&event.to_string()),
            PingEvent::UplinkLimit { .. } => {
                warnings::warn(&format!("{event} (--yes-on-uplink permits more)"));
            }
            PingEvent::Tick { overruns } => self.tick(statistics, *overruns),
            PingEvent::ClockStep { by_ns } => {
                let seconds = *by_ns as f64 / 1e9;
                warnings::warn(&format!(
                    "the wall clock was set by {seconds:+.3} s: replies of that moment have no round-trip time"
                ));
            }
            _ => {}
        }
        if let Err(error) = self.reporter.event(event, statistics) {
            self.failed = Some(error);
            self.stopper.stop();
            return;
        }
        // What the state says has ended was printed before.
        if let (PingEvent::Tick { .. }, Some(state)) = (event, &mut self.state)
            && let Err(failure) = state.keep(statistics)
        {
            self.unkept = Some(failure);
            self.stopper.stop();
        }
    }

    /// Whether the requested number of replies, or an error, has arrived.
    fn is_complete(&self, statistics: &Prober) -> bool {
        self.max_replies.is_some_and(|count| {
            let total = statistics.total();
            total.received >= count.into() || total.errors > 0
        })
    }

    fn tick(&mut self, statistics: &Prober, overruns: Option<u64>) {
        if self.status_request.swap(false, Ordering::Relaxed) {
            // Over the characters that the terminal echoed.
            screen::say(&format!("\r{}", self.status_line(statistics)));
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.tick(statistics);
        }
        if let Some(progress) = &self.progress {
            progress.set(statistics.probes_sent());
        }
        if let Some(latest) = &self.latest
            && self.updated.elapsed() >= METRICS_PERIOD
        {
            self.updated = Instant::now();
            latest.publish(ping_families(statistics, overruns, &self.changes));
        }
    }

    /// The status line of ping.
    #[expect(clippy::cast_sign_loss, reason = "durations are not negative")]
    fn status_line(&self, statistics: &Prober) -> String {
        let figures = PingFigures::of_all(statistics);
        let (received, sent) = (figures.counts.received, figures.counts.sent);
        let loss = figures.loss_percent().unwrap_or(0.0);
        let times = match (&figures.rtt, self.smoothed_ns) {
            (Some(rtt), Some(smoothed)) => {
                let times = [rtt.min_ns, rtt.mean_ns, smoothed as u64, rtt.max_ns];
                let times = times.map(summary_ms).join("/");
                format!(", min/avg/ewma/max = {times} ms")
            }
            _ => String::new(),
        };
        format!("{received}/{sent} packets, {loss:.0}% loss{times}")
    }
}
