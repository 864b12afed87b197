//! Progress on standard error, rewritten in place; nothing if that is no terminal, or a dumb one.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::theme::is_terminal_dumb;
use crate::values::units::{amount, span};

/// Drawings per second at most.
const DRAWINGS: u8 = 10;

/// Time between two looks at the progress of a job in another thread.
const PERIOD: Duration = Duration::from_millis(200);

/// A line of text.
#[derive(Debug)]
pub struct Status(ProgressBar);

impl Status {
    pub fn open() -> Option<Self> {
        let style = ProgressStyle::with_template("{wide_msg}").ok()?;
        let line = ProgressBar::with_draw_target(None, target()?);
        line.set_style(style);
        Some(Self(line))
    }

    /// Replaces the line by `line`, truncated to the window.
    pub fn show(&self, line: &str) {
        self.0.set_message(line.to_owned());
        self.0.tick();
    }

    /// Erases the line.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

/// How much is done, how fast, and the time left.
#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    /// Of `total` units, if that is known; `unit` follows a number, as in `1.2 MB`.
    pub fn open(total: Option<u64>, unit: &'static str) -> Option<Self> {
        let template = match total {
            Some(_) => "{bar:24} {percent:>3}%  {done}  {rate}  {left}",
            None => "{done}  {rate}",
        };
        let done = move |state: &ProgressState, out: &mut dyn Write| {
            let done = amount(state.pos() as f64);
            let total = state.len().map(|total| amount(total as f64));
            let total = total.map_or(String::new(), |total| format!(" of {total}{unit}"));
            // Writing to the line does not fail.
            let _ = write!(out, "{done}{unit}{total}");
        };
        let rate = move |state: &ProgressState, out: &mut dyn Write| {
            let _ = write!(out, "{}{unit}/s", amount(state.per_sec()));
        };
        let left = |state: &ProgressState, out: &mut dyn Write| {
            let left = state.eta();
            if !left.is_zero() {
                let _ = write!(out, "{} left", span(left));
            }
        };
        let style = ProgressStyle::with_template(template).ok()?;
        let style = style.with_key("done", done).with_key("rate", rate);
        let bar = ProgressBar::with_draw_target(total, target()?);
        bar.set_style(style.with_key("left", left).progress_chars("#>-"));
        bar.tick();
        Some(Self(bar))
    }

    /// Shows that this much is done.
    pub fn set(&self, done: u64) {
        self.0.set_position(done);
    }

    /// Erases the line.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }

    /// Runs `job`, and shows `done` of it meanwhile.
    pub fn during<T>(self, done: impl Fn() -> u64 + Send, job: impl FnOnce() -> T) -> T {
        let (end, ended) = channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                    self.set(done());
                }
                self.clear();
            });
            let result = job();
            drop(end);
            result
        })
    }
}

fn target() -> Option<ProgressDrawTarget> {
    let is_screen = io::stderr().is_terminal() && !is_terminal_dumb();
    is_screen.then(|| ProgressDrawTarget::stderr_with_hz(DRAWINGS))
}
