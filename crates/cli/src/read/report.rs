//! `--summary`: describes each file instead of printing its packets.

use serde_json::json;
use tapline::read::{FileReport, ReadBuilder, ReadError};

use super::arguments::Arguments;
use super::{fail_if_broken, failure, report_json, report_text};
use crate::args::ReadArgs;
use crate::failure::{Exit, Failure, chain};
use crate::output::json::print;
use crate::process::user;
use crate::sandbox::{self, Sandbox};

/// Reports file after file. A file that fails does not affect the others.
pub fn run(args: &ReadArgs, arguments: &Arguments, builder: ReadBuilder) -> Result<Exit, Failure> {
    let failure = |error: &ReadError| failure::failure(error, arguments);
    let mut inspection = builder.inspect().map_err(|error| failure(&error))?;
    user::leave(&args.user, user::to_read_any_file(&args.user))?;
    let files = arguments.files.iter();
    let sandbox = files.fold(Sandbox::new(&sandbox::READ), Sandbox::read);
    let sandbox = sandbox.local_time(!args.json);
    sandbox.enter(args.sandbox, args.quiet)?;
    let mut failures = Vec::new();
    let mut total = Total::default();
    let mut is_first = true;
    while let Some(report) = inspection.next_file() {
        let needs_blank_line = !std::mem::take(&mut is_first);
        let report = match report {
            Ok(report) => report,
            Err(error) => {
                failures.push(failure(&error).line);
                continue;
            }
        };
        let printed = if args.json {
            print(&report_json::object(&report))
        } else {
            report_text::print(&report, needs_blank_line)
        };
        printed.map_err(|error| Failure::stdout(&error))?;
        total.add(&report);
        if let Some(error) = &report.error {
            failures.push(format!("{}: {}", report.name, chain(error)));
        }
    }
    if args.json {
        print(&total.json()).map_err(|error| Failure::stdout(&error))?;
    }
    inspection.finish().map_err(|error| failure(&error))?;
    fail_if_broken(failures)
}

/// The name of a file's format, as in `--format`.
/// The sum of all files.
#[derive(Default)]
struct Total {
    files: u64,
    packets: u64,
    bytes: u64,
    original_bytes: u64,
}

impl Total {
    fn add(&mut self, report: &FileReport) {
        self.files += 1;
        self.packets += report.traffic.packets;
        self.bytes += report.traffic.bytes;
        self.original_bytes += report.traffic.original_bytes;
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
