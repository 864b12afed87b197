//! The toolbar of Wireshark: it changes filter and mode of the running capture, and gets what happens to it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use super::capture_host::CaptureHost;
use super::message::{Command, Message};
use crate::args::SandboxArgs;
use crate::sandbox::{self, Sandbox};

/// Numbers of the controls.
pub const FILTER: u8 = 0;
pub const MODE: u8 = 1;
pub const LOG: u8 = 2;

/// The kernel writes so many bytes to a pipe as a whole or not at all (`PIPE_BUF`).
const WHOLE_BYTES: usize = 4096;

/// Messages to the toolbar. Without one they go nowhere.
#[derive(Clone, Debug, Default)]
pub struct Messages(Arc<Mutex<Option<File>>>);

impl Messages {
    /// Opens the pipe, which waits for the toolbar to open it.
    fn open(&self, path: &Path) -> io::Result<()> {
        // The open waits; what is written later must not.
        let file = OpenOptions::new().write(true).open(path)?;
        let flags = rustix::fs::fcntl_getfl(&file)?;
        rustix::fs::fcntl_setfl(&file, flags | rustix::fs::OFlags::NONBLOCK)?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
        Ok(())
    }

    /// Adds a line to the log.
    pub fn log(&self, line: &str) {
        self.send(LOG, Command::Add, &format!("{line}\n"));
    }

    /// A toolbar that does not read, or has gone, misses the message: the capture does not wait for it.
    fn send(&self, control: u8, command: Command, text: &str) {
        let value = text.as_bytes().to_vec();
        let bytes = Message {
            control,
            command,
            value,
        }
        .bytes();
        let mut pipe = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = pipe.as_mut().filter(|_| bytes.len() <= WHOLE_BYTES) {
            let _ = file.write(&bytes);
        }
    }
}

/// Passes on the changes until the pipe ends.
fn parse(mut pipe: File, changes: &SyncSender<Message>) -> io::Result<()> {
    while let Some(message) = Message::read(&mut pipe)? {
        if message.command == Command::Set && changes.send(message).is_err() {
            break;
        }
    }
    Ok(())
}

/// What the toolbar controls.
pub struct Toolbar {
    pub host: CaptureHost,
    /// Name of the capture for `tapline ctl`.
    pub name: String,
    /// What it begins with.
    pub filter: String,
    pub mode: String,
    pub messages: Messages,
    pub sandbox: SandboxArgs,
}

impl Toolbar {
    /// Shows the settings, waits for the capture, and makes the changes that come until the toolbar closes its pipe.
    pub fn run(&self, changes: &Path, messages: &Path, begins: &Receiver<()>) -> io::Result<()> {
        self.messages.open(messages)?;
        let pipe = File::open(changes)?;
        self.messages.send(FILTER, Command::Set, &self.filter);
        self.messages.send(MODE, Command::Set, &self.mode);
        if begins.recv().is_err() {
            // It has ended without having begun.
            return Ok(());
        }
        // A thread of its own parses them: this one may start programs.
        let (give, changes) = sync_channel(1);
        let parser = Sandbox::new(&sandbox::EXTCAP).spawn(self.sandbox, move || parse(pipe, &give));
        let parser = parser.map_err(|failure| io::Error::other(failure.line))?;
        for message in changes {
            self.change(&message);
        }
        match parser.join() {
            Ok(Some(result)) => result,
            _ => Err(io::Error::other("the thread of the toolbar ended")),
        }
    }

    /// Makes a change and reports whether it succeeded.
    fn change(&self, message: &Message) {
        let Ok(value) = std::str::from_utf8(&message.value) else {
            return self.refuse("the value is not UTF-8");
        };
        let value = value.trim();
        // A word that begins with a dash would be taken for a flag.
        let words = match (message.control, value) {
            (FILTER, "") => vec!["filter".to_owned()],
            (FILTER, text) => vec!["filter".to_owned(), super::positional(text)],
            (MODE, "mirror" | "drop") => ["set", "mode", value].map(str::to_owned).to_vec(),
            (MODE, _) => return self.refuse("the mode is mirror or drop"),
            // A control of a later version.
            _ => return,
        };
        let line = words.join(" ");
        let mut whole = ["ctl", "--name", &self.name].map(str::to_owned).to_vec();
        whole.extend(words);
        let mut command = self.host.command(&whole);
        match command.stdin(Stdio::null()).output() {
            Ok(output) if output.status.success() => {
                self.messages.send(
                    message.control,
                    Command::Status,
                    &format!("tapline: {line}"),
                );
                self.messages.log(&line);
            }
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stderr);
                let text = text.trim();
                self.refuse(text.strip_prefix("tapline: ").unwrap_or(text));
            }
            Err(error) => self.refuse(&error.to_string()),
        }
    }

    fn refuse(&self, text: &str) {
        let text: String = text.chars().take(1000).collect();
        self.messages.send(FILTER, Command::Error, &text);
        self.messages.log(&text);
    }
}
