//! How the figures of an interval are told.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use tapline::count::CountedLink;

use super::figures::Figures;
use super::lines::Lines;
use super::live::Live;
use super::{csv, json, links, setup};
use crate::args::CountArgs;
use crate::paint::{self, Paint};
use crate::screen::Sparks;

/// Shortest time between two drawings of a table.
const LEAST_DRAWN: Duration = Duration::from_millis(100);

/// Tells figures on standard output.
pub enum Teller {
    Json,
    Csv,
    Lines(Lines),
    Live(Live),
}

impl Teller {
    /// Chooses by the flags and the terminal.
    pub fn new(args: &CountArgs, names: &[String]) -> Self {
        let is_screen = io::stdout().is_terminal() && !paint::is_terminal_dumb();
        if args.json {
            Self::Json
        } else if args.csv {
            Self::Csv
        } else if is_screen && !args.quiet {
            let paint = Paint::new(true);
            Self::Live(Live::new(
                names.iter().cloned(),
                paint,
                Sparks::of_terminal(),
            ))
        } else {
            let names = names.iter().map(String::as_str);
            let with_fraction = args.interval.subsec_nanos() > 0;
            Self::Lines(Lines::new(names, setup::group_columns(args), with_fraction))
        }
    }

    /// Intervals, of this length each, that are told together; `wanted` if it is not too often.
    pub fn together(&self, interval: Duration, wanted: u32) -> u32 {
        let Self::Live(_) = self else {
            return wanted;
        };
        let least = LEAST_DRAWN.as_nanos().div_ceil(interval.as_nanos().max(1));
        wanted.max(u32::try_from(least).unwrap_or(u32::MAX))
    }

    /// What comes before the first figures, which are `nothing` yet.
    pub fn begin(&mut self, args: &CountArgs, nothing: &Figures) -> io::Result<()> {
        match self {
            Self::Csv => write(&csv::heading(args.by)),
            Self::Live(live) => live.draw(nothing),
            Self::Json | Self::Lines(_) => Ok(()),
        }
    }

    pub fn tell(&mut self, figures: &Figures) -> io::Result<()> {
        match self {
            Self::Json => json::interval(figures),
            Self::Csv => write(&csv::lines(figures)),
            Self::Lines(lines) => write(&lines.of(figures)),
            Self::Live(live) => live.draw(figures),
        }
    }

    /// An interface went down, or came up.
    pub fn link(&mut self, link: &CountedLink) -> io::Result<()> {
        match self {
            Self::Json => links::event(link),
            Self::Live(live) => live.aside(|| links::warn(link)),
            Self::Csv | Self::Lines(_) => {
                links::warn(link);
                Ok(())
            }
        }
    }

    /// What comes before the summary.
    pub fn end(&mut self, args: &CountArgs) -> io::Result<()> {
        match self {
            Self::Live(live) => live.end(),
            Self::Lines(_) if !args.quiet => write("\n"),
            Self::Json | Self::Csv | Self::Lines(_) => Ok(()),
        }
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
