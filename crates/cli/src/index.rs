//! `tapline index`: writes indexes beside capture files.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use serde_json::json;
use tapline::file::index::{Index, IndexError, index_path};

use crate::args::IndexArgs;
use crate::failure::{Exit, Failure, chain, innermost};
use crate::output::json;
use crate::process::{privilege, user};
use crate::read::fail_if_broken;
use crate::sandbox::{self, Sandbox};
use crate::screen::printable;
use crate::values::units::{binary, counted};

pub fn run(args: &IndexArgs) -> Result<Exit, Failure> {
    user::leave(&args.user, privilege::ANY_FILE)?;
    restrict(args)?;
    let mut failures = Vec::new();
    for file in &args.files {
        match index(args, file) {
            Ok(done) => show(args, file, &done)?,
            Err(error) => failures.push(format!(
                "cannot index {}: {}",
                file.display(),
                reason(&error, file)
            )),
        }
    }
    fail_if_broken(failures)
}

/// Why a file cannot be indexed, without its name.
fn reason(error: &IndexError, file: &Path) -> String {
    match error {
        IndexError::Io { path, source } if path == file => innermost(source),
        other => chain(other),
    }
}

/// Leaves the program the files that it indexes, and their indexes.
fn restrict(args: &IndexArgs) -> Result<(), Failure> {
    let mut sandbox = Sandbox::new(&sandbox::INDEX);
    for file in &args.files {
        sandbox = sandbox.write(Some(file)).read(file).read(index_path(file));
    }
    sandbox.enter(args.sandbox, args.quiet)?;
    Ok(())
}

/// An index that is beside its file now.
struct Done {
    index: Index,
    is_new: bool,
}

fn index(args: &IndexArgs, path: &Path) -> Result<Done, IndexError> {
    if !args.again
        && let Ok(file) = File::open(path)
        && let Ok(Some(index)) = Index::of(&file, path)
        && file
            .metadata()
            .is_ok_and(|metadata| metadata.len() == index.bytes)
    {
        return Ok(Done {
            index,
            is_new: false,
        });
    }
    let index = Index::build(path)?;
    index.write(path)?;
    Ok(Done {
        index,
        is_new: true,
    })
}

fn show(args: &IndexArgs, file: &Path, Done { index, is_new }: &Done) -> Result<(), Failure> {
    if args.quiet {
        return Ok(());
    }
    let place = index_path(file);
    let packets: u64 = index
        .extents
        .iter()
        .map(|extent| u64::from(extent.packets))
        .sum();
    let printed = if args.json {
        json::print(&json!({
            "event": "index",
            "file": file.to_string_lossy(),
            "index": place.to_string_lossy(),
            "is_new": is_new,
            "packets": packets,
            "bytes": index.bytes,
            "index_bytes": index.encoded_bytes,
            "extents": index.extents.len(),
        }))
    } else {
        let what = if *is_new { "" } else { ", kept" };
        let share = index.encoded_bytes as f64 * 100.0 / index.bytes.max(1) as f64;
        let size = binary(usize::try_from(index.encoded_bytes).unwrap_or(usize::MAX));
        let line = format!(
            "{}: {}, {size} ({share:.2} %){what}",
            place.display(),
            counted(packets, "packet")
        );
        writeln!(std::io::stdout(), "{}", printable(&line))
    };
    printed.map_err(|error| Failure::stdout(&error))
}
