//! VLANs of ports, in the words of bridge(8).

mod run;
mod show;

use netlink::table::{BadWord, Words};
use netlink::{Family, PortVlan, Verb};
use serde_json::Value;

pub use run::run;

use super::fields;
use super::job::Stack;
use super::names::Names;
use super::spelled::{Extent, Spelled};
use super::verb::{OF_BRIDGES, Verbs};
use crate::args::NetArgs;
use crate::failure::{Exit, Failure};

impl Spelled for PortVlan {
    const NOUN: &'static str = "vlan";
    const VERBS: Verbs = OF_BRIDGES;

    fn read(_: Verb, _: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord> {
        let mut vlan = Self::new();
        fields::read(&mut vlan, words)?;
        Ok(vlan)
    }

    fn show(stack: &mut Stack, words: &[String], args: &NetArgs) -> Result<Exit, Failure> {
        run::show(stack, words, args, false)
    }

    fn text(&self, names: &mut Names, extent: Extent) -> String {
        show::text(
            &show::rows(std::slice::from_ref(self), |_, _| false),
            names,
            extent,
        )
    }

    fn json(&self, names: &mut Names, extent: Extent) -> Value {
        let rows = show::rows(std::slice::from_ref(self), |_, _| false);
        show::json(&rows, names, extent)
    }
}
