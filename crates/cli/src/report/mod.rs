//! `tapline report`: a page about capture files.

mod capture_page;
mod json;
mod output;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tapline::analysis::Analysis;
use tapline::read::ReadError;

use self::output::PageOutput;
use crate::args::ReportArgs;
use crate::failure::{Exit, Failure, chain};
use crate::output::{is_stdout, json as lines, needed_capabilities};
use crate::process::{signals, user};
use crate::read::{self, Arguments, file_id};
use crate::sandbox::{self, Sandbox};
use crate::screen::{Progress, printable};
use crate::values::units::counted;

pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let arguments = Arguments::of_files(args.files.clone())?;
    let page = place(args)?;
    let stop = signals::stop_as(&args.user, args.sandbox)?;
    read::raise_descriptor_limit();
    let failure = |error: &ReadError| read::failure(error, &arguments);
    let builder = arguments.inputs()?.stop(stop);
    let mut read = builder.open().map_err(|error| failure(&error))?;
    user::leave(&args.user, needed_capabilities(Some(&page)))?;
    let output = PageOutput::open(&page)?;
    let files = args.files.iter();
    let sandbox = files.fold(Sandbox::new(&sandbox::READ), Sandbox::read);
    let sandbox = sandbox.write(Some(&page)).local_time(true);
    sandbox.enter(args.sandbox, args.quiet)?;
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
            result.map_err(|error| failure(&error))?;
            Vec::new()
        }
    };
    let names: Vec<_> = read
        .summary()
        .inputs
        .into_iter()
        .map(|input| input.name)
        .collect();
    let contents = capture_page::page(&analysis, &names, &broken, usize::from(args.top));
    output.write(contents)?;
    print_result(args, &page, &analysis, &names)?;
    read::fail_if_broken(broken.iter().map(|error| chain(error)).collect())
}

/// Where the page goes.
fn place(args: &ReportArgs) -> Result<PathBuf, Failure> {
    let usage = |line: String| Failure::new(Exit::Usage, line);
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

fn print_result(
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
    let packets = counted(analysis.packets, "packet");
    let bytes = counted(analysis.bytes, "byte");
    let line = format!("{packets}, {bytes}; page written to {}", page.display());
    let printed = writeln!(io::stdout(), "{}", printable(&line));
    printed.map_err(|error| Failure::stdout(&error))
}
