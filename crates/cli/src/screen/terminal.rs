//! The terminal while a screen fills it: entered, left, suspended, and restored whatever ends the program.

use std::fs::File;
use std::io::{self, IsTerminal, Stdout, Write};
use std::mem::ManuallyDrop;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::panic;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use crossterm::cursor::{Hide, Show};
use crossterm::event::{self, Event, KeyEventKind, KeyModifiers};
use crossterm::execute;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpgrp, getpid, kill_process};
use rustix::termios::{tcgetpgrp, tcgetwinsize};

use super::theme::is_terminal_dumb;

pub use crossterm::event::KeyCode as Key;

/// Maximum keys handled before the screen is drawn again.
const MOST_KEYS: usize = 64;

/// As good as no wait. With none, crossterm does not look at the terminal.
const AT_ONCE: Duration = Duration::from_millis(1);

/// Time after which a change of the window's size, or of the foreground, is noticed at the latest.
const AGAIN: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// Maximum lines kept for standard error while a screen is open.
const MOST_LINES: usize = 1000;

/// A screen that fills the terminal of standard output. Dropping it restores the terminal.
pub struct Screen {
    /// Never dropped: that would print on a standard error that may be closed, which panics.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>,
    /// The controlling terminal; `None` without one, or if the program was started in the background.
    keyboard: Option<File>,
    /// Whether Ctrl-Z was pressed and the program is not in the foreground again.
    is_suspended: bool,
    area: Rect,
}

/// Terminal settings to restore when the screen is left, and output that waits until then.
struct ScreenState {
    is_raw: bool,
    /// Lines for standard error, printed when the screen is left.
    lines: Vec<String>,
}

static ENTERED: Mutex<Option<ScreenState>> = Mutex::new(None);

