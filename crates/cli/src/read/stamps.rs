//! `tapline read --stamps`: what became of stamped streams.

use std::io::{self, Write};

use serde_json::json;
use tapline::count::{StreamCounter, StreamTotals};
use tapline::read::{Read, ReadError};

use super::arguments::Arguments;
use super::failure::failure;
use crate::args::ReadArgs;
use crate::failure::{Exit, Failure};
use crate::output::{json, streams};

/// Prints the figures of the packets up to the first error, which is then reported.
pub fn run(args: &ReadArgs, mut read: Read, arguments: &Arguments) -> Result<Exit, Failure> {
    let mut counter = StreamCounter::new();
    let result = count(&mut read, &mut counter);
    show(args, &counter.totals()).map_err(|error| Failure::stdout(&error))?;
    let _summary = result
        .and_then(|()| read.finish())
        .map_err(|error| failure(&error, arguments))?;
    Ok(Exit::Done)
}

fn count(read: &mut Read, counter: &mut StreamCounter) -> Result<(), ReadError> {
    let mut link_types = Vec::new();
    while let Some(packet) = read.next()? {
        let (number, time_ns) = (packet.interface(), packet.time().as_nanos());
        if let Some(link_type) = link_types.get(number) {
            counter.add(*link_type, packet.data(), time_ns);
            continue;
        }
        let frame = packet.data().to_vec();
        let interfaces = read.interfaces().iter();
        link_types = interfaces.map(|interface| interface.link_type.0).collect();
        let link_type = link_types.get(number).copied().unwrap_or_default();
        counter.add(link_type, &frame, time_ns);
    }
    Ok(())
}

fn show(args: &ReadArgs, totals: &StreamTotals) -> io::Result<()> {
    if args.json {
        return json::print(&json!({
            "event": "summary",
            "streams": streams::json(totals),
            "uncounted": totals.uncounted,
            "unstamped": totals.unstamped,
        }));
    }
    let mut out = io::stdout().lock();
    for line in streams::lines(totals) {
        writeln!(out, "{line}")?;
    }
    out.flush()
}
