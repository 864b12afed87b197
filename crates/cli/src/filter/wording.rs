//! What is said of a text that is no filter.

use std::io::{self, Write};
use std::ops::Range;

use filter::{FilterError, Warning};

use crate::failure::{Exit, Failure, chain};

/// Characters shown of a long filter: before the place, and in all.
const AROUND: usize = 60;
const SHOWN: usize = 160;

/// Characters of a warning, which writes the filter out.
const MOST_SAID: usize = 1000;

/// A text that is no filter, with the wrong part shown below.
pub fn refused(text: &str, error: &FilterError) -> Failure {
    Failure {
        below: shown(text, error),
        ..Failure::new(Exit::Usage, format!("filter is wrong: {}", chain(error)))
    }
}

/// The wrong part of `text` with carets below it, and of a long text only what is near.
pub fn shown(text: &str, error: &FilterError) -> String {
    let mut near = error.clone();
    let text = near_part(text, &mut near.span);
    near.caret(text)
}

/// Tells what a reader of `text` may not expect of it.
pub fn warn(text: &str, warnings: &[Warning]) {
    let mut out = io::stderr();
    let printable = |line: &str| line.replace(char::is_control, "?");
    for warning in warnings {
        let said: String = warning.to_string().chars().take(MOST_SAID).collect();
        let mut near = warning.clone();
        let text = near_part(text, &mut near.span);
        let caret = near.caret(text);
        // A closed standard error ends nothing.
        let _ = writeln!(out, "warning: {}", printable(&said));
        for line in caret.lines() {
            let _ = writeln!(out, "  {}", printable(line));
        }
    }
}

/// What of `text` is around `span`, which is moved along.
fn near_part<'t>(text: &'t str, span: &mut Range<usize>) -> &'t str {
    // A place is a boundary of characters; whatever it is, this does not panic.
    let start = text.floor_char_boundary(span.start);
    let before = text[..start].char_indices().rev().take(AROUND).last();
    let from = before.map_or(start, |(at, _)| at);
    let behind = text[from..].char_indices().nth(SHOWN);
    let to = behind.map_or(text.len(), |(at, _)| from + at);
    let end = text.floor_char_boundary(span.end).clamp(start, to);
    *span = start - from..end - from;
    &text[from..to]
}

#[cfg(test)]
mod tests {
    use super::*;
    use filter::{Filter, LinkType, NoNames, Options};

    fn error(text: &str) -> FilterError {
        let options = Options::new(LinkType::Ethernet);
        match Filter::new(text, &options, &NoNames) {
            Err(error) => error,
            Ok(_) => panic!("{text} is a filter"),
        }
    }

    #[test]
    fn the_wrong_word_is_marked() {
        let text = "udp prot 53";
        let failure = refused(text, &error(text));
        assert_eq!(failure.exit, Exit::Usage);
        assert!(
            failure.line.contains("did you mean \"port\"?"),
            "{failure:?}"
        );
        assert_eq!(failure.below, "udp prot 53\n    ^^^^");
    }

    #[test]
    fn of_a_long_filter_what_is_near_is_shown() {
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
    fn any_place_in_any_text_is_shown() {
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
