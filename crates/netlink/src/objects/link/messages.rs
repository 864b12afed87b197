//! How links are encoded, decoded and changed.

use super::kind::KindSettings;
use super::object::{KindCodec, Link, LinkKind};
use crate::codec::{Malformed, Request, attributes};
use crate::error::{Cause, InvalidRequest, NetlinkError, RequestTarget};
use crate::header::LinkHeader;
use crate::netlink::Netlink;
use crate::object::Object;
use crate::schema::{AttributeCodec, AttributeSet, FieldMatcher};
use crate::socket::Listing;
use crate::uapi::{
    AF_UNSPEC, IFLA_ALT_IFNAME, IFLA_LINK, IFLA_MASTER, NLM_F_ACK, RTM_DELLINKPROP, RTM_NEWLINK,
    RTNLGRP_LINK,
};
use crate::values::interface::{IfIndex, IfName};
use crate::verb::{MessageTypes, Verb};

impl Object for Link {
    type Key = IfIndex;

    const MESSAGES: MessageTypes = MessageTypes::starting_with(RTM_NEWLINK);
    const HEADER_BYTES: usize = LinkHeader::BYTES;
    const GROUPS: &'static [u32] = &[RTNLGRP_LINK];
    const HAS_GET: bool = true;

    fn netlink_flags(verb: Verb) -> u16 {
        match verb {
            // As `ip link set`: neither create nor replace.
            Verb::Set => NLM_F_ACK,
            _ => verb.flags(),
        }
    }

    fn encode(&self, verb: Verb, request: &mut Request) -> Result<(), InvalidRequest> {
        let alternative = self.alternative_name();
        let known = self.index.is_some() || self.name.is_some() || self.group.is_some();
        match verb {
            Verb::Append | Verb::Prepend | Verb::Replace => {
                return Err(InvalidRequest::new(
                    "a link cannot be replaced or appended; add or set it",
                ));
            }
            Verb::Set | Verb::Del | Verb::Get if !known && alternative.is_none() => {
                return Err(InvalidRequest::new(
                    "the link has neither an index nor a name",
                ));
            }
            Verb::Add => {
                if let Some(settings) = self.kind_settings() {
                    settings.check_new()?;
                }
            }
            _ => {}
        }
        let encoded = match verb {
            Verb::Get | Verb::Del => &self.key_only(),
            Verb::List => &self.kernel_filter(),
            _ if self.needs_follow_up(verb) => &self.first_message(verb),
            _ => self,
        };
        request.begin(
            Self::MESSAGES.of(verb),
            Self::netlink_flags(verb),
            &encoded.header().emit(),
        );
        if let Some(name) = alternative.filter(|_| verb != Verb::Add) {
            request.text(IFLA_ALT_IFNAME, name);
        }
        AttributeSet::encode_attributes(encoded, request);
        Ok(())
    }

    /// False for messages of protocol families, e.g. of a bridge about its port.
    fn decode_into(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        if body.first() != Some(&AF_UNSPEC) {
            return Ok(false);
        }
        self.fill(None, body, 0)?;
        Ok(true)
    }

    /// Without the flags that the request does not change. An index of 0, which replies have for none, removes the link
    /// from its master.
    fn decode_request(body: &[u8]) -> Result<Option<Self>, Malformed> {
        let Some(link) = Self::decode(body)? else {
            return Ok(None);
        };
        let mut link = link.without_unmasked_flags(body);
        link.remove_reported();
        let (_, rest) = LinkHeader::split(body)?;
        for attribute in attributes(rest, LinkHeader::BYTES) {
            let attribute = attribute?;
            match attribute.kind {
                IFLA_MASTER => link.master = Some(IfIndex(attribute.u32()?)),
                IFLA_LINK => link.lower = Some(IfIndex(attribute.u32()?)),
                _ => {}
            }
        }
        Ok(Some(link))
    }

    fn key(&self) -> Option<IfIndex> {
        self.index
    }

    fn target(&self) -> RequestTarget {
        match (self.name, self.index, self.alternative_names.as_deref()) {
            (Some(name), _, _) => RequestTarget::LinkNamed(name.to_string()),
            (None, Some(index), _) => RequestTarget::Link(index),
            (None, None, Some([name, ..])) => RequestTarget::LinkNamed(name.clone()),
            _ => RequestTarget::Links,
        }
    }

    fn matchers(&self) -> Vec<FieldMatcher<Self>> {
        AttributeSet::field_matchers(self)
    }

    fn has_follow_up(&self, verb: Verb) -> bool {
        self.needs_follow_up(verb)
    }

