//! Both sides' rows, compared.

use std::collections::BTreeSet;

use netlink::Object;
use serde::Serialize;

use super::fix::Fix;
use super::names::{NOT_KEPT, NOT_KNOWN, SAID_BESIDE, SAME, renamed};
use super::rows::{Rows, of_json, plain};
use super::theirs;
use super::values::spoken;

/// Whether a message tells what there is, or says what is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Told {
    ByKernel,
    ByUs,
}

/// The differences between what we see or mean in a message and what the other side sees.
pub fn differences<O: Object + Serialize + Fix>(
    told: Told,
    object: &O,
    kind: u16,
    body: &[u8],
) -> Vec<String> {
    let mut ours = of_json(&serde_json::to_value(object).expect("JSON"));
    let mut theirs = match theirs::rows(kind, body) {
        Ok(rows) => rows,
        Err(error) => return vec![format!("it cannot be read by them: {error}")],
    };
    O::fix(told, &mut ours, &mut theirs);
    let theirs = renamed(O::NAME, theirs);
    let keys: BTreeSet<_> = ours.keys().chain(theirs.keys()).cloned().collect();
    let differences = keys.into_iter().filter_map(|key| {
        let (ours, theirs) = (ours.get(&key), theirs.get(&key));
        difference::<O>(told, &key, ours, theirs)
    });
    differences.collect()
}

fn difference<O: Fix>(
    told: Told,
    key: &str,
    ours: Option<&Vec<String>>,
    theirs: Option<&Vec<String>>,
) -> Option<String> {
    let key = format!("{}.{key}", O::NAME);
    let is_listed = |list: &[&str]| {
        list.iter().any(|listed| match listed.strip_suffix('*') {
            Some(beginning) => key.starts_with(beginning),
            None => key == *listed,
        })
    };
    match (ours, theirs) {
        (Some(ours), Some(theirs)) if are_same(&key, ours, theirs) => None,
        (Some(_), None) if is_listed(NOT_KNOWN) => None,
        (None, Some(_)) if is_listed(NOT_KEPT) => None,
        (None, Some(_)) if told == Told::ByUs && is_listed(SAID_BESIDE) => None,
        (ours, theirs) => Some(format!("{key}: ours {ours:?}, theirs {theirs:?}")),
    }
}

fn are_same(key: &str, ours: &[String], theirs: &[String]) -> bool {
    if ours == theirs {
        return true;
    }
    let theirs: Vec<String> = match spoken(key) {
        Some(spoken) => spoken(theirs),
        None => theirs.to_vec(),
    };
    ours.len() == theirs.len()
        && ours.iter().zip(&theirs).all(|(ours, theirs)| {
            let (ours, theirs) = (value(ours), value(theirs));
            ours == theirs || SAME.contains(&(ours.as_str(), theirs.as_str()))
        })
}

fn value(text: &str) -> String {
    match text {
        "true" => "1".to_owned(),
        "false" => "0".to_owned(),
        text => plain(text),
    }
}

/// Takes a row away.
pub fn take(rows: &mut Rows, key: &str) -> Option<Vec<String>> {
    rows.remove(key)
}

/// The names in a row of flags, each plain.
pub fn flags(rows: &mut Rows, key: &str) -> Option<Vec<String>> {
    let values = rows.remove(key)?;
    let words = values.iter().flat_map(|value| value.split('|'));
    Some(
        words
            .map(plain)
            .filter(|word| !word.is_empty() && word != "0x0")
            .collect(),
    )
}
