//! Names of interfaces.

use std::collections::HashMap;

use tapline::net::schema::NameLookup;
use tapline::net::{IfIndex, Link, Netlink};

use super::source::Source;

/// Looks names up on a socket of its own, which is opened when the first name is needed: a request may have to be
/// decoded while a batch uses the other socket.
pub struct Lookup {
    source: Source,
    netlink: Option<Netlink>,
}

impl Lookup {
    pub fn new(source: Source) -> Self {
        Self {
            source,
            netlink: None,
        }
    }

    /// Names for one call: found once, and then the same until its end.
    pub fn for_a_call(&mut self) -> Names<'_> {
        Names {
            lookup: self,
            known: HashMap::new(),
        }
    }

    fn get(&mut self, link: &Link) -> Option<Link> {
        let netlink = match &mut self.netlink {
            Some(netlink) => netlink,
            None => self.netlink.insert(self.source.open().ok()?),
        };
        netlink.get(link).ok()
    }
}

/// The names that one call has found.
pub struct Names<'l> {
    lookup: &'l mut Lookup,
    known: HashMap<IfIndex, Option<String>>,
}

impl NameLookup for Names<'_> {
    fn index(&mut self, name: &str) -> Option<IfIndex> {
        self.lookup.get(&Link::called(name))?.index
    }

    fn name(&mut self, index: IfIndex) -> Option<String> {
        let Self { lookup, known } = self;
        let found = known.entry(index).or_insert_with(|| {
            let link = lookup.get(&Link::at(index))?;
            Some(link.ifname().to_string())
        });
        found.clone()
    }
}
