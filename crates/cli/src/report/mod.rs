//! `tapline report`: a page about capture files.

mod capture_page;
mod durations;
mod json;
mod output;

use std::fs;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tapline::analysis::Analysis;
use tapline::read::{InputError, ReadBuilder, ReadError};

use crate::args::ReportArgs;
use crate::failure::{Exit, Failure, chain};
use crate::output::is_stdout;
use crate::sandbox::{self, Sandbox};
use crate::screen::Progress;
use crate::units::grouped;
use crate::{json as lines, privilege, signals};

pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let page = place(args)?;
    let stop = signals::stop()?;
    let mut builder = ReadBuilder::new().stop(stop);
    for file in &args.files {
        builder = if is_stdout(file) {
            let stdin = io::stdin().as_fd().try_clone_to_owned()?;
            builder.stream("standard input", stdin)
        } else {
            builder.file(file)
        };
    }
    let mut read = builder.open().map_err(|error| Failure::job(&error))?;
    privilege::drop_unneeded(false)?;
    let files = args.files.iter();
    let sandbox = files.fold(Sandbox::new(&sandbox::READ), Sandbox::read);
    sandbox.write(Some(&page)).enter(args.sandbox, args.quiet)?;
    let mut analysis = Analysis::default();
    let progress = read.progress();
    let shown = if args.quiet {
        None
    } else {
        Progress::open(progress.total_bytes(), "B")
    };
    let result = match shown {
        Some(shown) => shown.during(move || progress.bytes(), || read.analyze(&mut analysis)),
        None => read.analyze(&mut analysis),
    };
    let broken = match result {
        Err(ReadError::Incomplete(broken)) => broken.0,
        result => {
            result.map_err(|error| Failure::job(&error))?;
            Vec::new()
        }
    };
    let names: Vec<_> = read
        .summary()
        .inputs
        .into_iter()
        .map(|input| input.name)
        .collect();
    let text = capture_page::page(&analysis, &names, &broken, usize::from(args.top));
    output::write(&page, &text)?;
    tell(args, &page, &analysis, &names)?;
    fail_if_broken(&broken)
}

/// Where the page goes.
fn place(args: &ReportArgs) -> Result<PathBuf, Failure> {
    let usage = |line: String| Failure::new(Exit::Usage, line);
    if args.files.iter().any(|file| file.as_os_str().is_empty()) {
        return Err(usage(
            "the name of a file is empty (use - for standard input)".into(),
        ));
    }
    if args.files.iter().filter(|file| is_stdout(file)).count() > 1 {
        return Err(usage("standard input can be read only once".into()));
    }
    let page = match (&args.output, args.files.first()) {
        (Some(page), _) => page.clone(),
        (None, Some(first)) if !is_stdout(first) => {
            let mut name = first.clone().into_os_string();
            name.push(".html");
            name.into()
        }
        _ => {
            return Err(usage(
                "a page about standard input needs a name: -o FILE.html".into(),
            ));
        }
    };
    if is_stdout(&page) && args.json {
        return Err(usage(
            "cannot write both the page and JSON to standard output (use -o FILE)".into(),
        ));
    }
    let is_page = |file: &&PathBuf| file_id(file).is_some_and(|id| file_id(&page) == Some(id));
    if let Some(file) = args.files.iter().find(is_page) {
        let line = format!(
            "cannot write to {}: it is the input {}",
            page.display(),
            file.display()
        );
        return Err(usage(line));
    }
    Ok(page)
}

/// Device and inode of a regular file.
fn file_id(path: &Path) -> Option<(u64, u64)> {
    let file = fs::metadata(path).ok()?;
    file.is_file().then(|| (file.dev(), file.ino()))
}

fn tell(
    args: &ReportArgs,
    page: &Path,
    analysis: &Analysis,
    names: &[String],
) -> Result<(), Failure> {
    if args.json {
        let figures = json::object(analysis, names, page, usize::from(args.top));
        return lines::print(&figures).map_err(|error| Failure::stdout(&error));
    }
    if args.quiet || is_stdout(page) {
        return Ok(());
    }
    let (packets, bytes) = (grouped(analysis.packets), grouped(analysis.bytes));
    let line = format!(
        "{packets} packets, {bytes} bytes; page written to {}",
        page.display()
    );
    let printed = writeln!(io::stdout(), "{}", line.replace(char::is_control, "?"));
    printed.map_err(|error| Failure::stdout(&error))
}

/// Prints a line for each input that could not be read to its end, the last as the failure.
fn fail_if_broken(broken: &[InputError]) -> Result<Exit, Failure> {
    let Some((last, others)) = broken.split_last() else {
        return Ok(Exit::Done);
    };
    for error in others {
        let line = chain(error).replace(char::is_control, "?");
        let _ = writeln!(io::stderr(), "tapline: {line}");
    }
    Err(Failure::new(Exit::Failed, chain(last)))
}
