//! Lines on a terminal, redrawn in place.
//!
//! They use the normal screen and change no terminal mode, so nothing has to be restored at exit. After a
//! change of the window size, drawing restarts below.

use std::io::{self, Write as _};
use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;

/// Columns and rows of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

impl Size {
    /// The window of standard output.
    pub fn of_window() -> Self {
        Self::of(io::stdout())
    }

    /// The window of a terminal; 80 × 24 if unknown.
    pub fn of(terminal: impl AsFd) -> Self {
        let known = tcgetwinsize(terminal).ok();
        let known = known.filter(|size| size.ws_col > 0 && size.ws_row > 0);
        known.map_or(
            Self {
                columns: 80,
                rows: 24,
            },
            |size| Self {
                columns: size.ws_col.into(),
                rows: size.ws_row.into(),
            },
        )
    }

    /// Usable columns. Some terminals wrap after a character in the last column.
    pub fn room(self) -> usize {
        self.columns.saturating_sub(1)
    }

    /// Usable lines: all but that of the cursor.
    pub fn lines(self) -> usize {
        self.rows.saturating_sub(1).max(1)
    }
}

/// The area of the last drawing.
#[derive(Debug, Default)]
pub struct Canvas {
    drawn: Option<Drawn>,
}

#[derive(Debug)]
struct Drawn {
    lines: usize,
    size: Size,
}

impl Canvas {
    /// Draws `lines`, made for a window of this size, over the previous ones.
    pub fn draw(&mut self, lines: &[String], size: Size) -> io::Result<()> {
        let mut text = self.erasing(size);
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        self.drawn = Some(Drawn {
            lines: lines.len(),
            size,
        });
        write(&text)
    }

    /// Erases the lines.
    pub fn end(&mut self) -> io::Result<()> {
        let text = self.erasing(Size::of_window());
        self.drawn = None;
        write(&text)
    }

    /// The escape sequence that moves to the first line and clears the rest.
    fn erasing(&self, size: Size) -> String {
        match &self.drawn {
            Some(drawn) if drawn.size == size && drawn.lines > 0 => {
                format!("\r\x1b[{}A\x1b[J", drawn.lines)
            }
            _ => "\r\x1b[J".into(),
        }
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_redrawn_in_place_unless_the_window_changed() {
        let size = Size {
            columns: 80,
            rows: 24,
        };
        let mut canvas = Canvas::default();
        assert_eq!(canvas.erasing(size), "\r\x1b[J");
        canvas.drawn = Some(Drawn { lines: 3, size });
        assert_eq!(canvas.erasing(size), "\r\x1b[3A\x1b[J");
        let other = Size {
            columns: 79,
            ..size
        };
        assert_eq!(canvas.erasing(other), "\r\x1b[J");
    }
}
