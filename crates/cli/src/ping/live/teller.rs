//! When it is drawn, and what keys do.

use std::io;
use std::time::Instant;

use tapline::Stopper;
use tapline::ping::Event;
use tapline::probe::{Prober, Verdict};

use super::order::Order;
use super::recent::Recent;
use super::view::View;
use crate::paint::Paint;
use crate::ping::sidelines;
use crate::ping::teller::{End, Start, Teller};
use crate::screen::{Canvas, Keys, Size, Sparks};
use crate::units::{amount, span};

/// Of the time that passes, drawing takes one part in so many at most.
const SHARE: u32 = 20;

/// Lines of the summary below those of targets: as a rule all is seen at once.
const BELOW: usize = 12;

/// A table on the terminal while the run goes on; before and after it, what lines would tell.
pub struct Live<'a> {
    view: View,
    canvas: Canvas,
    keys: Option<Keys>,
    stopper: Stopper,
    start: Instant,
    /// Before that nothing is drawn.
    next: Instant,
    /// When the last drawing was, and how many probes had been sent by then.
    last: (Instant, u64),
    /// Who tells of the beginning and the end, and is told everything in between.
    ends: Box<dyn Teller + 'a>,
}

impl<'a> Live<'a> {
    /// `ends` tells of the beginning and the end, and of nothing else; `stopper` ends the run.
    pub fn new(targets: u32, ends: Box<dyn Teller + 'a>, stopper: Stopper) -> Self {
        let keys = Keys::open();
        let now = Instant::now();
        Self {
            view: View {
                recent: Recent::new(targets),
                order: Order::Loss,
                paint: Paint::new(true),
                sparks: Sparks::of_terminal(),
                has_keys: keys.is_some(),
                refusal: None,
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

    fn tick(&mut self, prober: &Prober) -> io::Result<()> {
        let pressed = self.keys.as_ref().map_or_else(Vec::new, Keys::pressed);
        for key in pressed {
            match key {
                b'q' | b'Q' => self.stopper.stop(),
                b's' | b'S' => {
                    self.view.order = self.view.order.next();
                    self.next = Instant::now();
                }
                _ => {}
            }
        }
        if Instant::now() >= self.next {
            self.draw(prober)?;
        }
        Ok(())
    }

    fn draw(&mut self, prober: &Prober) -> io::Result<()> {
        let now = Instant::now();
        let sent = prober.total().sent;
        let (then, before) = self.last;
        let seconds = now.duration_since(then).as_secs_f64();
        let rate = (sent - before) as f64 / seconds.max(1e-3);
        let elapsed = span(now.duration_since(self.start));
        let summary = format!("{elapsed}  {}pps", amount(rate));
        let size = Size::of_window();
        let lines = self.view.lines(prober, &summary, size);
        self.canvas.draw(&lines, size)?;
        self.last = (now, sent);
        self.next = Instant::now() + now.elapsed() * (SHARE - 1);
        Ok(())
    }
}

impl Teller for Live<'_> {
    fn begin(&mut self, start: &Start<'_>) -> io::Result<()> {
        self.ends.begin(start)?;
        self.start = Instant::now();
        self.draw(start.prober)
    }

    fn event(&mut self, event: &Event<'_>, prober: &Prober) -> io::Result<()> {
        self.ends.event(event, prober)?;
        match event {
            Event::Answer { verdict, .. } => match *verdict {
                Verdict::Received {
                    probe,
                    rtt_ns: Some(rtt_ns),
                    ..
                } => self.view.recent.answered(probe.target, rtt_ns),
                Verdict::Error { probe, .. } => self.view.recent.lost(probe.target),
                _ => {}
            },
            Event::Lost { probe } => self.view.recent.lost(probe.target),
            Event::Dropped { error, .. } => self.view.refusal = Some(sidelines::reason(error)),
            Event::Tick { .. } => return self.tick(prober),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, end: &End<'_>) -> io::Result<()> {
        // The terminal is as it was before anything else is said.
        self.keys = None;
        self.canvas.end()?;
        let rows = Size::of_window().lines().saturating_sub(BELOW).max(1);
        let shown = self.view.order.first(&end.outcome.prober, rows);
        self.ends.end(&End {
            only: Some(&shown),
            ..*end
        })
    }
}
