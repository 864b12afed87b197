//! Reports intervals and link changes: as JSON, CSV, lines, or a live table.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use tapline::count::{CountedLink, LinkState};

use super::figures::Figures;
use super::lines::Lines;
use super::live::Live;
use super::{csv, json, setup};
use crate::args::CountArgs;
use crate::paint::{self, Paint};
use crate::screen::Sparks;

/// Minimum time between two updates of the live table.
const MIN_REDRAW: Duration = Duration::from_millis(100);

/// Reports figures on standard output.
pub enum Reporter {
    Json,
    Csv,
    Lines(Lines),
    Live(Live),
}

impl Reporter {
    /// Chooses the format by the arguments and the terminal.
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
            Self::Csv => write(&csv::heading(args.by)),
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

    /// Reports that an interface went down or came up.
    pub fn link(&mut self, link: &CountedLink) -> io::Result<()> {
        match self {
            Self::Json => json::link(link),
            Self::Live(live) => live.aside(|| warn(link)),
            Self::Csv | Self::Lines(_) => {
                warn(link);
                Ok(())
            }
        }
    }

    /// Ends the output before the summary.
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

/// Reports a link change on standard error.
fn warn(link: &CountedLink) {
    let name = &link.link;
    let line = match link.state {
        LinkState::Up => format!("{name} is up again"),
        LinkState::Down => {
            format!("warning: {name} is down: nothing to count (use 'ip link set {name} up')")
        }
        _ => format!(
            "warning: {name} has no carrier: it receives nothing, and sent packets are lost"
        ),
    };
    // A closed standard error is not a failure.
    let _ = writeln!(io::stderr(), "{line}");
}
