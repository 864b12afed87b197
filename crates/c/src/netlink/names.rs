//! Names of interfaces.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use tapline::net::schema::NameLookup;
use tapline::net::{Cause, IfIndex, Link, Netlink, NetlinkError};

use super::source::Source;
use crate::failure::Error;

/// Finds names, and says why it could not look for one.
pub trait FallibleLookup: NameLookup {
    /// Removes and returns the reason why the last interface that was not found could not be looked for. `None`: there is
    /// none.
    fn take_failure(&mut self) -> Option<Error>;
}

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

    /// Names for one call. The name of an index is found once, and then the same until the end of the call; the index of a
    /// name is found anew each time, because a batch may rename interfaces.
    pub fn for_a_call(&mut self) -> Names<'_> {
        Names {
            lookup: self,
            known: HashMap::new(),
            failure: None,
        }
    }

    /// `None`: there is no such link.
    fn get(&mut self, link: &Link) -> Result<Option<Link>, Error> {
        let netlink = match &mut self.netlink {
            Some(netlink) => netlink,
            None => self.netlink.insert(self.source.open()?),
        };
        match netlink.get(link) {
            Ok(link) => Ok(Some(link)),
            Err(error) if is_no_link(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether the kernel says that there is no such link, or that no link can have that name.
fn is_no_link(error: &NetlinkError) -> bool {
    let is_impossible = matches!(error.errno(), Some(EINVAL | ERANGE));
    error.is_absence() || (matches!(error.cause, Cause::Refused(_)) && is_impossible)
}

// The numbers of asm-generic/errno-base.h.
const EINVAL: i32 = 22;
const ERANGE: i32 = 34;

/// The names that one call has found.
pub struct Names<'l> {
    lookup: &'l mut Lookup,
    known: HashMap<IfIndex, Option<String>>,
    failure: Option<Error>,
}

impl NameLookup for Names<'_> {
    fn index(&mut self, name: &str) -> Option<IfIndex> {
        match self.lookup.get(&Link::called(name)) {
            Ok(found) => found?.index,
            Err(failure) => {
                self.failure = Some(failure);
                None
            }
        }
    }

    fn name(&mut self, index: IfIndex) -> Option<String> {
        let found = match self.known.entry(index) {
            Entry::Occupied(found) => return found.get().clone(),
            Entry::Vacant(place) => {
                // An object is worth more than the name of its interface: without one, its index stands alone.
                let link = self.lookup.get(&Link::at(index)).ok().flatten();
                place.insert(link.map(|link| link.ifname().to_string()))
            }
        };
        found.clone()
    }
}

impl FallibleLookup for Names<'_> {
    fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }
}
