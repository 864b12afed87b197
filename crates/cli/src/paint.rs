//! Terminal colours.

/// Adds colours to text, or not.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    on: bool,
}

impl Paint {
    /// Enables colours if `enabled`, unless NO_COLOR is set or the terminal is dumb.
    pub fn new(enabled: bool) -> Self {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        Self {
            on: enabled && !is_set("NO_COLOR") && !is_terminal_dumb(),
        }
    }

    pub fn is_on(self) -> bool {
        self.on
    }

    #[cfg(test)]
    pub fn none() -> Self {
        Self { on: false }
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.on {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    pub fn strong(self, text: &str) -> String {
        self.with("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    pub fn bad(self, text: &str) -> String {
        self.with("1;31", text)
    }
}

/// Whether the terminal supports no escape sequences.
pub fn is_terminal_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|terminal| terminal == "dumb")
}
