//! `--decode`: pipes packets into a program that prints them.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tapline::file::model::Interface;
use tapline::file::write::{CaptureFileOptions, Output};

use crate::args::{PrintArgs, SandboxArgs};
use crate::failure::{DECODER, Exit, Failure};
use crate::sandbox;

/// A running tshark, which reads a capture file from a pipe.
#[derive(Debug)]
pub struct Decoder {
    child: Child,
}

impl Decoder {
    /// Starts it, and returns where to write the packets of `interfaces`.
    pub fn start(
        args: &PrintArgs,
        restricted: SandboxArgs,
        interfaces: Vec<Interface>,
    ) -> Result<(Self, CaptureFileOptions), Failure> {
        let mut command = Command::new(DECODER);
        command.args(arguments(args));
        // Ctrl-C ends the capture; tshark then prints what is in the pipe, and ends with it.
        command.process_group(0).stdin(Stdio::piped());
        let child = sandbox::start_parser(&mut command, restricted);
        let mut child = child.map_err(|error| cannot_start(&error))?;
        let pipe = child.stdin.take().map(OwnedFd::from);
        let pipe = pipe.ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
        let output = Output::Descriptor {
            file: File::from(pipe),
            name: DECODER.into(),
        };
        let options = CaptureFileOptions::new(output, interfaces);
        Ok((Self { child }, options))
    }

    /// Waits until it has printed everything. The pipe must be closed.
    ///
    /// It fails if tshark did, unless the reader of its output has gone away.
    pub fn finish(mut self) -> Result<(), Failure> {
        let status = (self.child.wait())
            .map_err(|error| Failure::job_on(format!("cannot wait for {DECODER}"), &error))?;
        // Of a closed pipe it dies, or it exits with an error.
        if status.success() || is_reader_gone() {
            return Ok(());
        }
        let line = format!("{DECODER} failed ({status}); packets may be missing above");
        Err(Failure::new(Exit::Failed, line))
    }
}

/// Whether standard output is a pipe that nobody reads any more.
fn is_reader_gone() -> bool {
    let stdout = io::stdout();
    let mut descriptors = [PollFd::new(&stdout, PollFlags::OUT)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let is_polled = poll(&mut descriptors, Some(&now)).is_ok();
    is_polled && descriptors[0].revents().contains(PollFlags::ERR)
}

fn cannot_start(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::NotFound {
        let line = "cannot decode with tshark: it is not installed (install the package 'tshark', or leave out \
                    --decode)";
        return Failure::new(Exit::Unsupported, line);
    }
    Failure::job_on(format!("cannot start {DECODER}"), error)
}

/// tshark's arguments: read a stream, print numbers, and each packet at once.
fn arguments(args: &PrintArgs) -> Vec<&'static str> {
    let time = match args.time {
        0 | 1 => "a",
        2 => "e",
        3 => "d",
        4 => "ad",
        _ => "r",
    };
    let mut arguments = vec!["-r", "-", "-n", "-l", "-t", time];
    if args.verbose > 0 {
        arguments.push("-V");
    }
    if args.hex + args.hex_ascii > 0 {
        arguments.extend(["-P", "-x"]);
    }
    arguments
}
