//! The questions for links that are asked most.

use super::Link;
use crate::error::NetlinkError;
use crate::handle::{Listing, Netlink};
use crate::interface::IfIndex;
use crate::object::Verb;
use crate::table::Table;
use crate::uapi::{NLM_F_ACK, RTM_DELLINKPROP};

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

    /// Takes alternative names from `link`: those it gives.
    /// Equals `ip link property del dev NAME altname NAME …`; `set` adds them.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV when there is no such link, EINVAL when it has not such a name.
    pub fn del_alternative_names(&mut self, link: &Link) -> Result<(), NetlinkError> {
        let mut request = self.request();
        request.begin(RTM_DELLINKPROP, NLM_F_ACK, &link.header().emit());
        let said = Link {
            name: link.name.filter(|_| link.index.is_none()),
            alternative_names: link.alternative_names.clone(),
            ..Link::default()
        };
        Table::put(&said, &mut request);
        let told = self.socket.tell(&mut request);
        self.done(Verb::Set, link, request, told)
    }
}
