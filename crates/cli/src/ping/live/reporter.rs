//! When the table is drawn, and the keys.

use std::io;
use std::time::{Duration, Instant};

use tapline::Stopper;
use tapline::ping::{Backend, Classification, PingEvent, Prober, TargetChange};

use super::order::Order;
use super::plots::Plotted;
use super::recent::{Rates, Recent};
use super::table::Table;
use crate::ping::output::reporter::{Reporter, RunEnd, RunStart};
use crate::ping::output::warnings;
use crate::screen::{Charset, Key, Screen, Scroll, Theme, window};
use crate::values::units::{amount, span};

/// Drawing takes at most one part in this many of the time.
const SHARE: u32 = 20;

/// Time between two values of the rates.
const SECOND: Duration = Duration::from_secs(1);

/// Lines of the summary after those of the targets, so that both fit the window.
const BELOW: usize = 12;

/// A table on the terminal during the run. Another reporter prints the beginning and the end.
pub struct LiveTable<'a> {
    table: Table,
    screen: Option<Screen>,
    stopper: Stopper,
    start: Instant,
    /// When to draw next.
    next: Instant,
    /// Time of the last value of the rates.
    counted: Instant,
    is_in_kernel: bool,
    /// Prints the beginning and the end.
    ends: Box<dyn Reporter + 'a>,
}

impl<'a> LiveTable<'a> {
    /// `ends` prints the beginning and the end; `stopper` ends the run.
    pub fn new(targets: u32, ends: Box<dyn Reporter + 'a>, stopper: Stopper) -> Self {
        let now = Instant::now();
        Self {
            table: Table {
                recent: Recent::new(targets),
                rates: Rates::default(),
                order: Order::Loss,
                scroll: Scroll::default(),
                plotted: Plotted::Auto,
                theme: Theme::of_terminal(),
                charset: Charset::of_terminal(),
                has_keys: false,
                send_error: None,
            },
            screen: None,
            stopper,
            start: now,
            next: now,
            counted: now,
            is_in_kernel: false,
            ends,
        }
    }

    fn tick(&mut self, statistics: &Prober) -> io::Result<()> {
        let Some(screen) = &mut self.screen else {
            return Ok(());
        };
        let mut is_due = screen.is_resized();
        for key in screen.keys()? {
            is_due = true;
            match key {
                Key::Char('q' | 'Q') => self.stopper.stop(),
                key => self.table.press(key),
            }
        }
        let now = Instant::now();
        let seconds = now.duration_since(self.counted);
        if seconds >= SECOND {
            let total = statistics.total();
            let sums = [total.sent, total.received];
            self.table.rates.add(sums, seconds.as_secs_f64());
            self.counted = now;
        }
        if is_due || now >= self.next {
            self.draw(statistics)?;
        }
        Ok(())
    }

    fn draw(&mut self, statistics: &Prober) -> io::Result<()> {
        let Some(screen) = &mut self.screen else {
            return Ok(());
        };
        let now = Instant::now();
        let elapsed = now.duration_since(self.start);
        // Until the first second is over, the rate of the run so far.
        let so_far = statistics.total().sent as f64 / elapsed.as_secs_f64().max(1e-3);
        let rate = self.table.rates.of(0).last().unwrap_or(so_far);
        let summary = format!("{}  {}pps", span(elapsed), amount(rate));
        screen.draw(|frame| self.table.render(frame, statistics, &summary))?;
        self.next = Instant::now() + now.elapsed() * (SHARE - 1);
        Ok(())
    }
}

impl Reporter for LiveTable<'_> {
    fn begin(&mut self, start: &RunStart<'_>) -> io::Result<()> {
        self.is_in_kernel = start.backend == Backend::Xdp;
        self.ends.begin(start)?;
        let screen = Screen::open()?;
        self.table.has_keys = screen.has_keys();
        self.screen = Some(screen);
        (self.start, self.counted) = (Instant::now(), Instant::now());
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
                let reason = warnings::reason(error, self.is_in_kernel);
                self.table.send_error = Some(reason);
            }
            PingEvent::TargetChange {
                target,
                change: TargetChange::Added,
            } => {
                let targets = statistics.targets();
                for target in targets.of_host(targets.host(*target)) {
                    self.table.recent.added(target);
                }
            }
            PingEvent::Tick { .. } => {
                if self.is_in_kernel {
                    self.table.recent.count(statistics);
                }
                return self.tick(statistics);
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, end: &RunEnd<'_>) -> io::Result<()> {
        // Restores the terminal before anything else is printed.
        let rows = usize::from(window().height).saturating_sub(BELOW).max(1);
        self.screen = None;
        let shown = self.table.order.at(&end.summary.statistics, 0..rows);
        self.ends.end(&RunEnd {
            only: Some(&shown),
            ..*end
        })
    }
}
