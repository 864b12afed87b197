//! `tapline link property`: alternative names.

use netlink::table::Words;
use netlink::{Link, Verb};

use super::read;
use crate::failure::{Exit, Failure};
use crate::net::job::Stack;
use crate::net::spelled::Spelled;

/// Adds or removes alternative names: `add|del dev NAME altname NAME …`.
pub fn run(stack: &mut Stack, words: &[String]) -> Result<Exit, Failure> {
    let usage = || {
        let line = "link: property takes 'add' or 'del', and then 'dev NAME altname NAME'";
        Failure::new(Exit::Usage, line)
    };
    let (first, rest) = words.split_first().ok_or_else(usage)?;
    let begins = |word: &str| !first.is_empty() && word.starts_with(first.as_str());
    let adds = begins("add");
    if !adds && !begins("delete") {
        return Err(usage());
    }
    let mut words = Words::new(rest, &mut stack.names);
    let link = read::link(Verb::Set, &mut words);
    let link = link.map_err(|bad| stack.misread(Link::NOUN, &bad))?;
    if link.index.is_none() || link.alternative_names.is_none() {
        return Err(usage());
    }
    let done = if adds {
        stack.netlink.set(&link)
    } else {
        stack.netlink.del_alternative_names(&link)
    };
    done.map_err(|error| stack.refused(error))?;
    Ok(Exit::Done)
}
