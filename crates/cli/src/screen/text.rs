//! Text fitted to terminal columns.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::page::is_unprintable;

/// Terminal columns of `text`.
pub fn width(text: &str) -> usize {
    text.width()
}

/// `text` truncated with `~`, or padded, to `columns` columns.
pub fn fitted(text: &str, wanted: usize) -> String {
    let mut out = text.to_owned();
    let mut have = width(text);
    if have > wanted {
        while have + 1 > wanted {
            let Some(last) = out.pop() else { break };
            have -= last.width().unwrap_or(0);
        }
        if wanted > 0 {
            out.push('~');
        }
    }
    filled(&out, wanted)
}

/// `text` truncated to at most `columns` columns.
pub fn cut(text: &str, columns: usize) -> String {
    fitted(text, columns.min(width(text)))
}

/// `text` padded to `columns` columns.
pub fn filled(text: &str, columns: usize) -> String {
    let blanks = columns.saturating_sub(width(text));
    format!("{text}{:blanks$}", "")
}

/// `text` without control characters and marks that cannot be seen: anybody may have named an interface or a file.
pub fn printable(text: &str) -> String {
    text.replace(is_unprintable, "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_truncated_and_padded_to_columns() {
        for (text, columns, expected) in [
            ("web", 5, "web  "),
            ("web", 3, "web"),
            ("traffic", 4, "tra~"),
            ("größe", 4, "grö~"),
            ("web", 1, "~"),
            ("web", 0, ""),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本~"),
            ("日本語", 4, "日~ "),
        ] {
            assert_eq!(fitted(text, columns), expected, "{text} {columns}");
        }
        assert_eq!(width("▁▂█"), 3);
        assert_eq!(
            (cut("web", 5), cut("traffic", 4)),
            ("web".into(), "tra~".into())
        );
    }
}
