//! The status line of a running send job.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tapline::send::LiveSent;

use crate::args::SendArgs;
use crate::screen::Status;
use crate::units::{amount, grouped, span};

const INTERVAL: Duration = Duration::from_millis(500);

/// Updates the status line until it is dropped.
pub struct Progress {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Without a terminal it does nothing.
    pub fn start(args: &SendArgs, live: LiveSent) -> io::Result<Self> {
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
                status.show(&line(&live, start.elapsed(), total));
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

fn line(live: &LiveSent, elapsed: Duration, total: Option<u64>) -> String {
    let (packets, bytes) = (live.packets(), live.bytes());
    let seconds = elapsed.as_secs_f64().max(1e-9);
    let rate = packets as f64 / seconds;
    let left = total
        .filter(|_| packets > 0)
        .map_or_else(String::new, |total| {
            let left = total.saturating_sub(packets) as f64 / rate;
            format!("  {} left", span(Duration::from_secs_f64(left)))
        });
    format!(
        "{}  {} packets  {}pps  {}bps{left}",
        span(elapsed),
        grouped(packets),
        amount(rate),
        amount(bytes as f64 * 8.0 / seconds),
    )
}
