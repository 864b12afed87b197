use super::data::Data;
use crate::codec::{Attribute, Malformed, Request};
use crate::interface::IfName;
use crate::link::Link;
use crate::link::header::Header;
use crate::object::{Object, Unfit};
use crate::table::{BadWord, Code, Shape, Table, Words, attributes};
use crate::uapi::IFF_UP;

attributes! {
    /// One end of a pair: what goes into one comes out of the other.
    ///
    /// Equals `ip link add NAME type veth peer name PEER`.
    ///
    /// # Source
    /// `veth_newlink`, drivers/net/veth.c.
    pub struct Veth {
        /// The other end; only said when a pair is made, the kernel does not tell it.
        peer: Box<Link> as Peer = VETH_INFO_PEER;
    }
}

impl Veth {
    /// One end of a pair of which `peer` is the other.
    pub fn to(peer: Link) -> Self {
        Self::new().peer(Box::new(peer))
    }
}

impl Data for Veth {
    fn check_new(&self) -> Result<(), Unfit> {
        check_peer(self.peer.as_deref())
    }

    /// `peer [name] NAME [mtu 1400 …]`, to the end of the line.
    fn more_words(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
        if word != "peer" {
            return Ok(false);
        }
        self.peer = Some(Box::new(peer_of(words)?));
        Ok(true)
    }
}

/// The link that the rest of a line says.
pub(super) fn peer_of(words: &mut Words<'_>) -> Result<Link, BadWord> {
    let mut peer = Link::new();
    while let Some(word) = words.next() {
        if !Table::word(&mut peer, word, words)? {
            let name = IfName::new(word).map_err(|_| BadWord {
                wanted: "peer".to_owned(),
                found: Some(word.to_owned()),
            })?;
            peer.name = Some(name);
        }
    }
    Ok(peer)
}

/// The other end is not joined to this one when it is made, and cannot be up: it is set up after, and
/// in a namespace that is not this one there is no way to.
pub(super) fn check_peer(peer: Option<&Link>) -> Result<(), Unfit> {
    match peer {
        Some(peer) if peer.up == Some(true) && peer.is_elsewhere() => Err(Unfit::new(
            "the other end cannot be up when it is made: set it up in its namespace",
        )),
        _ => Ok(()),
    }
}

/// A link within the attribute, with its fixed header.
#[derive(Clone, Copy, Debug)]
pub struct Peer;

impl Code<Box<Link>> for Peer {
    const SHAPE: Shape = Shape::Nest {
        skip: Header::BYTES,
        entries: <Link as Object>::entries,
    };

    fn put(value: &Box<Link>, kind: u16, request: &mut Request) {
        let mut header = value.header();
        header.flags &= !IFF_UP;
        header.mask &= !IFF_UP;
        request.nested(kind, &header.emit(), |request| {
            Table::put(&**value, request);
        });
    }

    fn take(attribute: Attribute<'_>) -> Result<Box<Link>, Malformed> {
        Link::read_end(attribute.bytes, attribute.at).map(Box::new)
    }

    fn matches(value: &Box<Link>, wanted: &Box<Link>) -> bool {
        Table::matches(&**value, wanted)
    }

    fn merge(value: &mut Box<Link>, change: Box<Link>) {
        Table::merge(&mut **value, *change);
    }
}
