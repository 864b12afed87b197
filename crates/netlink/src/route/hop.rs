use std::net::IpAddr;

use super::{Encap, EncapCode, Realms, RouteFlags, Via};
use crate::codec::{Attribute, Malformed, Request, attributes as read_attributes, split};
use crate::interface::IfIndex;
use crate::prefix::Family;
use crate::table::{BadWord, Code, Lookup, Shape, Table, Word, Words, attributes, push};
use crate::uapi::RTA_ENCAP_TYPE;

attributes! {
    /// One of several next hops of a route (`struct rtnexthop`).
    ///
    /// Equals `nexthop [via GATEWAY] [dev NAME] [weight WEIGHT] …` in `ip route add`.
    pub struct Hop {
        @header {
            /// The link it is on.
            "dev" dev: IfIndex;
            /// Its share of the traffic, 1 to 256; 1 if not said.
            "weight" weight: u16;
            /// The next hop is reached on the link whatever the addresses there.
            onlink: bool;
            /// What the kernel tells beside. Told only.
            flags: RouteFlags;
        }
        /// The next hop, where it is of the route's family.
        gateway: IpAddr = RTA_GATEWAY;
        /// The next hop, where it is of another family.
        via: Via = RTA_VIA;
        /// What is put around each packet.
        encap: Box<Encap> as EncapCode = RTA_ENCAP;
        /// Its realms, by which traffic is counted.
        #[serde(rename = "flow")]
        "realms" | "realm" realms: Realms = RTA_FLOW;
    }
}

/// Bytes of a `struct rtnexthop`.
const HEADER_BYTES: usize = 8;

impl Hop {
    /// The share it has.
    pub(super) fn share(&self) -> u16 {
        self.weight.unwrap_or(1)
    }

    /// More than its bytes in a message.
    pub(super) fn most_bytes(&self) -> usize {
        let encap = match self.encap.as_deref() {
            Some(Encap::Other { bytes, .. }) => bytes.len(),
            Some(Encap::Seg6(encap)) => 64 + 16 * encap.segs.len(),
            Some(_) => 256,
            None => 0,
        };
        64 + encap
    }

    fn put(&self, request: &mut Request) {
        let start = request.position();
        let flags = if self.onlink == Some(true) {
            RouteFlags::ONLINK.0
        } else {
            0
        };
        let [i0, i1, i2, i3] = self.dev.unwrap_or_default().0.to_ne_bytes();
        let hops = self.share().saturating_sub(1).min(255) as u8;
        request.raw(&[0, 0, flags as u8, hops, i0, i1, i2, i3]);
        Table::put(self, request);
        let length = (request.position() - start) as u16;
        request.overwrite(start, &length.to_ne_bytes());
    }

    /// The hop at the beginning of `bytes`, which stand `at` bytes into the message's body, and its length.
    fn read(bytes: &[u8], at: usize) -> Result<(Self, usize), Malformed> {
        let (header, _) = split::<HEADER_BYTES>("next hop", at, bytes)?;
        let [l0, l1, flags, hops, index @ ..] = *header;
        let length = usize::from(u16::from_ne_bytes([l0, l1]));
        let malformed = Malformed {
            layer: "next hop",
            at,
            need: length.max(HEADER_BYTES),
            have: bytes.len(),
        };
        let rest = bytes.get(HEADER_BYTES..length).ok_or(malformed)?;
        let index = u32::from_ne_bytes(index);
        let mut hop = Self {
            dev: (index != 0).then_some(IfIndex(index)),
            weight: Some(u16::from(hops) + 1),
            flags: Some(RouteFlags(flags.into())),
            ..Self::default()
        };
        hop.onlink = RouteFlags(flags.into())
            .has(RouteFlags::ONLINK)
            .then_some(true);
        let mut encap = 0;
        for attribute in read_attributes(rest, at + HEADER_BYTES) {
            let attribute = attribute?;
            match attribute.kind {
                RTA_ENCAP_TYPE => encap = u16::from_ne_bytes(attribute.array()?),
                _ => hop.take(attribute)?,
            }
        }
        if let Some(hidden) = &mut hop.encap {
            hidden.resolve(encap)?;
        }
        Ok((hop, length.next_multiple_of(4).min(bytes.len())))
    }

