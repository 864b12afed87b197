//! A status line on standard error, rewritten in place.

use std::io::{self, IsTerminal, Write};

use super::{Size, cut};
use crate::paint;

/// The status line. If standard error is closed, it is lost.
#[derive(Debug)]
pub struct Status {
    out: io::Stderr,
}

impl Status {
    /// `None` if standard error is not a terminal, or a dumb one.
    pub fn open() -> Option<Self> {
        let out = io::stderr();
        let is_screen = out.is_terminal() && !paint::is_terminal_dumb();
        is_screen.then_some(Self { out })
    }

    /// Replaces the line by `line`, truncated to the window.
    pub fn show(&self, line: &str) {
        let room = Size::of(&self.out).room();
        let _ = write!(&self.out, "\r\x1b[K{}", cut(line, room));
    }

    /// Erases the line.
    pub fn clear(&self) {
        let _ = write!(&self.out, "\r\x1b[K");
    }
}
