//! The job: from the files through the selection to the destination.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use super::cut::Cut;
use super::destination::Destination;
use super::input::{self, Broken, Input, Inputs};
use super::selection::Selection;
use super::sieve::{Plan, Receiver, Sieve};
use super::tally::Tally;
use super::words::Words;
use super::work::Work;
use super::{overwrite, report};
use crate::args::ReadArgs;
use crate::failure::{Exit, Failure, chain};
use crate::signals;
use crate::{output, privilege};

pub fn run(args: &ReadArgs) -> Result<Exit, Failure> {
    output::refuse_two_on_stdout(&args.output, args.json)?;
    output::refuse_keep_alone(&args.output)?;
    let Words { files, filter } = Words::new(args)?;
    input::refuse_twice_stdin(&files)?;
    overwrite::refuse(&args.output, &files)?;
    let selection = Selection::new(args, filter)?;
    let signals = signals::watch()?;
    if args.summary {
        return report::run(args, &files, selection, &signals);
    }
    let open = |path: &PathBuf| Input::open(path, &signals.stop);
    let inputs = files.iter().map(open).collect::<Result<_, _>>()?;
    privilege::drop_unneeded(false)?;
    let mut job = Job::new(args, &signals.flag, inputs, selection);
    let result = job.work();
    job.finish(result)
}

struct Job<'a> {
    args: &'a ReadArgs,
    inputs: Inputs,
    /// What people call the inputs.
    names: Vec<String>,
    work: Work<'a>,
    /// Inputs that could not be read to their end, each at most once.
    broken: Vec<Broken>,
}

impl<'a> Job<'a> {
    fn new(
        args: &'a ReadArgs,
        stop: &'a AtomicBool,
        inputs: Vec<Input>,
        selection: Selection,
    ) -> Self {
        let work = Work {
            stop,
            selection,
            destination: Destination::new(args, &inputs),
            cut: Cut::new(args.snaplen),
            wanted: args.count.map_or(u64::MAX, u64::from),
            tally: Tally::default(),
        };
        Self {
            args,
            names: inputs.iter().map(|input| input.name.clone()).collect(),
            inputs: Inputs::new(inputs),
            work,
            broken: Vec::new(),
        }
    }

    /// Reads to the end of all files, to the last packet wanted, or until it is asked to stop.
    fn work(&mut self) -> Result<(), Failure> {
        match &mut self.inputs {
            Inputs::One(input) if self.work.selection.is_any() && input.arrived.is_none() => {
                let mut sieve = Sieve::new(&mut input.reader, &mut self.work, Plan::new());
                if let Some(error) = sieve.run()? {
                    self.broken.push(Broken { input: 0, error });
                }
            }
            _ => self.read_in_order()?,
        }
        if self.work.must_end() {
            return Ok(());
        }
        self.work.selection.check()
    }

    fn read_in_order(&mut self) -> Result<(), Failure> {
        while !self.work.must_end() {
            if self.inputs.must_wait() {
                self.work.destination.flush()?;
            }
            match self.inputs.next_item() {
                Ok(Some(item)) => self.work.take(item)?,
                Ok(None) => break,
                // What ends in the middle because of the stop is not broken.
                Err(_) if self.work.must_end() => {}
                Err(broken) => self.broken.push(broken),
            }
        }
        Ok(())
    }

    /// Closes what was written and says how it went.
    fn finish(mut self, result: Result<(), Failure>) -> Result<Exit, Failure> {
        let Work {
            destination, tally, ..
        } = &mut self.work;
        let finished = destination.finish(result.is_err());
        tally.lost = destination.lost(tally.passed);
        tally.written = destination.written();
        let result = result.and(finished);
        let is_screen = matches!(destination, Destination::Screen(_));
        if !(is_screen && result.is_err()) {
            self.tell()
                .map_err(|error| Failure::output("cannot print the summary", &error))?;
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
            return crate::json::print(&self.work.tally.json(&self.names, &errors));
        }
        if self.args.quiet {
            return Ok(());
        }
        self.work.tally.tell(&mut output::screen(&self.args.output))
    }
}

#[cfg(test)]
mod tests;
