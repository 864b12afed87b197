//! What SIGQUIT asks for: a line on standard error, as ping prints it.

use std::io::{self, Write};

use tapline::probe::Prober;

use super::figures::Figures;
use super::milliseconds::of_summary;

/// A new round trip changes the smoothed one by this part of the difference, as in ping.
const SMOOTHING: f64 = 8.0;

/// The smoothed round trip.
#[derive(Debug, Default)]
pub struct Status {
    smoothed_ns: Option<f64>,
}

impl Status {
    pub fn time(&mut self, rtt_ns: u64) {
        let rtt = rtt_ns as f64;
        let smoothed = self.smoothed_ns.unwrap_or(rtt);
        self.smoothed_ns = Some(smoothed + (rtt - smoothed) / SMOOTHING);
    }

    /// A closed standard error ends nothing.
    pub fn tell(&self, prober: &Prober) {
        let _ = writeln!(io::stderr(), "\r{}", self.line(prober));
    }

    #[expect(clippy::cast_sign_loss, reason = "durations are not negative")]
    fn line(&self, prober: &Prober) -> String {
        let figures = Figures::of_all(prober);
        let (received, sent) = (figures.counts.received, figures.counts.sent);
        let loss = figures.loss_percent().unwrap_or(0.0);
        let times = match (&figures.rtt, self.smoothed_ns) {
            (Some(rtt), Some(smoothed)) => {
                let times = [rtt.min_ns, rtt.mean_ns, smoothed as u64, rtt.max_ns];
                let times = times.map(of_summary).join("/");
                format!(", min/avg/ewma/max = {times} ms")
            }
            _ => String::new(),
        };
        format!("{received}/{sent} packets, {loss:.0}% loss{times}")
    }
}
