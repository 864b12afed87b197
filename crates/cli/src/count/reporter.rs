//! Reports intervals and link changes: as JSON, CSV, lines, or a live table.

use std::io::{self, Write};
use std::time::Duration;

use tapline::count::{Count, CountError, CountEvent, CountedLink, LinkState};

use super::figures::Figures;
use super::lines::Lines;
use super::live::Live;
use super::{csv, json, setup};
use crate::args::CountArgs;
use crate::screen::{self, Screen};

/// Minimum time between two updates of the live table.
const MIN_REDRAW: Duration = Duration::from_millis(100);

/// Reports figures on standard output.
pub enum Reporter {
    Json,
    Csv,
    Lines(Lines),
    Live(Box<Live>),
}

impl Reporter {
    /// Chooses the format by the arguments and the terminal.
    pub fn new(args: &CountArgs, names: &[String]) -> io::Result<Self> {
        Ok(if args.json {
            Self::Json
        } else if args.csv {
            Self::Csv
        } else if Screen::is_possible() && !args.quiet {
            Self::Live(Box::new(Live::open(names.iter().cloned())?))
        } else {
            let names = names.iter().map(String::as_str);
            let with_fraction = args.interval.subsec_nanos() > 0;
            Self::Lines(Lines::new(names, setup::group_columns(args), with_fraction))
        })
    }

    /// The number of intervals of this length per report: `wanted`, or more for a live table.
    pub fn intervals_per_report(&self, interval: Duration, wanted: u32) -> u32 {
        let Self::Live(_) = self else {
            return wanted;
        };
        let least = MIN_REDRAW.as_nanos().div_ceil(interval.as_nanos().max(1));
        wanted.max(u32::try_from(least).unwrap_or(u32::MAX))
    }

    /// Prints the heading, or the empty live table.
    pub fn begin(&mut self, args: &CountArgs, empty: &Figures) -> io::Result<()> {
        match self {
            Self::Csv => write(&csv::heading(args.key())),
            Self::Live(live) => live.draw(empty),
            Self::Json | Self::Lines(_) => Ok(()),
        }
    }

    pub fn report(&mut self, figures: &Figures) -> io::Result<()> {
        match self {
            Self::Json => json::interval(figures),
            Self::Csv => write(&csv::lines(figures)),
            Self::Lines(lines) => write(&lines.of(figures)),
            Self::Live(live) => live.draw(figures),
        }
    }

    /// The next event of the count. A screen handles its keys meanwhile.
    pub fn next_event(
        &mut self,
        count: &mut Count,
    ) -> io::Result<Result<Option<CountEvent>, CountError>> {
        let Self::Live(live) = self else {
            return Ok(count.next_event());
        };
        loop {
            if live.input()? {
                count.stopper().stop();
            }
            match count.next_event_timeout(Duration::ZERO) {
                Ok(None) if !count.has_ended() => live.screen().wait(count)?,
                event => return Ok(event),
            }
        }
    }

    /// Reports that an interface went down or came up.
    pub fn link(&mut self, link: &CountedLink) -> io::Result<()> {
        match self {
            Self::Json => json::link(link),
            Self::Live(live) => {
                warn(link);
                live.redraw()
            }
            Self::Csv | Self::Lines(_) => {
                warn(link);
                Ok(())
            }
        }
    }

    /// Ends the output before the summary.
    pub fn end(self, args: &CountArgs) -> io::Result<()> {
        match self {
            Self::Lines(_) if !args.quiet => write("\n"),
            // A screen is left.
            Self::Json | Self::Csv | Self::Lines(_) | Self::Live(_) => Ok(()),
        }
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Reports a link change on standard error.
pub fn warn(link: &CountedLink) {
    let name = screen::printable(&link.link);
    let line = match link.state {
        LinkState::Up => format!("{name} is up again"),
        LinkState::Down => {
            format!("warning: {name} is down: nothing to count (use 'ip link set {name} up')")
        }
        _ => format!(
            "warning: {name} has no carrier: it receives nothing, and sent packets are lost"
        ),
    };
    screen::say(&line);
}
