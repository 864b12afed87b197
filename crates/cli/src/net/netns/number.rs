//! Numbers of namespaces, as they come and go.

use netlink::table::{BadWord, Words};
use netlink::{Family, NamespaceNumber, Verb};
use serde_json::{Value, json};

use crate::net::fields;
use crate::net::names::Names;
use crate::net::spelled::{Extent, Spelled};

impl Spelled for NamespaceNumber {
    const NOUN: &'static str = "netns";

    /// What a batch carries out goes to the kernel as messages; names are files.
    fn read(_: Verb, _: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord> {
        Err(BadWord::new(
            "what a batch does",
            words.next().or(Some("netns")),
        ))
    }

    fn forget(&self, names: &mut Names) {
        names.forget_namespace(self.nsid.unwrap_or_default());
    }

    fn text(&self, names: &mut Names, _: Extent) -> String {
        let mut text = format!("nsid {}", self.nsid.unwrap_or_default());
        if let Some(current) = self.current_nsid {
            fields::put(&mut text, format_args!(" current-nsid {current}"));
        }
        if let Some(name) = name(self, names) {
            fields::put(&mut text, format_args!(" (iproute2 netns name: {name})"));
        }
        text
    }

    fn json(&self, names: &mut Names, _: Extent) -> Value {
        let mut shown = json!(self);
        if let (Some(fields), Some(name)) = (shown.as_object_mut(), name(self, names)) {
            fields.insert("name".to_owned(), name.into());
        }
        shown
    }
}

/// By the number that it has here, wherever the question was for.
fn name(number: &NamespaceNumber, names: &mut Names) -> Option<String> {
    names.namespace(number.current_nsid.or(number.nsid)?)
}
