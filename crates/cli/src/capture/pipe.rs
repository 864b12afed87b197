//! Captures from pipes: `-i -` and `-i FIFO`, as dumpcap reads them. The packets come in a capture file format, so
//! `tapline read` does the work.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use tapline::capture::DEFAULT_SNAPLEN;
use tapline::net::Netlink;

use crate::args::{CaptureArgs, EditArgs, PartitionArgs, ReadArgs, SpoolArgs};
use crate::failure::{Exit, Failure, NO_LINK};
use crate::screen::printable;

/// The job of `tapline read`, if the interfaces are pipes.
pub fn as_read(args: &CaptureArgs) -> Result<Option<ReadArgs>, Failure> {
    let pipes = args.interface.iter().filter(|name| is_pipe(name)).count();
    if pipes == 0 {
        return match args.interface.iter().find(|name| name.contains('/')) {
            None => Ok(None),
            Some(path) => Err(no_pipe(path)),
        };
    }
    if pipes < args.interface.len() {
        let line = "packets of pipes and of interfaces cannot be captured together";
        return Err(Failure::new(Exit::Usage, line));
    }
    if let Some(flag) = misplaced(args) {
        let line = format!("{flag} needs an interface, not a pipe");
        return Err(Failure::new(Exit::Usage, line));
    }
    for path in args.interface.iter().filter(|name| *name != "-") {
        if !args.quiet && !args.json {
            // Its writer may come later.
            let path = printable(path);
            let _ = writeln!(io::stderr(), "reading packets from the pipe {path}");
        }
    }
    crate::output::refuse_columns(&args.output)?;
    let words = |words: &[String]| words.iter().map(OsString::from).collect();
    Ok(Some(ReadArgs {
        edit: EditArgs::default(),
        words: words(&args.interface),
        filter: words(&args.filter),
        output: args.output.clone(),
        partition: PartitionArgs::default(),
        spool: SpoolArgs::default(),
        filter_file: args.filter_file.clone(),
        bpf: args.bpf.clone(),
        interface: Vec::new(),
        from: None,
        to: None,
        packets: Vec::new(),
        except_packets: Vec::new(),
        count: args.count,
        snaplen: (args.snaplen != DEFAULT_SNAPLEN).then_some(args.snaplen),
        summary: false,
        index: false,
        stamps: false,
        metrics: args.metrics,
        json: args.json,
        quiet: args.quiet,
        print: args.print.clone(),
        no_promisc: args.no_promisc,
        sandbox: args.sandbox,
        user: args.user.clone(),
        list_interfaces: false,
    }))
}

/// Standard input or a named pipe. A pipe with the name of an interface has to be given with its path.
fn is_pipe(name: &str) -> bool {
    let is_fifo = || {
        Path::new(name)
            .metadata()
            .is_ok_and(|file| file.file_type().is_fifo())
    };
    // Without netlink, the capture itself says what is missing.
    let is_interface = || {
        let netlink = Netlink::open();
        netlink.is_ok_and(|mut netlink| netlink.link_named(name).is_ok())
    };
    name == "-" || (is_fifo() && (name.contains('/') || !is_interface()))
}

/// Why a path, which no interface has as its name, is not captured from.
fn no_pipe(path: &str) -> Failure {
    match Path::new(path).metadata() {
        Ok(file) if file.is_file() => {
            let line = format!("{path} is a file, not an interface: use 'tapline read {path}'");
            Failure::new(Exit::Usage, line)
        }
        Ok(_) => {
            let line = format!("{path} is neither a named pipe nor an interface ({NO_LINK})");
            Failure::new(Exit::Usage, line)
        }
        Err(error) => {
            let what = format!("cannot open the named pipe {path}");
            let failure = Failure::job_on(what, &error);
            let advice = format!("'mkfifo {path}' creates it; {NO_LINK}");
            Failure {
                line: format!("{} ({advice})", failure.line),
                ..failure
            }
        }
    }
}

/// A flag that has no effect on a pipe.
fn misplaced(args: &CaptureArgs) -> Option<&'static str> {
    let given = [
        ("--duration", args.duration.is_some()),
        ("--fail-loss", args.fail_loss.is_some()),
    ];
    let given = given.iter().find(|(_, is_given)| *is_given);
    args.needs_interface().or(given.map(|&(flag, _)| flag))
}