    /// Reads the words behind `nexthop`.
    pub(super) fn read_words(words: &mut Words<'_>) -> Result<Self, BadWord> {
        let mut hop = Self::new();
        words.take_while(|word, words| {
            match word {
                "via" => (hop.gateway, hop.via) = read_gateway_words(words)?,
                "encap" => hop.encap = Some(Box::new(Encap::read_words(words)?)),
                "onlink" => hop.onlink = Some(true),
                _ => return hop.word(word, words),
            }
            Ok(true)
        })?;
        Ok(hop)
    }

    /// As `ip(8)` shows it behind `nexthop`.
    pub(super) fn line(&self, lookup: &mut dyn Lookup) -> String {
        let mut line = String::new();
        if let Some(encap) = &self.encap {
            push(&mut line, format_args!(" encap {} ", encap.line(lookup)));
        }
        line += &show_gateway(self.gateway, self.via);
        if let Some(realms) = self.realms {
            push(&mut line, format_args!(" {}", realms.words()));
        }
        if let Some(dev) = self.dev {
            push(&mut line, format_args!(" dev {}", dev.write(lookup)));
        }
        push(&mut line, format_args!(" weight {}", self.share()));
        for flag in self.flags.unwrap_or_default().names() {
            push(&mut line, format_args!(" {flag}"));
        }
        line
    }
}

/// Reads the words behind `via`: an address, or a family and an address of that.
pub(crate) fn read_gateway_words(
    words: &mut Words<'_>,
) -> Result<(Option<IpAddr>, Option<Via>), BadWord> {
    let family = words.peek().and_then(|word| match word {
        "inet" => Some(Family::V4),
        "inet6" => Some(Family::V6),
        _ => None,
    });
    let Some(family) = family else {
        return Ok((Some(words.value("via")?), None));
    };
    words.next();
    let ip: IpAddr = words.value("via")?;
    if Family::of(ip) == family {
        Ok((None, Some(Via(ip))))
    } else {
        Err(BadWord {
            wanted: "via".to_owned(),
            found: Some(ip.to_string()),
        })
    }
}

/// As `ip(8)` shows a next hop.
pub(crate) fn show_gateway(gateway: Option<IpAddr>, via: Option<Via>) -> String {
    match (gateway, via) {
        (Some(ip), _) => format!(" via {ip}"),
        (None, Some(Via(ip))) => format!(" via {} {ip}", Family::of(ip)),
        (None, None) => String::new(),
    }
}

/// A list of hops, one `struct rtnexthop` after another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hops;

impl Code<Vec<Hop>> for Hops {
    const SHAPE: Shape = Shape::Bytes;

    fn put(value: &Vec<Hop>, kind: u16, request: &mut Request) {
        request.nested(kind, &[], |request| {
            for hop in value {
                hop.put(request);
            }
        });
    }

    fn take(attribute: Attribute<'_>) -> Result<Vec<Hop>, Malformed> {
        let (mut rest, mut at) = (attribute.bytes, attribute.at);
        let mut hops = Vec::with_capacity(rest.len() / 16);
        // A hop takes at least its header.
        while rest.len() >= HEADER_BYTES {
            let (hop, length) = Hop::read(rest, at)?;
            hops.push(hop);
            rest = &rest[length..];
            at += length;
        }
        Ok(hops)
    }

    /// Hop for hop, in their order.
    fn matches(value: &Vec<Hop>, wanted: &Vec<Hop>) -> bool {
        let alike = |(value, wanted): (&Hop, &Hop)| value.matches(wanted);
        value.len() == wanted.len() && value.iter().zip(wanted).all(alike)
    }

    fn merge(value: &mut Vec<Hop>, change: Vec<Hop>) {
        *value = change;
    }
}
