//! The questions for links that are asked most.

use super::Link;
use crate::error::NetlinkError;
use crate::handle::{Listing, Netlink};
use crate::interface::IfIndex;

impl Netlink {
    /// All links of the namespace. Equals `ip -s link show`.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn links(&mut self) -> Result<Listing<Link>, NetlinkError> {
        self.list(&Link::new())
    }

    /// The link with this index.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV when there is none.
    pub fn link(&mut self, index: IfIndex) -> Result<Link, NetlinkError> {
        self.get(&Link::at(index))
    }

    /// The link of this name or alternative name. Equals `ip -s link show dev NAME`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV when there is none, or another error number when there cannot be.
    pub fn link_named(&mut self, name: &str) -> Result<Link, NetlinkError> {
        self.get(&Link::called(name))
    }
}
