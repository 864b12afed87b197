//! Errors and warnings about filter texts.

use std::io::{self, Write};
use std::ops::Range;

use tapline::filter::{FilterError, FilterWarning};

use crate::failure::{Exit, Failure, chain};
use crate::screen::printable;

/// Maximum length of the excerpt of a long filter, before the error and in total, in characters.
const MAX_BEFORE: usize = 60;
const MAX_EXCERPT: usize = 160;

/// Maximum length of a warning, which contains the rewritten filter, in characters.
const MAX_WARNING: usize = 1000;

/// The failure for an invalid filter, with the wrong part of the text.
pub fn invalid(text: &str, error: &FilterError) -> Failure {
    Failure {
        below: shown(text, error),
        ..Failure::new(Exit::Usage, format!("filter is invalid: {}", chain(error)))
    }
}

/// An excerpt of `text` around the error, with carets below the wrong part.
pub fn shown(text: &str, error: &FilterError) -> String {
    let mut error = error.clone();
    let text = excerpt(text, &mut error.span);
    error.caret(text)
}

/// Prints the warnings about `text` to standard error.
pub fn warn(text: &str, warnings: &[FilterWarning]) {
    let mut out = io::stderr();
    for warning in warnings {
        let message: String = warning.to_string().chars().take(MAX_WARNING).collect();
        let mut warning = warning.clone();
        let text = excerpt(text, &mut warning.span);
        let caret = warning.caret(text);
        // A closed standard error is not a failure.
        let _ = writeln!(out, "warning: {}", printable(&message));
        for line in caret.lines() {
            let _ = writeln!(out, "  {}", printable(line));
        }
    }
}

/// The part of `text` around `span`; adjusts `span` to it.
fn excerpt<'t>(text: &'t str, span: &mut Range<usize>) -> &'t str {
    // Spans are at character boundaries; others must not panic either.
    let start = text.floor_char_boundary(span.start);
    let before = text[..start].char_indices().rev().take(MAX_BEFORE).last();
    let from = before.map_or(start, |(at, _)| at);
    let behind = text[from..].char_indices().nth(MAX_EXCERPT);
    let to = behind.map_or(text.len(), |(at, _)| from + at);
    let end = text.floor_char_boundary(span.end).clamp(start, to);
    *span = start - from..end - from;
    &text[from..to]
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapline::filter::{CompiledFilter, FilterOptions, LinkType, NoNames};

    fn error(text: &str) -> FilterError {
        let options = FilterOptions::new(LinkType::Ethernet);
        match CompiledFilter::new(text, &options, &NoNames) {
            Err(error) => error,
            Ok(_) => panic!("{text} is a filter"),
        }
    }

    #[test]
    fn the_wrong_word_is_marked() {
        let text = "udp prot 53";
        let failure = invalid(text, &error(text));
        assert_eq!(failure.exit, Exit::Usage);
        assert!(
            failure.line.contains("did you mean \"port\"?"),
            "{failure:?}"
        );
        assert_eq!(failure.below, "udp prot 53\n    ^^^^");
    }

    #[test]
    fn only_an_excerpt_of_a_long_filter_is_shown() {
        let many = "host 10.1.2.3 or ".repeat(5000);
        let text = format!("{many}prot 53 or {many}");
        let text = text.trim_end_matches(" or ");
        let shown = shown(text, &error(text));
        let [line, carets] = shown.lines().collect::<Vec<_>>()[..] else {
            panic!("{shown}");
        };
        assert!(line.len() < 200, "{shown}");
        let marked = &line[carets.find('^').expect("carets")..carets.len()];
        assert_eq!(marked, "prot");
    }

    #[test]
    fn any_span_in_any_text_is_shown() {
        let texts = [
            "",
            "ü",
            "größe 😀 = ß",
            "a\nb\u{1b}c\n",
            &"ßü😀".repeat(100),
        ];
        for text in texts {
            let mut error = error("udp prot 53");
            for start in 0..text.len() + 2 {
                for end in [start, start + 1, start + 7, text.len(), text.len() + 9] {
                    error.span = start..end.max(start);
                    assert!(shown(text, &error).contains('^'), "{text:?} {start} {end}");
                }
            }
        }
    }
}
