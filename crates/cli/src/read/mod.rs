//! `tapline read`: prints, filters, converts, merges and summarises capture files.

mod arguments;
mod edits;
mod failure;
mod report;
mod report_json;
mod report_text;
mod stamps;

use std::io::{self, Write};
use std::num::NonZeroU64;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use tapline::file::model::Section;
use tapline::file::write::{CaptureFileOptions, Format, WriteError};
use tapline::read::{IndexUse, InputError, LeftOut, Read, ReadError, ReadProgress, ReadSummary};

use crate::args::{ColumnFormat, CountOrTime, FileSplit, ReadArgs};
use crate::columns::{ColumnFlags, ColumnOutput, Written};
use crate::failure::{Exit, Failure, chain};
use crate::metrics::{Counters, Server, read_families};
use crate::object_storage::{WhenFull, is_url};
use crate::output;
use crate::output::decoder::Decoder;
use crate::packet_line::{LineOptions, Printer};
use crate::process::{signals, user};
use crate::sandbox::{self, Sandbox};
use crate::screen::{Progress, printable};
use crate::values::units::{counted, grouped};
pub use arguments::{Arguments, file_id};
pub use failure::failure;

pub fn run(args: &ReadArgs) -> Result<Exit, Failure> {
    if args.list_interfaces {
        let line = "'tapline read' reads files: 'tapline capture -D' lists interfaces, --summary those of a file";
        return Err(Failure::new(Exit::Usage, line));
    }
    output::refuse_two_on_stdout(&args.output, args.json)?;
    output::refuse_keep_alone(&args.output)?;
    output::refuse_other_compression(&args.output)?;
    if args.edit.split == Some(FileSplit::Flow)
        && let Some(path) = &args.output.write
        && (output::is_stdout(path) || output::format(&args.output, path) != Format::Pcapng)
    {
        let line = "--split flow needs the name of a pcapng file: each flow gets a file of its own";
        return Err(Failure::new(Exit::Usage, line));
    }
    if args.edit.split == Some(FileSplit::Flow) && args.output.rotate_size.is_some() {
        let line = "--split flow writes one file for each flow, and --rotate-size several";
        return Err(Failure::new(Exit::Usage, line));
    }
    let arguments = Arguments::new(args)?;
    let columns = columns(args, arguments.when_full())?;
    if columns.is_none() {
        output::refuse_objects(&args.output)?;
        refuse_several_on_stdout(args)?;
    }
    let builder = arguments.builder(args)?.edits(edits::edits(&args.edit)?);
    let stop = signals::stop_as(&args.user, args.sandbox)?;
    if args.summary {
        return report::run(args, &arguments, builder.stop(stop));
    }
    raise_descriptor_limit();
    let failure = |error: &ReadError| failure(error, &arguments);
    let server = args.metrics.map(Server::bind).transpose()?;
    let mut read = builder.stop(stop).open().map_err(|error| failure(&error))?;
    let needed = output::needed_capabilities(args.output.write.as_deref());
    user::leave(&args.user, needed)?;
    let files = arguments.files.iter();
    if let Some(columns) = columns {
        let sandbox = files.fold(Sandbox::new(&sandbox::COLUMNS), Sandbox::read);
        return write_columns(args, &mut read, &arguments, columns, (sandbox, server));
    }
    serve_metrics(server, args, read.progress(), None)?;
    let sandbox = files.fold(Sandbox::new(&sandbox::READ), Sandbox::read);
    let prints = args.output.write.is_none() && !args.json;
    let names_files = output::rotation(&args.output).is_any() || args.edit.split.is_some();
    let sandbox = sandbox
        .write(args.output.write.as_deref())
        .local_time(prints || names_files);
    let restrict = || sandbox.enter(args.sandbox, args.quiet);
    if args.stamps {
        restrict()?;
        return stamps::run(args, read, &arguments);
    }
    let result = match &args.output.write {
        None if args.print.decode.is_some() => {
            let (decoder, options) = Decoder::start(&args.print, args.sandbox, Vec::new())?;
            restrict()?;
            let result = read.write_to(options);
            decoder.finish()?;
            result
        }
        Some(path) => {
            restrict()?;
            let section = Section::default();
            let mut options = output::options(&args.output, path, section, Vec::new())?;
            if let Some(FileSplit::By(CountOrTime::Count(packets))) = args.edit.split {
                options.rotation.packets = NonZeroU64::new(packets);
            }
            write(&mut read, options, args.quiet)
        }
        None => {
            restrict()?;
            read.run_consumer(&mut Printer::new(args.json, LineOptions::from(&args.print)))
        }
    };
    let (result, broken) = match result {
        Err(ReadError::Incomplete(broken)) => (Ok(()), broken.0),
        result => (result, Vec::new()),
    };
    let is_screen = args.output.write.is_none();
    // If the first file cannot be created, there is nothing to account for.
    let is_uncreated = matches!(&result, Err(ReadError::Write(WriteError::Create { .. })))
        && read.summary().written.paths.is_empty();
    if !(is_screen && result.is_err() || is_uncreated) {
        print_summary(args, &read.summary(), &broken)
            .map_err(|error| Failure::output("cannot print the summary", &error))?;
    }
    result.map_err(|error| failure(&error))?;
    let broken = broken.iter().map(|error| chain(error));
    fail_if_broken(
        broken
            .chain(unsorted_line(read.summary().unsorted))
            .collect(),
    )
}

