//! A terminal that the program writes to and reads keys from.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Action, LocalModes, Winsize, tcflow, tcgetattr, tcsetwinsize};

use super::run::{Running, begin, spawn_into};

/// Time limit for a text to appear.
const DEADLINE: Duration = Duration::from_mins(1);

/// The terminal that a program writes to.
pub struct Terminal {
    control: File,
    coming: Receiver<Vec<u8>>,
    /// Everything written to it.
    pub seen: String,
    /// What it shows.
    parser: vt100::Parser,
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
        let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a terminal");
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
        if !command.get_envs().any(|(name, _)| name == "LC_ALL") {
            command.env("LC_ALL", "C.UTF-8");
        }
        command.stdout(end.try_clone().expect("its end"));
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
            parser: vt100::Parser::new(nonzero(rows), nonzero(columns), 0),
        };
        (terminal, running)
    }

    /// Reads output until `text` appears, in what is written or in what is shown.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        self.wait_until(text, |terminal| {
            terminal.seen.contains(text) || terminal.shows(text)
        });
    }

    /// Reads output until the terminal shows `text`.
    #[track_caller]
    pub fn wait_for_shown(&mut self, text: &str) {
        self.wait_until(text, |terminal| terminal.shows(text));
    }

    /// Reads output until `is_there`; `what` is named if it does not come.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, is_there: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !is_there(self) {
            let left = deadline.saturating_duration_since(Instant::now());
            let more = self.coming.recv_timeout(left);
            let more =
                more.unwrap_or_else(|_| panic!("no {what:?} in {:?}\n{}", self.seen, self.shown()));
            self.take(&more);
        }
    }

    /// Reads output until no process has the terminal open.
    pub fn read_to_end(&mut self) {
        while let Ok(more) = self.coming.recv_timeout(DEADLINE) {
            self.take(&more);
        }
    }

    fn take(&mut self, more: &[u8]) {
        self.seen.push_str(&String::from_utf8_lossy(more));
        self.parser.process(more);
    }

    /// The lines of the terminal.
    pub fn shown(&self) -> String {
        self.parser.screen().contents()
    }

    fn shows(&self, text: &str) -> bool {
        self.shown().contains(text)
    }

    /// Whether a screen fills the terminal, and hides the lines before it.
    pub fn is_filled(&self) -> bool {
        self.parser.screen().alternate_screen()
    }

    pub fn resize(&mut self, columns: u16, rows: u16) {
        set_size(&self.control, columns, rows);
        self.parser
            .screen_mut()
            .set_size(nonzero(rows), nonzero(columns));
    }

    /// Closes the terminal, as a connection that breaks does.
    pub fn close(self) {
        drop(self.control);
        // Its reader ends when it has no receiver any more.
        drop(self.coming);
    }

    /// Lets the terminal take no more output.
    pub fn stop_output(&self) {
        let path = ptsname(&self.control, Vec::new()).expect("its name");
        let mut options = File::options();
        options.read(true).write(true).custom_flags(libc::O_NOCTTY);
        let end = options
            .open(path.to_str().expect("a path"))
            .expect("its end");
        tcflow(end, Action::OOff).expect("a terminal that stops");
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        self.control
            .write_all(keys.as_bytes())
            .expect("the terminal");
    }

    /// Whether the terminal echoes input, and passes it on line by line.
    pub fn is_in_line_mode(&self) -> bool {
        let modes = tcgetattr(&self.control).expect("its modes").local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Whether the terminal echoes input, is in line mode, and shows its cursor and the lines before.
    pub fn is_as_usual(&self) -> bool {
        self.is_in_line_mode() && !self.is_filled() && !self.parser.screen().hide_cursor()
    }
}

fn nonzero(size: u16) -> NonZeroU16 {
    NonZeroU16::new(size).expect("a size")
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
