//! Words of a shell.

/// `word` so that a shell takes it for what it is; names of interfaces may hold any character.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/@=+%,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// The shell says what it takes a word for.
    #[test]
    fn a_shell_takes_a_word_for_what_it_is() {
        for word in [
            "eth0",
            "",
            "a;b",
            "$(id)",
            "it's",
            "'",
            "two words",
            "é`x`",
            "\\",
        ] {
            let script = format!("printf %s {}", quoted(word));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), word, "{script}");
        }
        assert_eq!(quoted("eth0.5"), "eth0.5");
    }
}
