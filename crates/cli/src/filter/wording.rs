//! What is said of a text that is no filter.

use filter::FilterError;

use crate::failure::{Exit, Failure, chain};

/// Characters shown before and after a place in a long filter.
const AROUND: usize = 60;

/// A text that is no filter, with the wrong part shown below.
pub fn refused(text: &str, error: &FilterError) -> Failure {
    Failure {
        below: shown(text, error),
        ..Failure::new(Exit::Usage, format!("filter is wrong: {}", chain(error)))
    }
}

/// The wrong part of `text` with carets below it, and of a long text only what is near.
pub fn shown(text: &str, error: &FilterError) -> String {
    let from = back(text, error.span.start);
    let to = forward(text, error.span.end.min(from + 4 * AROUND));
    let mut near = error.clone();
    near.span = error.span.start.saturating_sub(from)..error.span.end.min(to).saturating_sub(from);
    near.caret(&text[from..to])
}

/// The place [`AROUND`] characters before `at`, or the beginning.
fn back(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    let mut starts = before.char_indices().rev().map(|(start, _)| start);
    starts.nth(AROUND).unwrap_or(0)
}

/// The place [`AROUND`] characters after `at`, or the end.
fn forward(text: &str, at: usize) -> usize {
    let at = (at..=text.len()).find(|&at| text.is_char_boundary(at));
    let at = at.unwrap_or(text.len());
    let mut starts = text[at..].char_indices().map(|(start, _)| at + start);
    starts.nth(AROUND).unwrap_or(text.len())
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