fn entered() -> MutexGuard<'static, Option<ScreenState>> {
    ENTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Screen {
    /// Whether standard output is a terminal that moves its cursor.
    pub fn is_possible() -> bool {
        io::stdout().is_terminal() && !is_terminal_dumb()
    }

    pub fn open() -> io::Result<Self> {
        restore_after_panics();
        let keyboard = File::open("/dev/tty").ok().filter(is_foreground);
        enter(keyboard.is_some())?;
        let area = window();
        let viewport = Viewport::Fixed(area);
        let backend = CrosstermBackend::new(io::stdout());
        let terminal = Terminal::with_options(backend, TerminalOptions { viewport });
        Ok(Self {
            terminal: ManuallyDrop::new(terminal.inspect_err(|_| leave())?),
            keyboard,
            is_suspended: false,
            area,
        })
    }

    /// Whether keys are read.
    pub fn has_keys(&self) -> bool {
        self.keyboard.is_some()
    }

    /// Draws the screen. Only cells that differ from the last drawing are written.
    pub fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        if !self.resume()? {
            return Ok(());
        }
        let area = window();
        if area != self.area {
            self.area = area;
            self.terminal.resize(area)?;
        }
        self.terminal.draw(render)?;
        Ok(())
    }

    /// Whether the window has another size than at the last drawing.
    pub fn is_resized(&self) -> bool {
        window() != self.area
    }

    /// Waits until `other` is readable, or something happens on the terminal. A signal ends the wait too.
    pub fn wait(&self, other: &impl AsFd) -> io::Result<()> {
        let mut polled = vec![PollFd::new(other, PollFlags::IN)];
        if let (Some(keyboard), false) = (&self.keyboard, self.is_suspended) {
            polled.push(PollFd::new(keyboard, PollFlags::IN));
        }
        // A suspended program waits for the foreground, a terminal that is gone for the end.
        match poll(&mut polled, Some(&AGAIN)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The keys pressed since the last call. Does not block. Ctrl-C, Ctrl-\ and Ctrl-Z do what they do in line mode.
    pub fn keys(&mut self) -> io::Result<Vec<Key>> {
        let mut keys = Vec::new();
        if !self.resume()? || !self.has_input() {
            return Ok(keys);
        }
        while keys.len() < MOST_KEYS && event::poll(AT_ONCE)? {
            let Event::Key(key) = event::read()? else {
                continue;
            };
            if key.kind == KeyEventKind::Release {
                continue;
            }
            match key.code {
                Key::Char(letter) if key.modifiers.contains(KeyModifiers::CONTROL) => {
                    match letter {
                        'c' => kill_process(getpid(), Signal::INT)?,
                        // Terminals send the same byte for both.
                        '\\' | '4' => kill_process(getpid(), Signal::QUIT)?,
                        'z' => {
                            self.suspend()?;
                            break;
                        }
                        _ => {}
                    }
                }
                code => keys.push(code),
            }
        }
        Ok(keys)
    }

    /// Whether the terminal has input. One that is gone has none: reading from it would not end.
    fn has_input(&self) -> bool {
        let Some(keyboard) = self
            .keyboard
            .as_ref()
            .filter(|keyboard| is_foreground(keyboard))
        else {
            return false;
        };
        let mut polled = [PollFd::new(keyboard, PollFlags::IN)];
        let now = Timespec::default();
        poll(&mut polled, Some(&now)).is_ok_and(|_| polled[0].revents() == PollFlags::IN)
    }

    /// Leaves the terminal to the shell.
    fn suspend(&mut self) -> io::Result<()> {
        leave();
        self.is_suspended = true;
        // Returns when the shell continues the program.
        kill_process(getpid(), Signal::TSTP)?;
        Ok(())
    }

    /// Fills the terminal again after a suspension. Returns whether it may be drawn on.
    fn resume(&mut self) -> io::Result<bool> {
        if !self.is_suspended {
            return Ok(true);
        }
        if !self.keyboard.as_ref().is_some_and(is_foreground) {
            return Ok(false);
        }
        enter(true)?;
        self.is_suspended = false;
        self.area = window();
        self.terminal.resize(self.area)?;
        Ok(true)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

/// Prints a line on standard error: at once, or when the screen is left.
pub fn say(line: &str) {
    let mut entered = entered();
    match &mut *entered {
        Some(entered) => {
            if entered.lines.len() == MOST_LINES {
                entered.lines.remove(0);
            }
            entered.lines.push(line.to_owned());
        }
        None => {
            // If standard error is closed, the line is lost.
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}

/// The last of the lines that wait until the screen is left.
pub fn last_line() -> Option<String> {
    entered().as_ref()?.lines.last().cloned()
}

/// Restores the terminal, if a screen fills it. Anybody may call this at any time.
pub fn leave() {
    let Some(ScreenState { is_raw, lines }) = entered().take() else {
        return;
    };
    // First what does not wait. A terminal that is gone needs no restoring.
    if is_raw {
        let _ = disable_raw_mode();
    }
    let _ = execute!(io::stdout(), Show, LeaveAlternateScreen);
    for line in lines {
        let _ = writeln!(io::stderr(), "{line}");
    }
}

/// Restores the terminal before the program is ended by force. Never waits, not even for the terminal.
pub fn abandon() {
    let Ok(Some(ScreenState { is_raw, .. })) = ENTERED.try_lock().map(|mut entered| entered.take())
    else {
        return;
    };
    let mut options = File::options();
    options.write(true).custom_flags(libc::O_NONBLOCK);
    if let Ok(mut terminal) = options.open("/dev/tty") {
        // A terminal that takes nothing more keeps what it shows.
        let _ = execute!(terminal, Show, LeaveAlternateScreen);
    }
    if is_raw {
        let _ = disable_raw_mode();
    }
}

fn enter(with_keys: bool) -> io::Result<()> {
    if with_keys {
        enable_raw_mode()?;
    }
    *entered() = Some(ScreenState {
        is_raw: with_keys,
        lines: Vec::new(),
    });
    execute!(io::stdout(), EnterAlternateScreen, Hide).inspect_err(|_| leave())
}

/// Restores the terminal before a panic prints its message.
fn restore_after_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            leave();
            print(panic);
        }));
    });
}

/// The window of standard output; 80 × 24 if unknown.
pub fn window() -> Rect {
    let known = tcgetwinsize(io::stdout()).ok();
    let known = known.filter(|size| size.ws_col > 0 && size.ws_row > 0);
    known.map_or(Rect::new(0, 0, 80, 24), |size| {
        Rect::new(0, 0, size.ws_col, size.ws_row)
    })
}

/// Whether this process may read from its controlling terminal. Otherwise the kernel would stop it.
fn is_foreground(terminal: &File) -> bool {
    tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp())
}

#[cfg(test)]
mod tests;