/// Why a sorted copy is not in order.
fn unsorted_line(packets: u64) -> Option<String> {
    (packets > 0).then(|| {
        format!(
            "{} not in time order: earlier packets came after the memory for sorting was full (use --sort=SIZE with a larger size)",
            counted(packets, "packet")
        )
    })
}

/// Rejects several files where standard output is one.
fn refuse_several_on_stdout(args: &ReadArgs) -> Result<(), Failure> {
    let output = &args.output;
    if !output.write.as_deref().is_some_and(output::is_stdout) {
        return Ok(());
    }
    let several = [
        ("--split", args.edit.split.is_some()),
        ("--rotate-size", output.rotate_size.is_some()),
        ("--rotate-interval", output.rotate_interval.is_some()),
        ("--rotate-packets", output.rotate_packets.is_some()),
    ];
    if let Some((flag, _)) = several.iter().find(|(_, is_given)| *is_given) {
        let line = format!("{flag} writes several files, and standard output is one (use -w FILE)");
        return Err(Failure::new(Exit::Usage, line));
    }
    Ok(())
}

/// Writes the selected packets. Shows the progress on standard error unless quiet.
fn write(read: &mut Read, options: CaptureFileOptions, quiet: bool) -> Result<(), ReadError> {
    let progress = read.progress();
    let shown = if quiet {
        None
    } else {
        Progress::open(progress.total_bytes(), "B")
    };
    match shown {
        Some(shown) => shown.during(move || progress.bytes(), || read.write_to(options)),
        None => read.write_to(options),
    }
}

/// Serves the counters of the job and of its uploads, and says where.
fn serve_metrics(
    server: Option<Server>,
    args: &ReadArgs,
    progress: ReadProgress,
    uploads: Option<Counters>,
) -> Result<(), Failure> {
    let Some(server) = server else {
        return Ok(());
    };
    let url = server.url();
    server.serve(args.sandbox, move || {
        let mut families = read_families(&progress);
        families.extend(uploads.iter().flat_map(|uploads| uploads()));
        families
    })?;
    print_metrics_url(&url, args.json, args.quiet).map_err(|error| Failure::stdout(&error))
}

/// Says where the metrics of a job without a start are.
pub fn print_metrics_url(url: &str, is_json: bool, is_quiet: bool) -> io::Result<()> {
    if is_json {
        return crate::output::json::print(&json!({ "event": "start", "metrics": url }));
    }
    if !is_quiet {
        // A closed standard error is not a failure.
        let _ = writeln!(io::stderr(), "metrics at {url}");
    }
    Ok(())
}

