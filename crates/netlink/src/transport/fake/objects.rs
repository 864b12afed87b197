//! Addresses, routes, nexthops and neighbours as a stand-in keeps them.

use rustix::io::Errno;

use super::kept::Kept;
use crate::interface::IfIndex;
use crate::object::Object;
use crate::table::Table;
use crate::{Addr, Neigh, Nexthop, Route};

macro_rules! kept {
    ($type:ty, $absent:ident, $link:ident) => {
        impl Kept for $type {
            const ABSENT: Errno = Errno::$absent;

            fn take_over(&mut self, change: Self) {
                self.merge(change);
            }

            fn link(&self) -> Option<IfIndex> {
                self.$link
            }
        }
    };
}

kept!(Addr, ADDRNOTAVAIL, dev);
kept!(Neigh, NOENT, dev);
kept!(Nexthop, NOENT, dev);

impl Kept for Route {
    const ABSENT: Errno = Errno::SRCH;

    /// A request to remove one leaves open what it does not say.
    fn is_meant_by(&self, said: &Self) -> bool {
        let key = |route: &Self| Object::key(route).map(|key| (key.table, key.dst, key.src));
        let is_open = said.metric.is_none() && said.tos.unwrap_or_default() == 0;
        key(said).is_some() && key(said) == key(self) && (is_open || said.key() == self.key())
    }

    fn take_over(&mut self, change: Self) {
        self.merge(change);
    }

    fn link(&self) -> Option<IfIndex> {
        self.dev
    }
}
