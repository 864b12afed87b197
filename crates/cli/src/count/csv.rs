//! Figures as comma-separated values.

use std::borrow::Cow;
use std::fmt::Write as _;

use tapline::count::{Key, Tally};

use super::figures::Figures;

/// The first line, which names the values.
pub fn heading(by: Option<Key>) -> String {
    match by {
        None => "at_ns,span_ns,class,packets,bytes\n".into(),
        Some(key) => format!("at_ns,span_ns,class,{},packets,bytes\n", key.name()),
    }
}

/// A line for each class, and where it is split one for each of its groups behind it: the line of
/// the class itself then has an empty group, and the groups that are not told, that the kernel had no
/// room for, and that have no key are `(more)`, `(other)` and `(none)`.
///
/// # Source
/// RFC 4180, but for the line's end, which is that of Unix.
pub fn lines(figures: &Figures) -> String {
    let mut out = String::new();
    for class in &figures.classes {
        let name = quoted(&class.name);
        let mut line = |group: Option<&str>, tally: Tally| {
            let (at_ns, span_ns) = (figures.at_ns, figures.span_ns);
            // A String takes whatever is written to it.
            let _ = write!(out, "{at_ns},{span_ns},{name},");
            if let Some(group) = group {
                let _ = write!(out, "{},", quoted(group));
            }
            let _ = writeln!(out, "{},{}", tally.packets, tally.bytes);
        };
        let Some(groups) = &class.groups else {
            line(None, class.tally);
            continue;
        };
        line(Some(""), class.tally);
        for &(key, tally) in &groups.top {
            line(Some(&key.to_string()), tally);
        }
        for (rest, tally) in [
            ("(more)", groups.more.1),
            ("(other)", groups.other),
            ("(none)", groups.without_key),
        ] {
            if tally.packets > 0 {
                line(Some(rest), tally);
            }
        }
    }
    out
}

fn quoted(text: &str) -> Cow<'_, str> {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_value_is_quoted() {
        for (text, expected) in [
            ("web", "web"),
            ("", ""),
            ("tcp port 80", "tcp port 80"),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("a\nb", "\"a\nb\""),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }
}
