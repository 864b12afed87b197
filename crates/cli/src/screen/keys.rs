//! Key presses during a job, read without blocking.
//!
//! [`Keys`] disables line mode and echo, and restores them when it is dropped. Ctrl-C and Ctrl-Z keep working.

use std::fs::File;
use std::os::fd::AsFd;

use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};

/// Maximum keys per read.
const MOST: usize = 16;

/// The controlling terminal, whatever standard input is.
#[derive(Debug)]
pub struct Keys {
    terminal: File,
    /// The modes to restore.
    before: Termios,
}

impl Keys {
    /// `None` without a terminal, or in the background, where a read would stop the process.
    pub fn open() -> Option<Self> {
        let terminal = File::open("/dev/tty").ok()?;
        if !is_foreground(&terminal) {
            return None;
        }
        let before = tcgetattr(&terminal).ok()?;
        set_at_once(&terminal, &before);
        Some(Self { terminal, before })
    }

    /// Some keys pressed since the last call. Does not block.
    pub fn pressed(&self) -> Vec<u8> {
        if !is_foreground(&self.terminal) {
            return Vec::new();
        }
        // A shell that stopped and continued the program has restored line mode.
        match tcgetattr(&self.terminal) {
            Ok(now) if now.local_modes.contains(LocalModes::ICANON) => {
                set_at_once(&self.terminal, &now);
            }
            Ok(_) => {}
            Err(_) => return Vec::new(),
        }
        let mut keys = [0; MOST];
        // An error means that the terminal is gone.
        let read = rustix::io::read(self.terminal.as_fd(), &mut keys).unwrap_or(0);
        keys[..read].to_vec()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if is_foreground(&self.terminal) {
            // A terminal that is gone needs no restoring.
            let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
        }
    }
}

fn is_foreground(terminal: &File) -> bool {
    tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp())
}

/// Disables line mode and echo; reads return at once.
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
    // Otherwise keys arrive line by line.
    let _ = tcsetattr(terminal, OptionalActions::Now, &modes);
}