/// The columns that the flags ask for, if they do.
fn columns(args: &ReadArgs, when_full: WhenFull) -> Result<Option<ColumnOutput>, Failure> {
    let (output, edit) = (&args.output, &args.edit);
    let is_partitioned = args.partition.partition.is_some();
    let format = match output::column_format(output) {
        None if is_partitioned && output.format.is_none() => Some(ColumnFormat::Parquet),
        format => format,
    };
    let (Some(format), Some(path)) = (format, &output.write) else {
        if is_partitioned {
            let line = "--partition is for Parquet and Arrow (use --format parquet)";
            return Err(Failure::new(Exit::Usage, line));
        }
        let is_object = output.write.as_deref().is_some_and(is_url);
        if let Some(flag) = args.spool.given().filter(|_| !is_object) {
            let line = format!("{flag} is for s3://, gs:// and az://");
            return Err(Failure::new(Exit::Usage, line));
        }
        return Ok(None);
    };
    let misplaced = [
        ("--rotate-size", output.rotate_size.is_some()),
        ("--rotate-packets", output.rotate_packets.is_some()),
        ("--keep", output.keep.is_some()),
        ("--compress", output.compress.is_some()),
        ("--comment", !edit.comment.is_empty()),
        ("--packet-comment", !edit.packet_comment.is_empty()),
        ("--strip", !edit.strip.is_empty()),
        ("--shift", edit.shift.is_some()),
        ("--sort", edit.sort.is_some()),
        ("--dedup", edit.dedup.is_some()),
        ("--split", edit.split.is_some()),
        ("--inject-secrets", edit.inject_secrets.is_some()),
        ("--anonymize", edit.anonymize.is_some()),
    ];
    if let Some((flag, _)) = misplaced.iter().find(|(_, is_given)| *is_given) {
        let line = format!(
            "{flag} is for capture files (use tapline read FILE -w - {flag} … | tapline read - -w FILE.parquet)"
        );
        return Err(Failure::new(Exit::Usage, line));
    }
    let flags = ColumnFlags {
        format,
        path,
        partition: &args.partition,
        rotate_interval: output.rotate_interval,
        spool: &args.spool,
        when_full,
        prints_json: args.json,
    };
    ColumnOutput::new(&flags).map(Some)
}

/// Writes the headers of the selected packets as columns.
fn write_columns(
    args: &ReadArgs,
    read: &mut Read,
    arguments: &Arguments,
    mut output: ColumnOutput,
    (sandbox, server): (Sandbox, Option<Server>),
) -> Result<Exit, Failure> {
    output.start(args.sandbox)?;
    serve_metrics(server, args, read.progress(), output.counters())?;
    let mut columns = output.packets()?;
    output.allow(sandbox).enter(args.sandbox, args.quiet)?;
    let result = read.run_consumer(&mut columns);
    let (broken, failed) = match result {
        Err(ReadError::Incomplete(broken)) => (broken.0, None),
        Err(error) => (Vec::new(), Some(failure(&error, arguments))),
        Ok(()) => (Vec::new(), None),
    };
    let written = Written::from(&columns);
    let failed = output.finish(failed);
    let summary = read.summary();
    let shown = if failed.as_ref().is_some_and(Failure::is_closed) {
        Ok(())
    } else if args.json {
        let mut object = summary_json(&summary, &broken);
        object["written"] = written.rows.into();
        object["bytes_written"] = written.bytes.into();
        object["columns"] = output.json(&written);
        crate::output::json::print(&object)
    } else if args.quiet {
        Ok(())
    } else {
        let mut out = output::screen(&args.output);
        print_text(&mut *out, &summary)
            .and_then(|()| output.print_to(&mut *out, &written, "packet"))
    };
    // The failure of the job is reported before that of printing its summary.
    failed.map_or(Ok(()), Err)?;
    shown.map_err(|error| Failure::output("cannot print the summary", &error))?;
    fail_if_broken(broken.iter().map(|error| chain(error)).collect())
}

/// Raises the limit of open files as far as allowed: large files stay open while they are merged.
pub fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // With the lower limit, a file that cannot be opened is reported.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// Prints one line for each error, the last as the failure.
pub fn fail_if_broken(mut lines: Vec<String>) -> Result<Exit, Failure> {
    let Some(last) = lines.pop() else {
        return Ok(Exit::Done);
    };
    for line in lines {
        // A closed standard error is not a failure.
        let _ = writeln!(io::stderr(), "tapline: {}", printable(&line));
    }
    Err(Failure::new(Exit::Failed, last))
}

/// The account of the packets that were read.
pub fn account_line(out: &mut impl Write, summary: &ReadSummary) -> io::Result<()> {
    let duplicates = match summary.duplicates {
        0 => String::new(),
        duplicates => format!("{} + ", counted(duplicates, "duplicate")),
    };
    writeln!(
        out,
        "{} read = {} delivered + {} filtered + {duplicates}{} lost",
        counted(summary.received, "packet"),
        grouped(summary.delivered),
        grouped(summary.filtered),
        grouped(summary.lost)
    )
}

