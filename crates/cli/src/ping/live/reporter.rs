//! When the table is drawn, and the keys.

use std::io;
use std::time::Instant;

use tapline::Stopper;
use tapline::ping::{Classification, PingEvent, Prober};

use super::order::Order;
use super::recent::Recent;
use super::table::Table;
use crate::paint::Paint;
use crate::ping::output::reporter::{Reporter, RunEnd, RunStart};
use crate::ping::output::warnings;
use crate::screen::{Canvas, Keys, Size, Sparks};
use crate::units::{amount, span};

/// Drawing takes at most one part in this many of the time.
const SHARE: u32 = 20;

/// Lines of the summary after those of the targets, so that both fit the window.
const BELOW: usize = 12;

/// A table on the terminal during the run. Another reporter prints the beginning and the end.
pub struct LiveTable<'a> {
    table: Table,
    canvas: Canvas,
    keys: Option<Keys>,
    stopper: Stopper,
    start: Instant,
    /// When to draw next.
    next: Instant,
    /// Time of the last drawing, and the number of probes sent by then.
    last: (Instant, u64),
    /// Prints the beginning and the end.
    ends: Box<dyn Reporter + 'a>,
}

impl<'a> LiveTable<'a> {
    /// `ends` prints the beginning and the end; `stopper` ends the run.
    pub fn new(targets: u32, ends: Box<dyn Reporter + 'a>, stopper: Stopper) -> Self {
        let keys = Keys::open();
        let now = Instant::now();
        Self {
            table: Table {
                recent: Recent::new(targets),
                order: Order::Loss,
                paint: Paint::new(true),
                sparks: Sparks::of_terminal(),
                has_keys: keys.is_some(),
                send_error: None,
            },
            canvas: Canvas::default(),
            keys,
            stopper,
            start: now,
            next: now,
            last: (now, 0),
            ends,
        }
    }

    fn tick(&mut self, statistics: &Prober) -> io::Result<()> {
        let pressed = self.keys.as_ref().map_or_else(Vec::new, Keys::pressed);
        for key in pressed {
            match key {
                b'q' | b'Q' => self.stopper.stop(),
                b's' | b'S' => {
                    self.table.order = self.table.order.next();
                    self.next = Instant::now();
                }
                _ => {}
            }
        }
        if Instant::now() >= self.next {
            self.draw(statistics)?;
        }
        Ok(())
    }

    fn draw(&mut self, statistics: &Prober) -> io::Result<()> {
        let now = Instant::now();
        let sent = statistics.total().sent;
        let (then, before) = self.last;
        let seconds = now.duration_since(then).as_secs_f64();
        let rate = (sent - before) as f64 / seconds.max(1e-3);
        let elapsed = span(now.duration_since(self.start));
        let summary = format!("{elapsed}  {}pps", amount(rate));
        let size = Size::of_window();
        let lines = self.table.lines(statistics, &summary, size);
        self.canvas.draw(&lines, size)?;
        self.last = (now, sent);
        self.next = Instant::now() + now.elapsed() * (SHARE - 1);
        Ok(())
    }
}

impl Reporter for LiveTable<'_> {
    fn begin(&mut self, start: &RunStart<'_>) -> io::Result<()> {
        self.ends.begin(start)?;
        self.start = Instant::now();
        self.draw(start.statistics)
    }

    fn event(&mut self, event: &PingEvent, statistics: &Prober) -> io::Result<()> {
        self.ends.event(event, statistics)?;
        match event {
            PingEvent::Answer { class, .. } => match *class {
                Classification::Received {
                    probe,
                    rtt_ns: Some(rtt_ns),
                    ..
                } => self.table.recent.answered(probe.target, rtt_ns),
                Classification::Error { probe, .. } => self.table.recent.lost(probe.target),
                _ => {}
            },
            PingEvent::Lost { probe } => self.table.recent.lost(probe.target),
            PingEvent::NotSent { error, .. } => {
                self.table.send_error = Some(warnings::reason(error));
            }
            PingEvent::Tick { .. } => return self.tick(statistics),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, end: &RunEnd<'_>) -> io::Result<()> {
        // Restores the terminal before anything else is printed.
        self.keys = None;
        self.canvas.end()?;
        let rows = Size::of_window().lines().saturating_sub(BELOW).max(1);
        let shown = self.table.order.first(&end.summary.statistics, rows);
        self.ends.end(&RunEnd {
            only: Some(&shown),
            ..*end
        })
    }
}
