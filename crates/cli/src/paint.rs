//! Colours of text that is printed line by line.

use std::io;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

/// Adds colours to text, or not.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    is_on: bool,
}

impl Paint {
    /// Of standard output; off if it is no terminal, a dumb one, or NO_COLOR is set.
    pub fn of_stdout() -> Self {
        Self {
            is_on: AutoStream::choice(&io::stdout()) != ColorChoice::Never,
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
