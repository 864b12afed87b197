//! `--summary`: what each file is and what is in it.

mod json;
mod text;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use store::model::Packet;
use store::read::{Item, ReadError, Reader};

use super::digest::Digest;
use super::input::Input;
use super::judge::Judge;
use super::selection::Selection;
use super::sieve::{Plan, Receiver, Sieve};
use crate::args::ReadArgs;
use crate::failure::{Exit, Failure, chain};
use crate::json::print;
use crate::privilege;
use crate::signals::Signals;

/// Reports file after file; one that fails does not keep the others from it.
pub fn run(
    args: &ReadArgs,
    files: &[PathBuf],
    mut selection: Selection,
    signals: &Signals,
) -> Result<Exit, Failure> {
    privilege::drop_unneeded(false)?;
    let mut failures = Vec::new();
    let mut total = Total::default();
    for (place, path) in files.iter().enumerate() {
        if signals.flag.load(Ordering::Relaxed) {
            break;
        }
        let digest = match digest(path, &mut selection, signals) {
            Ok(digest) => digest,
            Err(failure) => {
                failures.push(failure.line);
                continue;
            }
        };
        let shown = if args.json {
            print(&json::of(&digest))
        } else {
            text::print(&digest, place > 0)
        };
        shown.map_err(|error| Failure::stdout(&error))?;
        total.add(&digest);
        let line = |error: &String| format!("{}: {error}", digest.name);
        failures.extend(digest.error.as_ref().map(line));
    }
    if args.json {
        print(&total.json()).map_err(|error| Failure::stdout(&error))?;
    }
    selection.check()?;
    let Some(last) = failures.pop() else {
        return Ok(Exit::Done);
    };
    for line in failures {
        eprintln!("tapline: {line}");
    }
    Err(Failure::new(Exit::Failed, last))
}

/// Reads one file to its end, to its damage or to the stop.
fn digest(path: &Path, selection: &mut Selection, signals: &Signals) -> Result<Digest, Failure> {
    let Input {
        name,
        mut reader,
        arrived,
    } = Input::open(path, &signals.stop)?;
    selection.begin_file();
    let digest = Digest::new(name, &reader);
    let mut counting = Counting {
        stop: &signals.flag,
        selection,
        digest,
    };
    let error = if arrived.is_none() && counting.selection.is_any() {
        Sieve::new(&mut reader, &mut counting, Plan::new()).run()?
    } else {
        counting.read_in_order(&mut reader)?
    };
    let mut digest = counting.digest;
    digest.error = error.map(|error| chain(&error));
    digest.size_bytes = match arrived {
        Some(arrived) => arrived.load(Ordering::Relaxed),
        None => fs::metadata(path).map_or(0, |file| file.len()),
    };
    Ok(digest)
}

/// Counts what a file holds.
struct Counting<'a> {
    stop: &'a AtomicBool,
    selection: &'a mut Selection,
    digest: Digest,
}

impl Counting<'_> {
    fn read_in_order(&mut self, reader: &mut Reader) -> Result<Option<ReadError>, Failure> {
        while !self.must_end() {
            match reader.next_item() {
                Ok(Some(item)) => self.take(item)?,
                Ok(None) => break,
                Err(error) => return Ok(Some(error)),
            }
        }
        Ok(None)
    }
}

impl Receiver for Counting<'_> {
    fn must_end(&self) -> bool {
        // Relaxed: the flag stands for itself alone.
        self.stop.load(Ordering::Relaxed)
    }

    fn judge(&self) -> &Judge {
        self.selection.judge()
    }

    fn take(&mut self, item: Item<'_>) -> Result<(), Failure> {
        match item {
            Item::Packet(packet) if self.selection.passes(&packet) => self.pass(&packet)?,
            Item::Interface { interface, .. } => {
                self.selection.add_interface(interface)?;
                self.digest.add_interface(interface);
            }
            Item::Statistics(statistics) => self.digest.statistics(statistics),
            _ => {}
        }
        Ok(())
    }

    fn pass(&mut self, packet: &Packet<'_>) -> Result<(), Failure> {
        self.digest.packet(packet);
        Ok(())
    }

    fn refuse(&mut self, _: u64) {}
}

/// All files together.
#[derive(Default)]
struct Total {
    files: u64,
    packets: u64,
    bytes: u64,
    original_bytes: u64,
}

impl Total {
    fn add(&mut self, digest: &Digest) {
        self.files += 1;
        self.packets += digest.traffic.packets;
        self.bytes += digest.traffic.bytes;
        self.original_bytes += digest.traffic.original_bytes;
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "event": "summary",
            "files": self.files,
            "packets": self.packets,
            "bytes": self.bytes,
            "original_bytes": self.original_bytes,
        })
    }
}
