//! Users and groups, by name or number.

use std::fs;

use netlink::table::{BadWord, Words};
use netlink::{Link, LinkKind};

/// Reads who may open a tun, if `word` begins that.
pub fn owner(link: &mut Link, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
    let Some(LinkKind::Tun(tun)) = link.linkinfo.as_mut().and_then(|info| info.kind.as_mut())
    else {
        return Ok(false);
    };
    match word {
        "user" => tun.user = Some(number("/etc/passwd", "a user", words)?),
        "group" => tun.group = Some(number("/etc/group", "a group", words)?),
        _ => return Ok(false),
    }
    Ok(true)
}

/// The number that the next word is or that `file` has for it; in both files it is the third field.
fn number(file: &str, wanted: &str, words: &mut Words<'_>) -> Result<u32, BadWord> {
    let name: String = words.value(wanted)?;
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut lines = text.lines().map(|line| line.split(':'));
    let found = lines.find_map(|mut fields| {
        (fields.next() == Some(&name)).then(|| fields.nth(1)?.parse().ok())?
    });
    found.ok_or_else(|| BadWord::new(wanted, Some(&name)))
}
