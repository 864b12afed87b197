//! `tapline send -w`: the packets go to a file.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::path::Path;

use serde_json::json;
use tapline::file::write::Output;
use tapline::send::{SendToFile, SendToFileSummary};

use super::progress::Progress;
use super::source::Packets;
use super::{failure, rate};
use crate::args::SendArgs;
use crate::failure::{Exit, Failure, STDOUT};
use crate::metrics::Server;
use crate::output::{is_stdout, refuse_compressed_name};
use crate::process::{privilege, signals, user};
use crate::screen::printable;
use crate::values::units::counted;

/// Rejects packets and JSON together on standard output, and packets to a terminal.
pub fn refuse_two_on_stdout(args: &SendArgs) -> Result<(), Failure> {
    if !args.write.as_deref().is_some_and(is_stdout) {
        return Ok(());
    }
    let line = if args.json {
        "cannot write both packets and JSON to standard output (use -w FILE)"
    } else if io::stdout().is_terminal() {
        "cannot write packets to a terminal (use -w FILE, or pipe -w - into a program)"
    } else {
        return Ok(());
    };
    Err(Failure::new(Exit::Usage, line))
}

pub fn run(
    args: &SendArgs,
    path: &Path,
    packets: Packets,
    server: Option<Server>,
) -> Result<Exit, Failure> {
    refuse_compressed_name(path)?;
    let is_input = |file: &std::path::PathBuf| {
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let file = real(file);
        file.is_some() && file == real(path)
    };
    if !is_stdout(path) && args.read.iter().any(is_input) {
        let line = format!("cannot write to {}: it is an input", path.display());
        return Err(Failure::new(Exit::Usage, line));
    }
    let output = if is_stdout(path) {
        Output::Descriptor {
            file: File::from(io::stdout().as_fd().try_clone_to_owned()?),
            name: STDOUT.into(),
        }
    } else {
        Output::Path(path.to_owned())
    };
    let stop = signals::stop_as(&args.user, args.sandbox)?;
    user::leave(&args.user, privilege::ANY_FILE)?;
    let mut file = SendToFile::create_as(output)
        .map_err(|error| failure(&error))?
        .rate(rate(args))
        .packets(args.count.map(NonZeroU64::get))
        .stop_with(stop);
    super::begin(args, server, file.live())?;
    let progress = Progress::start(args, file.live(), packets.share)?;
    let result = file.run(packets.source);
    drop(progress);
    let summary = file.finish().map_err(|error| failure(&error))?;
    let shown = show(args, path, &summary);
    result.map_err(|error| failure(&error))?;
    shown.map_err(|error| Failure::output("cannot print the summary", &error))?;
    Ok(Exit::Done)
}

fn show(args: &SendArgs, path: &Path, summary: &SendToFileSummary) -> io::Result<()> {
    if args.json {
        return crate::output::json::print(&json!({
            "event": "summary",
            "written": summary.packets,
            "bytes": summary.bytes,
            "bytes_written": summary.file_bytes,
            "files": [path.display().to_string()],
        }));
    }
    if args.quiet {
        return Ok(());
    }
    let line = format!(
        "{}, {}, written to {}",
        counted(summary.packets, "packet"),
        counted(summary.bytes, "byte"),
        path.display()
    );
    let line = printable(&line);
    if is_stdout(path) {
        return writeln!(io::stderr(), "{line}");
    }
    writeln!(io::stdout(), "{line}")
}
