//! A terminal that the program writes to and reads keys from.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::run::{Running, begin, spawn_into};

/// Time limit for a text to appear.
const DEADLINE: Duration = Duration::from_mins(1);

/// The terminal that a program writes to.
pub struct Terminal {
    control: File,
    coming: Receiver<Vec<u8>>,
    pub seen: String,
}

impl Terminal {
    /// Starts `command` on a terminal with the given columns and rows.
    pub fn start(command: Command, columns: u16, rows: u16) -> (Self, Running) {
        Self::start_with(command, columns, rows, |command, _| spawn_into(command))
    }

    /// Like [`start`](Self::start), with the terminal as controlling terminal, so that the program reads its keys:
    /// `command` must be one of setsid(1) with `--ctty`.
    pub fn start_session(command: Command, columns: u16, rows: u16) -> (Self, Running) {
        Self::start_with(command, columns, rows, |mut command, end| {
            command.stdin(end).stderr(Stdio::piped());
            begin(command)
        })
    }

    /// Like [`start`](Self::start), with only standard error on the terminal.
    pub fn start_errors(command: Command, columns: u16, rows: u16) -> (Self, Running) {
        Self::start_with(command, columns, rows, |mut command, end| {
            command.stdin(Stdio::null()).stdout(Stdio::piped());
            command.stderr(end);
            begin(command)
        })
    }

    fn start_with(
        mut command: Command,
        columns: u16,
        rows: u16,
        spawn: impl FnOnce(Command, File) -> Running,
    ) -> (Self, Running) {
        let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&control).expect("its end");
        unlockpt(&control).expect("its end");
        let path = ptsname(&control, Vec::new()).expect("its name");
        let path = path.to_str().expect("a path").to_owned();
        let end = File::options()
            .read(true)
            .write(true)
            .open(path)
            .expect("its end");
        let control = File::from(control);
        set_size(&control, columns, rows);
        if !command.get_envs().any(|(name, _)| name == "TERM") {
            command.env("TERM", "xterm");
        }
        command
            .env("LC_ALL", "C.UTF-8")
            .stdout(end.try_clone().expect("its end"));
        let running = spawn(command, end);
        let mut reader = control.try_clone().expect("the terminal");
        let (sender, coming) = channel();
        thread::spawn(move || {
            let mut piece = [0; 4096];
            // Ends with EIO when nobody has the other end any more.
            while let Ok(read @ 1..) = reader.read(&mut piece) {
                if sender.send(piece[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        let terminal = Self {
            control,
            coming,
            seen: String::new(),
        };
        (terminal, running)
    }

    /// Reads output until `text` appears.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        let deadline = Instant::now() + DEADLINE;
        while !self.seen.contains(text) {
            let left = deadline.saturating_duration_since(Instant::now());
            let more = self.coming.recv_timeout(left);
            let more = more.unwrap_or_else(|_| panic!("no {text:?} in {:?}", self.seen));
            self.seen.push_str(&String::from_utf8_lossy(&more));
        }
    }

    /// Reads output until no process has the terminal open.
    pub fn read_to_end(&mut self) {
        while let Ok(more) = self.coming.recv_timeout(DEADLINE) {
            self.seen.push_str(&String::from_utf8_lossy(&more));
        }
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        set_size(&self.control, columns, rows);
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        self.control
            .write_all(keys.as_bytes())
            .expect("the terminal");
    }

    /// Whether the terminal echoes input and is in line mode.
    pub fn is_as_usual(&self) -> bool {
        let modes = tcgetattr(&self.control).expect("its modes").local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }
}

fn set_size(control: &File, columns: u16, rows: u16) {
    let size = Winsize {
        ws_col: columns,
        ws_row: rows,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(control, size).expect("a size");
}
