//! The demo from its beginning to its end.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level;
use tapline::Stop;

use super::compare::{Comparison, Stored};
use super::hosts::Hosts;
use super::patience::Patience;
use super::place::Place;
use super::privileges;
use super::recording::Recording;
use super::screen::Screen;
use super::traffic;
use crate::args::DemoArgs;
use crate::failure::{Exit, Failure};

/// How long everything but `--keep` may take.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn run(args: &DemoArgs) -> Result<Exit, Failure> {
    privileges::check()?;
    let begun = Instant::now();
    let stop = interrupts()?;
    let patience = Patience::new(&stop, PATIENCE);
    let screen = Screen::new(args.json);
    let place = Place::prepare(args.write.as_deref())?;

    screen.begin()?;
    let mut hosts = Hosts::make(&patience)?;
    screen.hosts(&hosts)?;
    let recording = Recording::start(&hosts.right, place.file())?;
    screen.capture(&hosts.right, &recording, place.shown())?;

    let before = hosts.right.counters()?;
    let mut sent = Vec::new();
    traffic::send(&mut hosts, &patience, &screen, &mut sent)?;
    let counted = hosts.right.counters()?.since(before);

    let recorded = recording.finish(counted.packets(), &patience)?;
    let stored = Stored::read(place.file(), &sent)?;
    let comparison = Comparison {
        sent: &sent,
        counted,
        stored: &stored,
        recorded: &recorded,
    };
    patience.check()?;
    let file = place.finish()?;
    screen.result(&comparison, &file, begun.elapsed())?;
    if args.keep {
        screen.keep(&hosts)?;
        Patience::new(&stop, Duration::MAX).until_stopped()?;
    }
    drop(hosts);
    screen.end(args.keep)?;
    Ok(if comparison.agrees() {
        Exit::Done
    } else {
        Exit::Failed
    })
}

/// A stop that SIGINT, SIGTERM and SIGHUP ask for, as often as they like: the end is never cut short,
/// and what is unfinished is removed in any case.
fn interrupts() -> io::Result<Stop> {
    let stop = Stop::new()?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        low_level::pipe::register(signal, stop.stopper().as_fd().try_clone_to_owned()?)?;
    }
    Ok(stop)
}