fn print_summary(args: &ReadArgs, summary: &ReadSummary, broken: &[InputError]) -> io::Result<()> {
    if args.json {
        return crate::output::json::print(&summary_json(summary, broken));
    }
    if args.quiet {
        return Ok(());
    }
    let mut out = output::screen(&args.output);
    print_text(&mut *out, summary)?;
    output::Written::from(&summary.written).print_to(&mut out)?;
    let overflow = summary.written.overflow_packets;
    if overflow > 0 {
        let (packets, most) = (grouped(overflow), args.edit.split_files());
        writeln!(
            out,
            "{packets} packets of flows without a file are in the one with the number 0 (--split-files {most})"
        )?;
    }
    let mut left_out = summary.written.left_out;
    let truncated = std::mem::take(&mut left_out.truncated_times);
    if truncated > 0 {
        let times = counted(truncated, "time stamp");
        writeln!(
            out,
            "{times} truncated to microseconds (use --format pcap-ns)"
        )?;
    }
    if left_out.is_empty() {
        return Ok(());
    }
    writeln!(out, "{left_out}")
}

/// The packets, by what became of them.
fn print_text(mut out: &mut dyn Write, summary: &ReadSummary) -> io::Result<()> {
    account_line(&mut out, summary)?;
    if let Some(used) = &summary.index {
        writeln!(out, "{}", index_line(used))?;
    }
    if summary.emptied > 0 {
        let packets = counted(summary.emptied, "packet");
        writeln!(
            out,
            "{packets} written without data: the link type cannot be anonymized"
        )?;
    }
    if summary.limited_times > 0 {
        let packets = counted(summary.limited_times, "packet");
        writeln!(
            out,
            "{packets} got a time at the limit (1970 or 2554), because --shift goes beyond it"
        )?;
    }
    if summary.unused_comments > 0 {
        let comments = counted(summary.unused_comments, "comment");
        writeln!(
            out,
            "{comments} not written: --packet-comment names packets after the last one"
        )?;
    }
    Ok(())
}

/// How much the indexes saved.
fn index_line(used: &IndexUse) -> String {
    let share = (used.selected_bytes + used.index_bytes) as f64 * 100.0 / used.bytes.max(1) as f64;
    let line = format!(
        "{} of {} bytes read ({share:.2} %, with the indexes)",
        grouped(used.selected_bytes + used.index_bytes),
        grouped(used.bytes)
    );
    if used.without_index > 0 {
        let files = if used.without_index == 1 {
            "file has"
        } else {
            "files have"
        };
        let without = grouped(used.without_index as u64);
        format!("{line}; {without} {files} no index")
    } else {
        line
    }
}

fn summary_json(summary: &ReadSummary, broken: &[InputError]) -> Value {
    let inputs = summary.inputs.iter().enumerate().map(|(number, input)| {
        let error = broken.iter().find(|error| error.input == number);
        json!({ "file": input.name, "error": error.map(|error| chain(&error.source)) })
    });
    let written = output::Written::from(&summary.written);
    json!({
        "event": "summary",
        "received": summary.received,
        "delivered": summary.delivered,
        "filtered": summary.filtered,
        "duplicates": summary.duplicates,
        "emptied": summary.emptied,
        "limited_times": summary.limited_times,
        "unsorted": summary.unsorted,
        "unused_comments": summary.unused_comments,
        "written": written.packets,
        "bytes_written": written.bytes,
        "lost": { "writer": summary.lost },
        "inputs": inputs.collect::<Vec<_>>(),
        "files": written.names(),
        "overflow": summary.written.overflow_packets,
        "left_out": left_out_json(&summary.written.left_out),
        "index": summary.index.map(|used| json!({
            "bytes": used.bytes,
            "selected_bytes": used.selected_bytes,
            "index_bytes": used.index_bytes,
            "without_index": used.without_index,
            "skipped": used.skipped,
        })),
    })
}

/// What was left out; `null` if nothing was.
fn left_out_json(left_out: &LeftOut) -> Value {
    if left_out.is_empty() {
        return Value::Null;
    }
    json!({
        "packet_options": left_out.packet_options,
        "packet_times": left_out.packet_times,
        "truncated_times": left_out.truncated_times,
        "interface_options": left_out.interface_options,
        "section_options": left_out.section_options,
        "statistics": left_out.statistics,
        "names": left_out.names,
        "secrets": left_out.secrets,
        "journal": left_out.journal,
        "other_blocks": left_out.other_blocks,
        "kept_foreign": left_out.kept_foreign,
        "merged_options": left_out.merged_options,
    })
}
