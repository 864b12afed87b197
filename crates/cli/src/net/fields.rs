//! What the objects have in common that are shown by their fields.

use std::fmt::{self, Write};

use netlink::IfIndex;
use netlink::table::{BadWord, Lookup, Table, Words};
use serde::Serialize;
use serde_json::Value;

use super::names::Names;
use super::spelled::unknown;

/// Adds words to a text.
pub fn put(text: &mut String, words: fmt::Arguments<'_>) {
    // A String takes whatever is written to it.
    let _ = text.write_fmt(words);
}

/// `text` without what would steer a terminal: names are whatever somebody gave a link.
pub fn printable(text: &str) -> String {
    let steers = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    text.replace(steers, "?")
}

/// Reads fields by their words until the line ends.
pub fn read<T: Table>(object: &mut T, words: &mut Words<'_>) -> Result<(), BadWord> {
    while let Some(word) = words.next() {
        if !object.word(word, words)? {
            return Err(unknown(word));
        }
    }
    Ok(())
}

/// The fields as JSON; those in `links` are the indices of links, of which the names are shown.
pub fn json<T: Serialize>(object: &T, links: &[&str], names: &mut Names) -> Value {
    let mut shown = serde_json::to_value(object).unwrap_or_default();
    name_links(&mut shown, links, names);
    if let Value::Object(fields) = &mut shown {
        // A flag that is not set has no key, as in ip(8)'s.
        fields.retain(|_, value| *value != Value::Bool(false));
    }
    shown
}

/// Takes fields away that have these values, which go without saying.
pub fn forget(shown: &mut Value, usual: &[(&str, &str)]) {
    if let Value::Object(fields) = shown {
        fields.retain(|key, value| {
            !usual
                .iter()
                .any(|(known, text)| key == known && value == text)
        });
    }
}

/// Gives switches the form of ip(8): a key without a value.
pub fn switch(shown: &mut Value, switches: &[&str]) {
    for (key, value) in shown.as_object_mut().into_iter().flatten() {
        if *value == Value::Bool(true) && switches.contains(&key.as_str()) {
            *value = Value::Null;
        }
    }
}

fn name_links(shown: &mut Value, links: &[&str], names: &mut Names) {
    match shown {
        Value::Object(fields) => {
            for (key, value) in fields {
                let index = value.as_u64().filter(|_| links.contains(&key.as_str()));
                match index.and_then(|index| names.name(IfIndex(index as u32))) {
                    Some(name) => *value = name.into(),
                    None => name_links(value, links, names),
                }
            }
        }
        Value::Array(values) => {
            for value in values {
                name_links(value, links, names);
            }
        }
        _ => {}
    }
}
