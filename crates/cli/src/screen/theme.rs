//! The styles of screens and of text.

use std::io;

use anstream::{AutoStream, ColorChoice};
use ratatui::style::{Color, Modifier, Style};

/// Styles, or none if colours are off.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    is_on: bool,
}

impl Theme {
    /// Off without [colours](has_colors).
    pub fn of_terminal() -> Self {
        Self {
            is_on: has_colors(),
        }
    }

    #[cfg(test)]
    pub fn plain() -> Self {
        Self { is_on: false }
    }

    fn style(self, style: Style) -> Style {
        if self.is_on { style } else { Style::new() }
    }

    pub fn strong(self) -> Style {
        self.style(Style::new().add_modifier(Modifier::BOLD))
    }

    pub fn dim(self) -> Style {
        self.style(Style::new().add_modifier(Modifier::DIM))
    }

    pub fn bad(self) -> Style {
        self.style(Style::new().fg(Color::Red).add_modifier(Modifier::BOLD))
    }

    pub fn selected(self) -> Style {
        self.style(Style::new().add_modifier(Modifier::REVERSED))
    }

    /// The style of a line in a plot.
    pub fn series(self, index: usize) -> Style {
        const COLORS: [Color; 6] = [
            Color::Green,
            Color::Cyan,
            Color::Yellow,
            Color::Magenta,
            Color::Blue,
            Color::White,
        ];
        self.style(Style::new().fg(COLORS[index % COLORS.len()]))
    }
}

/// Whether text on standard output has colours: not if it is no terminal, a dumb one, or NO_COLOR is set.
/// [`AutoStream::choice`] allows them on a dumb terminal where the variable CI is set.
pub fn has_colors() -> bool {
    AutoStream::choice(&io::stdout()) != ColorChoice::Never && !is_terminal_dumb()
}

/// Whether the terminal supports no escape sequences.
pub fn is_terminal_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|terminal| terminal == "dumb")
}
