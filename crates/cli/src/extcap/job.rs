//! A capture into Wireshark's pipe. It is a `tapline capture` of its own, here or on another host.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{ChildStderr, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tapline::file::output::OpenOutput;

use super::capture_host::{ANY, CaptureHost, PREFIX, REMOTE};
use super::positional;
use super::toolbar::{Messages, Toolbar};
use crate::args::ExtcapArgs;
use crate::failure::{Exit, Failure};
use crate::process::signals;
use crate::sandbox::{self, Sandbox};
use crate::screen::printable;
use crate::values::moment;

/// Begins the line by which a capture says that it runs.
const BEGINS: &str = "capturing on ";

/// Begins the lines that are shown to the user.
const FAILURE: &str = "tapline: ";

/// Longest line of the capture, bytes; what is longer is split.
const LINE_BYTES_MAX: u64 = 4096;

/// Captures until Wireshark closes the pipe or signals the end. What the capture reports goes to the log of the toolbar,
/// and only failures to standard error: Wireshark shows everything that comes there as an error.
pub fn run(args: &ExtcapArgs, interface: &str, fifo: &Path) -> Result<Exit, Failure> {
    let failed = |error: &io::Error| Failure::job_on("cannot start the capture", error);
    let host = CaptureHost::of(interface, &args.remote)?;
    let name = format!("extcap-{}-{}", std::process::id(), moment::now_ns());
    let pipes = (args.extcap_control_in.clone()).zip(args.extcap_control_out.clone());
    let words = words(args, interface, pipes.is_some().then_some(&name));
    let messages = Messages::default();
    let (begun, begins) = channel();
    if let Some((changes, answers)) = pipes {
        let toolbar = Toolbar {
            host: host.clone(),
            name,
            filter: args.extcap_capture_filter.clone().unwrap_or_default(),
            mode: given(args.flags.mode.as_ref())
                .unwrap_or("mirror")
                .to_owned(),
            messages: messages.clone(),
            sandbox: args.sandbox,
        };
        // Opening a pipe waits for the other side. The thread ends with the program, at the latest.
        let thread = thread::Builder::new().name("toolbar".into());
        let run = move || {
            if let Err(error) = toolbar.run(&changes, &answers, &begins) {
                toolbar.messages.log(&error.to_string());
            }
        };
        thread.spawn(run).map_err(|error| failed(&error))?;
    }
    let packets = OpenOutput::create()
        .open(fifo)
        .map_err(|error| Failure::job_on(format!("cannot write to {}", fifo.display()), &error))?;
    let stop = signals::stop(args.sandbox)?;
    // It restricts itself before there is something to read.
    let (give, errors) = sync_channel(1);
    let report = move || {
        for errors in errors {
            report(errors, &begun, &messages);
        }
    };
    let reporter = Sandbox::new(&sandbox::EXTCAP).spawn(args.sandbox, report)?;
    let mut command = host.command(&words);
    command
        .stdin(Stdio::piped())
        .stdout(packets)
        .stderr(Stdio::piped());
    let child = command.spawn();
    let program = command.get_program().display().to_string();
    // It holds the pipe open.
    drop(command);
    let mut child =
        child.map_err(|error| Failure::job_on(format!("cannot run {program}"), &error))?;
    let mut input = child.stdin.take();
    if let Some(errors) = child.stderr.take() {
        // It waits for them.
        let _ = give.send(errors);
    }
    drop(give);
    let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
    let process = process.map_err(|error| failed(&error.into()))?;
    loop {
        let mut sources = vec![PollFd::new(&process, PollFlags::IN)];
        if input.is_some() {
            sources.push(PollFd::new(&stop, PollFlags::IN));
        }
        match poll(&mut sources, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(failed(&error.into())),
        }
        if !sources[0].revents().is_empty() {
            break;
        }
        let is_stopped = sources
            .get(1)
            .is_some_and(|stop| !stop.revents().is_empty());
        if is_stopped {
            // The end of its input ends the capture in order.
            input = None;
        }
    }
    let status = child.wait().map_err(|error| failed(&error))?;
    // It reads to the end of a pipe that has ended.
    let _ = reporter.join();
    exit(status)
}

/// The command line. The command that the capture watches ends with its input: when Wireshark stops the capture, and also
/// when this program is killed or the connection to the other host is lost.
fn words(args: &ExtcapArgs, interface: &str, name: Option<&String>) -> Vec<String> {
    let captured = match interface {
        REMOTE => given(args.remote.remote_interface.as_ref()).unwrap_or(ANY),
        here => here.strip_prefix(PREFIX).unwrap_or(here),
    };
    let mut words = ["capture", "-w", "-", "--interface"]
        .map(str::to_owned)
        .to_vec();
    words.push(captured.to_owned());
    if captured == ANY {
        words.extend(["-y", "LINUX_SLL2"].map(str::to_owned));
    }
    let flags = &args.flags;
    let values = [
        ("--snaplen", &flags.snaplen),
        ("--mode", &flags.mode),
        ("--sample", &flags.sample),
        ("--direction", &flags.direction),
        ("--buffer", &flags.buffer),
        ("--timestamp", &flags.timestamp),
    ];
    for (flag, value) in values {
        words.extend(given(value.as_ref()).map(|value| format!("{flag}={value}")));
    }
    if flags.no_promisc {
        words.push("--no-promisc".to_owned());
    }
    if args.sandbox.no_sandbox {
        words.push("--no-sandbox".to_owned());
    }
    words.push(match name {
        Some(name) => format!("--name={name}"),
        None => "--no-control".to_owned(),
    });
    words.extend(given(args.extcap_capture_filter.as_ref()).map(positional));
    words.extend(["--", "cat"].map(str::to_owned));
    words
}

/// A dialog gives an empty text for what was not filled in.
fn given(value: Option<&String>) -> Option<&str> {
    let value = value.map(|value| value.trim());
    value.filter(|value| !value.is_empty())
}

/// Passes on what the capture prints until it ends.
fn report(errors: ChildStderr, begun: &Sender<()>, messages: &Messages) {
    let mut errors = BufReader::new(errors);
    let mut has_begun = false;
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = errors.by_ref().take(LINE_BYTES_MAX);
        match limited.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        let text = printable(text.trim_end());
        if text.starts_with(BEGINS) {
            has_begun = true;
            // Without a toolbar nobody waits.
            let _ = begun.send(());
        }
        // Before the capture begins, ssh(1) and the shell of the other host may say why it does not.
        if text.starts_with(FAILURE) || !has_begun {
            // If standard error is closed, nobody can read the message.
            let _ = writeln!(io::stderr(), "{text}");
        }
        messages.log(&text);
    }
}

/// The exit status of the capture, which has said why it failed.
fn exit(status: ExitStatus) -> Result<Exit, Failure> {
    match status.code() {
        Some(0) => Ok(Exit::Done),
        Some(2) => Ok(Exit::Usage),
        Some(3) => Ok(Exit::Privilege),
        Some(4) => Ok(Exit::Unsupported),
        Some(_) => Ok(Exit::Failed),
        None => Err(Failure::new(
            Exit::Failed,
            format!("the capture was ended: {status}"),
        )),
    }
}
