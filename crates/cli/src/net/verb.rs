//! The verbs, as ip(8) lets them be shortened.

use netlink::Verb;

use crate::failure::{Exit, Failure};

/// Verbs and their other names; a beginning means the first it fits.
const VERBS: [(&str, Verb); 13] = [
    ("add", Verb::Add),
    ("append", Verb::Append),
    ("change", Verb::Set),
    ("chg", Verb::Set),
    ("set", Verb::Set),
    ("delete", Verb::Del),
    ("del", Verb::Del),
    ("replace", Verb::Replace),
    ("show", Verb::List),
    ("list", Verb::List),
    ("lst", Verb::List),
    ("ls", Verb::List),
    ("get", Verb::Get),
];

/// What the first word asks to be done, and the words behind it; nothing is a question for all.
pub fn split(words: &[String]) -> Result<(Verb, &[String]), Failure> {
    let Some((first, rest)) = words.split_first() else {
        return Ok((Verb::List, words));
    };
    let fits = |(name, _): &&(&str, Verb)| name.starts_with(first.as_str());
    match VERBS.iter().find(fits) {
        Some((_, verb)) if !first.is_empty() => Ok((*verb, rest)),
        _ => {
            let line = format!("{first:?} is no verb (add, set, replace, append, del, show, get)");
            Err(Failure::new(Exit::Usage, line))
        }
    }
}
