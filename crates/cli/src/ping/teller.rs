//! Who tells what happens, in one form or another.

use std::io;

use tapline::Stopper;
use tapline::ping::{Backend, Event, Outcome};
use tapline::probe::{Forecast, Prober};

use super::csv::Csv;
use super::json::Json;
use super::like_fping::LikeFping;
use super::like_ping::LikePing;
use super::live::Live;
use crate::args::PingArgs;

/// A run that begins.
pub struct Start<'a> {
    pub prober: &'a Prober,
    pub forecast: &'a Forecast,
    pub backend: Backend,
    /// Where the counters are.
    pub metrics: Option<&'a str>,
}

/// A run that is over.
pub struct End<'a> {
    pub outcome: &'a Outcome,
    /// Names that were not asked.
    pub left_out: usize,
    /// The targets that have a line; `None` for all.
    pub only: Option<&'a [u32]>,
}

/// One form of output. An error of standard output ends the run.
pub trait Teller {
    fn begin(&mut self, start: &Start<'_>) -> io::Result<()>;

    fn event(&mut self, event: &Event<'_>, prober: &Prober) -> io::Result<()>;

    fn end(&mut self, end: &End<'_>) -> io::Result<()>;
}

/// The form that was asked for, or that suits the number of targets. `stopper` ends the run.
pub fn choose(args: &PingArgs, targets: u32, stopper: Stopper) -> Box<dyn Teller + '_> {
    if args.live {
        return Box::new(Live::new(targets, lines(args, targets), stopper));
    }
    lines(args, targets)
}

fn lines(args: &PingArgs, targets: u32) -> Box<dyn Teller + '_> {
    match targets {
        _ if args.json => Box::new(Json::new(args, targets)),
        _ if args.csv => Box::new(Csv::new(args)),
        1 => Box::new(LikePing::new(args)),
        _ => Box::new(LikeFping::new(args)),
    }
}
