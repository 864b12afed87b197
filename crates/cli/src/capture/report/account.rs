//! The account of a capture, as text and as JSON.

use std::io::{self, Write};

use serde_json::Value;
use tapline::capture::{Account, Lost};

use crate::screen::printable;
use crate::values::units::{counted, grouped};

/// `received = delivered + filtered + lost`, as text.
pub fn account_line(out: &mut dyn Write, link: Option<&str>, account: &Account) -> io::Result<()> {
    if let Some(link) = link {
        write!(out, "  {}: ", printable(link))?;
    }
    let number = |value: Option<u64>| value.map_or("unknown".to_owned(), grouped);
    let received = account.received().map(|count| counted(count, "packet"));
    writeln!(
        out,
        "{} received = {} delivered + {} filtered + {} lost{}",
        received.as_deref().unwrap_or("unknown packets"),
        grouped(account.delivered),
        number(account.filtered),
        grouped(account.lost.total()),
        places(&account.lost),
    )
}

/// The losses by place, and the places where they are unknown.
fn places(lost: &Lost) -> String {
    let places: Vec<_> = (lost.places().into_iter())
        .filter_map(|(place, count)| match count {
            Some(0) => None,
            Some(count) => Some(format!("{place} {}", grouped(count))),
            None => Some(format!("{place} unknown")),
        })
        .collect();
    if places.is_empty() {
        String::new()
    } else {
        format!(" ({})", places.join(", "))
    }
}

/// The losses by place; unknown ones are null.
pub fn lost_json(lost: &Lost) -> Value {
    let places = lost.places().into_iter();
    let places = places.map(|(place, lost)| (place.to_owned(), Value::from(lost)));
    Value::Object(places.collect())
}
