//! Colours, where somebody sees them.

/// Colours, or none.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    on: bool,
}

impl Paint {
    /// Colours if `wanted`, and neither NO_COLOR nor the terminal is against them.
    pub fn new(wanted: bool) -> Self {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        Self {
            on: wanted && !is_set("NO_COLOR") && !is_terminal_dumb(),
        }
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

/// Whether the terminal takes nothing but lines.
pub fn is_terminal_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|terminal| terminal == "dumb")
}
