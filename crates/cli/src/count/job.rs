//! The count itself.

use std::io::{self, Write};
use std::sync::Arc;

use rustix::thread::CapabilitySet;
use tapline::count::{Count, CountError, Ended, Event, Hook, Place};

use super::gather::Gather;
use super::setup;
use super::start;
use super::summary::Summary;
use super::teller::Teller;
use crate::args::CountArgs;
use crate::failure::{Exit, Failure, chain};
use crate::guard::Guard;
use crate::metrics::{Board, Server, count_families};
use crate::{privilege, signals};

pub fn run(args: &CountArgs) -> Result<Exit, Failure> {
    let options = setup::options(args);
    let stop = signals::stop()?;
    let server = args.metrics.map(Server::bind).transpose()?;
    // Dropped after the count, which takes its filters away itself if it can.
    let mut guard = guard(args);
    let mut count = open(args, options)?;
    if !count.places().any(is_clsact) {
        guard.take();
    }
    let board = begin(args, &mut count, server)?;

    let places = places(&count);
    let names: Vec<String> = count.classes().map(|class| class.name.clone()).collect();
    let mut gather = Gather::new(names.iter().cloned(), setup::top(args));
    let mut teller = Teller::new(args, &names);
    let (interval, wanted) = setup::intervals(args);
    let together = teller.together(interval, wanted);
    printed(teller.begin(args, &gather.take()))?;

    let ended = loop {
        let interval = match count.next(&stop) {
            Event::Interval(interval) => interval,
            Event::Link(link) => {
                printed(teller.link(&link))?;
                continue;
            }
            Event::Ended { ended, last } => {
                if let Some(last) = last {
                    gather.add(&last);
                }
                break ended;
            }
            _ => continue,
        };
        if let Some(board) = &board {
            // What cannot be read now is read next time, or ends the count.
            if let Ok(totals) = count.read() {
                board.post(count_families(&places, &totals, setup::split(args)));
            }
        }
        gather.add(&interval);
        if gather.intervals() >= together {
            printed(teller.tell(&gather.take()))?;
        }
    };
    if gather.intervals() > 0 {
        printed(teller.tell(&gather.take()))?;
    }
    printed(teller.end(args))?;
    let summary = Summary {
        totals: &count.last_totals(),
        places: &places,
        links: &count.links().collect::<Vec<_>>(),
    };
    let shown = summary.show(args);
    // Why the count failed comes before that it could not be told.
    let exit = finish(&ended)?;
    printed(shown)?;
    Ok(exit)
}

/// Where a filter is wrong, or means what its reader may not expect, its place is shown.
fn open(args: &CountArgs, options: tapline::count::Options) -> Result<Count, Failure> {
    let classes = options.classes.clone();
    let text = |name: &str| {
        let class = classes.iter().find(|class| class.name == name);
        let filter = class.and_then(|class| class.filter.as_ref());
        filter.map_or("", |filter| filter.text.as_str())
    };
    let count = Count::open(options).map_err(|error| match &error {
        CountError::Filter {
            class,
            error: wrong,
            ..
        } => super::failure::of_filter(args, &error, crate::filter::shown(text(class), wrong)),
        _ => super::failure::of_opening(args, error),
    })?;
    for (class, warning) in count.warnings() {
        crate::filter::warn(text(class), std::slice::from_ref(warning));
    }
    Ok(count)
}

/// The last steps before figures are told: the only privileges kept are those to read the counters
/// and, where a program is not held by a link, to take it away.
fn begin(
    args: &CountArgs,
    count: &mut Count,
    server: Option<Server>,
) -> Result<Option<Arc<Board>>, Failure> {
    let mut needed = CapabilitySet::BPF;
    needed.set(CapabilitySet::NET_ADMIN, count.places().any(is_clsact));
    privilege::drop_all_but(needed)?;
    let url = server.as_ref().map(Server::url);
    let mut board = None;
    if let Some(server) = server {
        let totals = count.read()?;
        let posted = Board::new(count_families(&places(count), &totals, setup::split(args)));
        let read = posted.clone();
        server.serve(move || read.read().to_vec())?;
        board = Some(posted);
    }
    printed(start::show(args, count, url.as_deref()))?;
    Ok(board)
}

/// What takes the filters of this process away if it is killed; `None` where the kernel does that.
fn guard(args: &CountArgs) -> Option<Guard> {
    if !Guard::is_needed() {
        return None;
    }
    match Guard::start() {
        Ok(guard) => Some(guard),
        Err(error) => {
            if !args.quiet {
                // A closed standard error ends nothing.
                let _ = writeln!(
                    io::stderr(),
                    "warning: if this process is killed, its filter stays until the next count: {}",
                    chain(&error)
                );
            }
            None
        }
    }
}

fn is_clsact(place: &Place) -> bool {
    place.hook == Hook::Clsact
}

fn places(count: &Count) -> Vec<Place> {
    count.places().cloned().collect()
}

fn finish(ended: &Ended) -> Result<Exit, Failure> {
    match ended {
        Ended::LinkRemoved { link } => Err(Failure::new(
            Exit::Failed,
            format!("interface {link} was removed"),
        )),
        Ended::Wait(error) => Err(Failure::job_on(
            "cannot wait for the end of an interval",
            error,
        )),
        Ended::Read(error) => Err(Failure::job_on("cannot read the counters", error)),
        _ => Ok(Exit::Done),
    }
}

fn printed(result: io::Result<()>) -> Result<(), Failure> {
    result.map_err(|error| Failure::stdout(&error))
}
