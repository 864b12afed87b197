use crate::codec::{Attribute, Malformed, Request};
use crate::link::Link;
use crate::link::header::Header;
use crate::object::Object;
use crate::table::{Code, Shape, Table, attributes};

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

/// A link within the attribute, with its fixed header.
#[derive(Clone, Copy, Debug)]
pub struct Peer;

impl Code<Box<Link>> for Peer {
    const SHAPE: Shape = Shape::Nest {
        skip: Header::BYTES,
        entries: <Link as Object>::entries,
    };

    fn put(value: &Box<Link>, kind: u16, request: &mut Request) {
        request.nested(kind, &value.header().emit(), |request| {
            Table::put(&**value, request)
        });
    }

    fn take(attribute: Attribute<'_>) -> Result<Box<Link>, Malformed> {
        Link::read(attribute.bytes, attribute.at).map(Box::new)
    }

    fn matches(value: &Box<Link>, wanted: &Box<Link>) -> bool {
        Table::matches(&**value, wanted)
    }

    fn merge(value: &mut Box<Link>, change: Box<Link>) {
        Table::merge(&mut **value, *change);
    }
}
