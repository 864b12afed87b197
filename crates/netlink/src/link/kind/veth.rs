use super::data::KindSettings;
use crate::codec::{Attribute, Malformed, Request};
use crate::error::InvalidRequest;
use crate::header::LinkHeader;
use crate::interface::IfName;
use crate::link::Link;
use crate::object::Object;
use crate::schema::{
    Arguments, AttributeCodec, AttributeSet, AttributeType, InvalidValue, attribute_set,
};
use crate::uapi::IFF_UP;

attribute_set! {
    /// One end of a virtual Ethernet pair: packets sent to one end arrive at the other.
    ///
    /// Equals `ip link add NAME type veth peer name PEER`.
    ///
    /// # Source
    /// `veth_newlink`, drivers/net/veth.c.
    pub struct Veth {
        /// The peer. Given only when the pair is created; never reported.
        peer: Box<Link> as Peer = VETH_INFO_PEER;
    }
}

impl Veth {
    /// One end of a pair with this peer.
    pub fn to(peer: Link) -> Self {
        Self::new().peer(Box::new(peer))
    }
}

impl KindSettings for Veth {
    fn check_new(&self) -> Result<(), InvalidRequest> {
        check_peer(self.peer.as_deref())
    }

    /// `peer [name] NAME [mtu 1400 …]`, to the end of the line.
    fn parse_special_keyword(
        &mut self,
        word: &str,
        words: &mut Arguments<'_>,
    ) -> Result<bool, InvalidValue> {
        if word != "peer" {
            return Ok(false);
        }
        self.peer = Some(Box::new(parse_peer(words)?));
        Ok(true)
    }
}

/// Parses the rest of a line as the peer.
pub(super) fn parse_peer(words: &mut Arguments<'_>) -> Result<Link, InvalidValue> {
    let mut peer = Link::new();
    while let Some(word) = words.next() {
        if !AttributeSet::parse_keyword(&mut peer, word, words)? {
            let name = IfName::new(word).map_err(|_| InvalidValue::new("peer", Some(word)))?;
            peer.name = Some(name);
        }
    }
    Ok(peer)
}

/// The kernel cannot create the peer in the up state. It is set up afterwards, which is impossible in another
/// namespace.
pub(super) fn check_peer(peer: Option<&Link>) -> Result<(), InvalidRequest> {
    match peer {
        Some(peer) if peer.up == Some(true) && peer.is_in_other_namespace() => {
            Err(InvalidRequest::new(
                "the peer cannot be up when it is created in another namespace: set it up there",
            ))
        }
        _ => Ok(()),
    }
}

/// A nested link with its fixed header.
#[derive(Clone, Copy, Debug)]
pub struct Peer;

impl AttributeCodec<Box<Link>> for Peer {
    const TYPE: AttributeType = AttributeType::Nest {
        skip: LinkHeader::BYTES,
        attributes: <Link as Object>::attributes,
    };

    fn encode(value: &Box<Link>, kind: u16, request: &mut Request) {
        let mut header = value.header();
        header.flags &= !IFF_UP;
        header.mask &= !IFF_UP;
        request.nested(kind, &header.emit(), |request| {
            AttributeSet::encode_attributes(&**value, request);
        });
    }

    fn decode(attribute: Attribute<'_>) -> Result<Box<Link>, Malformed> {
        Link::decode_peer(attribute.bytes, attribute.at).map(Box::new)
    }

    fn matches(value: &Box<Link>, wanted: &Box<Link>) -> bool {
        AttributeSet::fields_match(&**value, wanted)
    }

    fn merge(value: &mut Box<Link>, change: Box<Link>) {
        AttributeSet::merge(&mut **value, *change);
    }
}
