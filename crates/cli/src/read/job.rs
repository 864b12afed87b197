//! The job: from the files through the selection to the destination.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use store::read::Item;

use super::cut::Cut;
use super::destination::Destination;
use super::input::{self, Broken, Input, Inputs};
use super::selection::Selection;
use super::tally::Tally;
use super::{overwrite, report};
use crate::args::ReadArgs;
use crate::failure::{Exit, Failure, chain};
use crate::signals::{self, Signals};
use crate::{output, privilege};

pub fn run(args: &ReadArgs) -> Result<Exit, Failure> {
    output::refuse_two_on_stdout(&args.output, args.json)?;
    output::refuse_keep_alone(&args.output)?;
    input::refuse_twice_stdin(&args.files)?;
    overwrite::refuse(&args.output, &args.files)?;
    let selection = Selection::new(args)?;
    let signals = signals::watch()?;
    if args.summary {
        return report::run(args, selection, &signals);
    }
    let inputs = open(&args.files, &signals)?;
    privilege::drop_unneeded(false)?;
    let mut job = Job::new(args, &signals.flag, inputs, selection);
    let result = job.work();
    job.finish(result)
}

/// Opens all files; the first that fails ends the job.
fn open(files: &[PathBuf], signals: &Signals) -> Result<Vec<Input>, Failure> {
    let mut inputs = Vec::with_capacity(files.len());
    for (place, path) in files.iter().enumerate() {
        let input = Input::open(path, &signals.stop).map_err(|mut failure| {
            if place > 0 && is_missing(path) {
                failure.line.push_str(
                    " (filter expressions are not supported by this build: use \
                     'tcpdump -r FILE -ddd EXPRESSION' and --bpf)",
                );
            }
            failure
        })?;
        inputs.push(input);
    }
    Ok(inputs)
}

fn is_missing(path: &Path) -> bool {
    !input::is_stdin(path) && !path.exists()
}

struct Job<'a> {
    args: &'a ReadArgs,
    /// Set when a signal asks for the end.
    stop: &'a AtomicBool,
    inputs: Inputs,
    /// What people call the inputs.
    names: Vec<String>,
    selection: Selection,
    destination: Destination<'a>,
    /// Inputs that could not be read to their end, each at most once.
    broken: Vec<Broken>,
    tally: Tally,
}

impl<'a> Job<'a> {
    fn new(
        args: &'a ReadArgs,
        stop: &'a AtomicBool,
        inputs: Vec<Input>,
        selection: Selection,
    ) -> Self {
        Self {
            args,
            stop,
            destination: Destination::new(args, &inputs),
            names: inputs.iter().map(|input| input.name.clone()).collect(),
            broken: Vec::new(),
            tally: Tally::default(),
            inputs: Inputs::new(inputs),
            selection,
        }
    }

    /// Reads to the end of all files, to the last packet wanted, or until it is asked to stop.
    fn work(&mut self) -> Result<(), Failure> {
        let wanted = self.args.count.map_or(u64::MAX, u64::from);
        let cut = Cut::new(self.args.snaplen);
        // Relaxed: the flag stands for itself alone.
        while !self.stop.load(Ordering::Relaxed) {
            if self.inputs.must_wait() {
                self.destination.flush()?;
            }
            match self.inputs.next_item() {
                Ok(Some(Item::Packet(packet))) => {
                    self.tally.received += 1;
                    if !self.selection.passes(&packet) {
                        continue;
                    }
                    self.tally.passed += 1;
                    self.destination.packet(&cut.packet(packet))?;
                    if self.tally.passed == wanted {
                        return Ok(());
                    }
                }
                Ok(Some(Item::Interface { interface, .. })) => {
                    self.selection.add_interface(interface)?;
                    self.destination.add_interface(cut.interface(interface))?;
                }
                Ok(Some(Item::Statistics(statistics))) => self.destination.statistics(statistics),
                Ok(Some(_)) => {}
                Ok(None) => return self.selection.check_names(),
                // What ends in the middle because of the stop is not broken.
                Err(_) if self.stop.load(Ordering::Relaxed) => {}
                Err(broken) => self.broken.push(broken),
            }
        }
        Ok(())
    }

    /// Closes what was written and says how it went.
    fn finish(mut self, result: Result<(), Failure>) -> Result<Exit, Failure> {
        let finished = self.destination.finish(result.is_err());
        self.tally.lost = self.destination.lost(self.tally.passed);
        self.tally.written = self.destination.written();
        let result = result.and(finished);
        let is_screen = matches!(self.destination, Destination::Screen(_));
        if !(is_screen && result.is_err()) {
            self.tell()
                .map_err(|error| Failure::job_on("cannot print the summary", &error))?;
        }
        result?;
        let Some((last, others)) = self.broken.split_last() else {
            return Ok(Exit::Done);
        };
        let line =
            |broken: &Broken| format!("{}: {}", self.names[broken.input], chain(&broken.error));
        for broken in others {
            eprintln!("tapline: {}", line(broken));
        }
        Err(Failure::new(Exit::Failed, line(last)))
    }

    fn tell(&self) -> std::io::Result<()> {
        if self.args.json {
            let mut errors = vec![None; self.names.len()];
            for broken in &self.broken {
                errors[broken.input] = Some(chain(&broken.error));
            }
            return crate::json::print(&self.tally.json(&self.names, &errors));
        }
        if self.args.quiet {
            return Ok(());
        }
        self.tally.tell(&mut output::screen(&self.args.output))
    }
}

#[cfg(test)]
mod tests;