    fn encode_follow_up(
        &self,
        verb: Verb,
        created: &Self,
        index: usize,
        request: &mut Request,
    ) -> bool {
        self.encode_message(verb, created, index, request)
    }

    fn is_created_by_driver(&self) -> bool {
        self.tun().is_some()
    }

    fn create_by_driver(&self) -> Result<Self, Cause> {
        self.tun()
            .map_or_else(|| Ok(self.clone()), |tun| self.create_tun(tun))
    }

    fn settings_after_creation(&self, created: &Self) -> Option<Self> {
        self.tun_settings(created)
    }

    fn suspect_attribute(&self) -> Option<String> {
        let name = self.kind_settings()?.suspect_attribute()?;
        Some(format!("linkinfo.data.{name}"))
    }

    fn resets_omitted_fields(&self, verb: Verb) -> bool {
        let settings = self.kind_settings();
        verb == Verb::Set && settings.is_some_and(KindSettings::resets_omitted_fields)
    }

    /// Only the settings of its kind have to be repeated.
    fn completed_from(&self, present: Self) -> Self {
        let mut complete = self.clone();
        if let (Some(info), Some(present)) = (&mut complete.linkinfo, present.linkinfo)
            && let (Some(kind), Some(mut present)) = (&mut info.kind, present.kind)
        {
            KindCodec::merge(&mut present, kind.clone());
            *kind = present;
        }
        complete
    }

    fn has_same_configuration(&self, other: &Self) -> bool {
        *self
            == Self {
                statistics: self.statistics,
                ..other.clone()
            }
    }

    const RESTORE_IMPOSSIBLE: Option<&'static str> =
        Some("its addresses, routes and veth peer were deleted with it");

    fn reduced_to(mut self, to: &Self) -> Self {
        let index = self.index;
        self.retain_fields(to);
        // An absent value is restored by the value that means none.
        if to.master.is_some() {
            self.master.get_or_insert(IfIndex(0));
        }
        if to.alias.is_some() {
            self.alias.get_or_insert_default();
        }
        // A changed name is no longer the key.
        Self { index, ..self }
    }
}

impl Link {
    /// The alternative name, if nothing else identifies the link.
    fn alternative_name(&self) -> Option<&[u8]> {
        match (self.index, self.name, self.alternative_names.as_deref()) {
            // The kernel rejects names longer than 127 bytes.
            (None, None, Some([name])) => Some(&name.as_bytes()[..name.len().min(256)]),
            _ => None,
        }
    }

    /// Only the key: the index, or the name.
    fn key_only(&self) -> Self {
        let mut key = Self {
            index: self.index,
            ..Self::default()
        };
        if self.index.is_none() {
            key.name = self.name;
            if self.name.is_none() {
                key.group = self.group;
            }
        }
        key
    }

    /// The fields that the kernel filters by.
    fn kernel_filter(&self) -> Self {
        let mut filter = Self {
            master: self.master,
            ..Self::default()
        };
        if let Some(kind) = self.kind_name() {
            filter = filter.kind(LinkKind::named(kind));
        }
        filter
    }

    /// The link with this name or alternative name, for a query or a change.
    pub fn called(name: &str) -> Self {
        match IfName::new(name) {
            Ok(name) => Self::named(name),
            Err(_) => Self::new().alternative_names(vec![name.to_owned()]),
        }
    }
}

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
    /// `Cause::Refused` with ENODEV if there is none.
    pub fn link(&mut self, index: IfIndex) -> Result<Link, NetlinkError> {
        self.get(&Link::at(index))
    }

    /// The link with this name or alternative name. Equals `ip -s link show dev NAME`.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV if there is none, or another error number if the name is invalid.
    pub fn link_named(&mut self, name: &str) -> Result<Link, NetlinkError> {
        self.get(&Link::called(name))
    }

    /// Deletes the given alternative names of `link`.
    /// Equals `ip link property del dev NAME altname NAME …`; `set` adds them.
    ///
    /// # Errors
    /// `Cause::Refused` with ENODEV if the link does not exist, EINVAL if it does not have the name.
    pub fn del_alternative_names(&mut self, link: &Link) -> Result<(), NetlinkError> {
        let mut request = self.request();
        request.begin(RTM_DELLINKPROP, NLM_F_ACK, &link.header().emit());
        let said = Link {
            name: link.name.filter(|_| link.index.is_none()),
            alternative_names: link.alternative_names.clone(),
            ..Link::default()
        };
        AttributeSet::encode_attributes(&said, &mut request);
        let told = self.socket.change(&mut request);
        self.finish(Verb::Set, link, request, told)
    }
}
