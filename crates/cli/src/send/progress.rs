//! The status line of a running send job.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tapline::send::LiveSent;

use super::source::Share;
use crate::args::SendArgs;
use crate::screen::Status;
use crate::values::units::{amount, grouped, span};

const INTERVAL: Duration = Duration::from_millis(500);

/// Updates the status line until it is dropped.
pub struct Progress {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Without a terminal it does nothing.
    pub fn start(args: &SendArgs, live: LiveSent, share: Share) -> io::Result<Self> {
        let status = Status::open().filter(|_| !args.quiet && !args.json);
        let Some(status) = status else {
            return Ok(Self {
                end: None,
                thread: None,
            });
        };
        let (end, ended) = channel();
        let total = args.count.map(u64::from);
        let show = move || {
            let start = Instant::now();
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                status.show(&line(&live, start.elapsed(), total, share.get()));
            }
            status.clear();
        };
        let thread = thread::Builder::new().name("progress".into()).spawn(show)?;
        Ok(Self {
            end: Some(end),
            thread: Some(thread),
        })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed.
            let _ = thread.join();
        }
    }
}

/// `total` is the limit of packets, `share` how much of the files was read.
fn line(live: &LiveSent, elapsed: Duration, total: Option<u64>, share: Option<f64>) -> String {
    let (packets, bytes) = (live.packets(), live.bytes());
    let seconds = elapsed.as_secs_f64().max(1e-9);
    let rate = packets as f64 / seconds;
    let of_total = total.map(|total| packets as f64 / total.max(1) as f64);
    // The job ends at the first of the two.
    let done = of_total
        .into_iter()
        .chain(share)
        .fold(0.0, f64::max)
        .min(1.0);
    let left = if packets > 0 && done > 0.0 {
        let left = Duration::try_from_secs_f64(seconds * (1.0 - done) / done);
        format!("  {} left", span(left.unwrap_or(Duration::MAX)))
    } else {
        String::new()
    };
    format!(
        "{}  {} packets  {}pps  {}bps{left}",
        span(elapsed),
        grouped(packets),
        amount(rate),
        amount(bytes as f64 * 8.0 / seconds),
    )
}
