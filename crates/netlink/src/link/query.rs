use super::header::Header;
use super::{Link, link_message};
use crate::codec::Request;
use crate::error::{Action, NetlinkError, Object};
use crate::handle::{Listing, Netlink};
use crate::interface::{IfIndex, IfName};
use crate::uapi::{IFLA_ALT_IFNAME, IFLA_IFNAME, RTM_DELLINK, RTM_GETLINK};

impl Netlink {
    /// All links of the namespace. Equals `ip -s link show`.
    ///
    /// # Errors
    /// [`NetlinkError`] when the kernel's answer is lost or unreadable.
    pub fn links(&mut self) -> Result<Listing<Link>, NetlinkError> {
        let request = Request::dump(RTM_GETLINK, &Header::default().emit());
        self.list(&request, link_message)
            .map_err(NetlinkError::about(Action::List, Object::Links))
    }

    /// The link with this index, asked for alone.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV when there is none.
    pub fn link(&mut self, index: IfIndex) -> Result<Link, NetlinkError> {
        let header = Header {
            index: index.0,
            ..Header::default()
        };
        let request = Request::new(RTM_GETLINK, 0, &header.emit());
        let about = NetlinkError::about(Action::Get, Object::Link(index));
        self.ask(request, link_message).map_err(about)
    }

    /// The link of this name or alternative name. Equals `ip -s link show dev NAME`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV when there is none, or another error number when there cannot be.
    pub fn link_named(&mut self, name: &str) -> Result<Link, NetlinkError> {
        let mut request = Request::new(RTM_GETLINK, 0, &Header::default().emit());
        // Texts that are too long or hold a NUL are the kernel's to refuse; no name is longer than 127.
        let text = &name.as_bytes()[..name.len().min(256)];
        let kind = if IfName::new(name).is_ok() {
            IFLA_IFNAME
        } else {
            IFLA_ALT_IFNAME
        };
        request.text(kind, text);
        let about = NetlinkError::about(Action::Get, Object::LinkNamed(name.into()));
        self.ask(request, link_message).map_err(about)
    }

    /// Removes a link; a veth takes its other end along. Equals `ip link del dev NAME`.
    ///
    /// Takes some 20 ms: the kernel waits until nobody uses the link.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV when there is none, EOPNOTSUPP when it is not software's.
    pub fn remove_link(&mut self, index: IfIndex) -> Result<(), NetlinkError> {
        let header = Header {
            index: index.0,
            ..Header::default()
        };
        let request = Request::new(RTM_DELLINK, 0, &header.emit());
        self.tell(request)
            .map_err(NetlinkError::about(Action::Remove, Object::Link(index)))
    }
}
