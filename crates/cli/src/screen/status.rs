//! A line on standard error that is written over itself.

use std::io::{self, IsTerminal, Write};

use super::{Size, cut};
use crate::paint;

/// The line. Where standard error is closed meanwhile, nothing is told and nothing ends.
#[derive(Debug)]
pub struct Status {
    out: io::Stderr,
}

impl Status {
    /// `None` where nobody sees it, or on a terminal that takes nothing but lines.
    pub fn open() -> Option<Self> {
        let out = io::stderr();
        let is_screen = out.is_terminal() && !paint::is_terminal_dumb();
        is_screen.then_some(Self { out })
    }

    /// Writes `line`, as much of it as fits, in place of the one before.
    pub fn show(&self, line: &str) {
        let room = Size::of(&self.out).room();
        let _ = write!(&self.out, "\r\x1b[K{}", cut(line, room));
    }

    /// Takes it away.
    pub fn clear(&self) {
        let _ = write!(&self.out, "\r\x1b[K");
    }
}
