//! Figures as CSV.

use std::borrow::Cow;
use std::fmt::Write as _;

use tapline::count::{GroupBy, Traffic};

use super::figures::Figures;

/// The header line.
pub fn heading(by: Option<GroupBy>) -> String {
    match by {
        None => "at_ns,span_ns,class,packets,bytes\n".into(),
        Some(key) => format!("at_ns,span_ns,class,{},packets,bytes\n", key.name()),
    }
}

/// A line for each class, followed by one for each of its groups. The line of the class has an empty key.
/// `(more)` is the sum of unlisted groups, `(other)` of groups beyond the maximum, `(none)` of packets
/// without the key.
///
/// # Source
/// RFC 4180, but with Unix line ends.
pub fn lines(figures: &Figures) -> String {
    let mut out = String::new();
    for class in &figures.classes {
        let name = quoted(&class.name);
        let mut line = |group: Option<&str>, traffic: Traffic| {
            let (at_ns, span_ns) = (figures.at_ns, figures.span_ns);
            // Writing to a String does not fail.
            let _ = write!(out, "{at_ns},{span_ns},{name},");
            if let Some(group) = group {
                let _ = write!(out, "{},", quoted(group));
            }
            let _ = writeln!(out, "{},{}", traffic.packets, traffic.bytes);
        };
        let Some(groups) = &class.groups else {
            line(None, class.traffic);
            continue;
        };
        line(Some(""), class.traffic);
        for &(key, traffic) in &groups.top {
            line(Some(&key.to_string()), traffic);
        }
        for (rest, traffic) in [
            ("(more)", groups.more.1),
            ("(other)", groups.other),
            ("(none)", groups.without_key),
        ] {
            if traffic.packets > 0 {
                line(Some(rest), traffic);
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
    fn values_with_separators_are_quoted() {
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
