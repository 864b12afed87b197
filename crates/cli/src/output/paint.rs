//! Colours of text that is printed line by line.

use anstyle::{AnsiColor, Style};

use crate::screen::has_colors;

/// Adds colours to text, or not.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    is_on: bool,
}

impl Paint {
    /// Of standard output; off without [colours](has_colors).
    pub fn of_stdout() -> Self {
        Self {
            is_on: has_colors(),
        }
    }

    pub fn is_on(self) -> bool {
        self.is_on
    }

    fn with(self, style: Style, text: &str) -> String {
        if self.is_on {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    pub fn strong(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }

    pub fn dim(self, text: &str) -> String {
        self.with(Style::new().dimmed(), text)
    }

    pub fn good(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }

    pub fn bad(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default().bold(), text)
    }
}
