//! Keys that are pressed while a job goes on, without waiting for any.
//!
//! For that the terminal hands over each key at once and does not show it; [`Keys`] puts this back when
//! it is dropped. Signals stay as they are: Ctrl-C and Ctrl-Z do what they do.

use std::fs::File;
use std::os::fd::AsFd;

use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};

/// Keys taken at a time.
const MOST: usize = 16;

/// The terminal that the program was started from, whatever its standard input is.
#[derive(Debug)]
pub struct Keys {
    terminal: File,
    /// As it was found.
    before: Termios,
}

impl Keys {
    /// `None` without a terminal, or in the background, where reading would stop the program.
    pub fn open() -> Option<Self> {
        let terminal = File::open("/dev/tty").ok()?;
        if !is_foreground(&terminal) {
            return None;
        }
        let before = tcgetattr(&terminal).ok()?;
        set_at_once(&terminal, &before);
        Some(Self { terminal, before })
    }

    /// The keys pressed since the last call, few at a time. Does not wait.
    pub fn pressed(&self) -> Vec<u8> {
        if !is_foreground(&self.terminal) {
            return Vec::new();
        }
        // A shell that stopped the program and goes on with it leaves the terminal as shells have it.
        match tcgetattr(&self.terminal) {
            Ok(now) if now.local_modes.contains(LocalModes::ICANON) => {
                set_at_once(&self.terminal, &now);
            }
            Ok(_) => {}
            Err(_) => return Vec::new(),
        }
        let mut keys = [0; MOST];
        // An error means that there is no terminal any more: no keys.
        let read = rustix::io::read(self.terminal.as_fd(), &mut keys).unwrap_or(0);
        keys[..read].to_vec()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if is_foreground(&self.terminal) {
            // A terminal that is gone needs nothing.
            let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
        }
    }
}

fn is_foreground(terminal: &File) -> bool {
    tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp())
}

/// Single keys instead of lines, not shown; a read returns at once, with or without one.
///
/// # Source
/// termios(3), "Canonical and noncanonical mode", MIN and TIME 0.
fn set_at_once(terminal: &File, before: &Termios) {
    let mut modes = before.clone();
    modes
        .local_modes
        .remove(LocalModes::ICANON | LocalModes::ECHO);
    modes.special_codes[SpecialCodeIndex::VMIN] = 0;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    // Without it keys come line by line.
    let _ = tcsetattr(terminal, OptionalActions::Now, &modes);
}
