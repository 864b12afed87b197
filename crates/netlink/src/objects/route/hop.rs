//! Next hops of routes.

use std::net::IpAddr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Encap, EncapCode, RouteFlags};
use crate::codec::{Attribute, Malformed, Request, attributes, split};
use crate::schema::{
    Arguments, AttributeCodec, AttributeSet, AttributeType, FieldReader, FieldValue, FieldWriter,
    Flatten, InvalidField, InvalidValue, Line, NameLookup, Native, NumberNames, NumberOrName,
    Parsed, Shape, TextValue, attribute_set, c_number, field_values, fixed_size,
};
use crate::uapi::{AF_INET, AF_INET6, RTA_ENCAP_TYPE};
use crate::values::interface::IfIndex;
use crate::values::prefix::Family;

attribute_set! {
    /// One of several next hops of a route (`struct rtnexthop`).
    ///
    /// Equals `nexthop [via GATEWAY] [dev NAME] [weight WEIGHT] …` in `ip route add`.
    pub struct Hop {
        @header {
            /// Its link.
            "dev" dev: IfIndex;
            /// Its share of the traffic, 1 to 256. Default: 1.
            "weight" weight: u16;
            /// Its flags. Read-only.
            flags @reported: RouteFlags;
        }
        @flags {
            /// The next hop is on the link, regardless of the addresses there.
            "onlink" onlink = RTNH_F_ONLINK;
        }
        /// The next hop, if it belongs to the family of the route.
        gateway: IpAddr = RTA_GATEWAY;
        /// The next hop, if it belongs to another family.
        via: Via = RTA_VIA;
        encap: Box<Encap> as EncapCode = RTA_ENCAP;
        /// Its realms, for accounting.
        #[serde(rename = "flow")]
        "realms" | "realm" realms: Realms = RTA_FLOW;
    }
}

/// Length of `struct rtnexthop`.
const HEADER_BYTES: usize = 8;

impl Hop {
    /// Its weight, or the default.
    pub(super) fn share(&self) -> u16 {
        self.weight.unwrap_or(1)
    }

    /// An upper bound of its encoded size in bytes.
    pub(super) fn max_encoded_bytes(&self) -> usize {
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
        let flags = self.flag_bits().0;
        let [i0, i1, i2, i3] = self.dev.unwrap_or_default().0.to_ne_bytes();
        let hops = self.share().saturating_sub(1).min(255) as u8;
        request.raw(&[0, 0, flags as u8, hops, i0, i1, i2, i3]);
        AttributeSet::encode_attributes(self, request);
        let length = (request.position() - start) as u16;
        request.overwrite(start, &length.to_ne_bytes());
    }

    /// Decodes the hop at the beginning of `bytes` and returns its length. `at` is the offset of `bytes` in the body.
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
        hop.set_flag_bits(flags.into(), flags.into());
        let mut encap = 0;
        for attribute in attributes(rest, at + HEADER_BYTES) {
            let attribute = attribute?;
            match attribute.kind {
                RTA_ENCAP_TYPE => encap = u16::from_ne_bytes(attribute.array()?),
                _ => hop.decode_attribute(attribute)?,
            }
        }
        if let Some(hidden) = &mut hop.encap {
            hidden.resolve(encap)?;
        }
        Ok((hop, length.next_multiple_of(4).min(bytes.len())))
    }

    /// Parses the arguments after `nexthop`.
    pub(super) fn read_words(words: &mut Arguments<'_>) -> Parsed<Self> {
        let mut hop = Self::new();
        words.parse_while(|word, words| {
            words.offer(&["via", "encap"]);
            match word {
                "via" => (hop.gateway, hop.via) = read_gateway_words(words)?,
                "encap" => hop.encap = Some(Box::new(Encap::read_words(words)?)),
                _ => return hop.parse_keyword(word, words),
            }
            Ok(true)
        })?;
        Ok(hop)
    }

    /// Formats it like `ip(8)` after `nexthop`.
    pub(super) fn line(&self, lookup: &mut dyn NameLookup) -> String {
        let mut line = Line::default();
        line.field("encap", self.encap.as_ref().map(|it| it.line(lookup) + " "));
        line.0 += &show_gateway(self.gateway, self.via);
        line.0 += &self.realms.map(Realms::words).unwrap_or_default();
        line.field("dev", self.dev.map(|dev| dev.format(lookup)));
        line.field("weight", Some(self.share()));
        line.words(self.flags.unwrap_or_default().names());
        line.0
    }
}

/// Parses the arguments after `via`: an address, or a family and an address.
pub(crate) fn read_gateway_words(
    words: &mut Arguments<'_>,
) -> Parsed<(Option<IpAddr>, Option<Via>)> {
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
        Err(InvalidValue {
            expected: "via".to_owned(),
            found: Some(ip.to_string()),
        })
    }
}

/// Formats a next hop like `ip(8)`.
pub(crate) fn show_gateway(gateway: Option<IpAddr>, via: Option<Via>) -> String {
    match (gateway, via) {
        (Some(ip), _) => format!(" via {ip}"),
        (None, Some(Via(ip))) => format!(" via {} {ip}", Family::of(ip)),
        (None, None) => String::new(),
    }
}

/// A list of hops, encoded as consecutive `struct rtnexthop`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hops;

impl AttributeCodec<Vec<Hop>> for Hops {
    const TYPE: AttributeType = AttributeType::Bytes;

    fn encode(value: &Vec<Hop>, kind: u16, request: &mut Request) {
        request.nested(kind, &[], |request| {
            for hop in value {
                hop.put(request);
            }
        });
    }

    fn reported_field(value: &Vec<Hop>) -> Option<String> {
        value.iter().find_map(AttributeSet::reported_field)
    }

    fn remove_reported(value: &mut Vec<Hop>) {
        value.iter_mut().for_each(AttributeSet::remove_reported);
    }

    fn decode(attribute: Attribute<'_>) -> Result<Vec<Hop>, Malformed> {
        let (mut rest, mut at) = (attribute.bytes, attribute.at);
        let mut hops = Vec::with_capacity(rest.len() / 16);
        // A hop has at least its header.
        while rest.len() >= HEADER_BYTES {
            let (hop, length) = Hop::read(rest, at)?;
            hops.push(hop);
            rest = &rest[length..];
            at += length;
        }
        Ok(hops)
    }

    /// In order, hop by hop.
    fn matches(value: &Vec<Hop>, wanted: &Vec<Hop>) -> bool {
        let alike = |(value, wanted): (&Hop, &Hop)| value.fields_match(wanted);
        value.len() == wanted.len() && value.iter().zip(wanted).all(alike)
    }
}

/// A next hop of another family than its route's (`RTA_VIA`, `struct rtvia`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Via(pub IpAddr);

impl AttributeCodec<Via> for Native {
    const TYPE: AttributeType = AttributeType::Bytes;

    fn encode(value: &Via, kind: u16, request: &mut Request) {
        let family = u16::from(u8::from(Family::of(value.0))).to_ne_bytes();
        let mut bytes = [0; 18];
        bytes[..2].copy_from_slice(&family);
        match value.0 {
            IpAddr::V4(ip) => {
                bytes[2..6].copy_from_slice(&ip.octets());
                request.attribute(kind, &bytes[..6]);
            }
            IpAddr::V6(ip) => {
                bytes[2..].copy_from_slice(&ip.octets());
                request.attribute(kind, &bytes);
            }
        }
    }

    fn decode(attribute: Attribute<'_>) -> Result<Via, Malformed> {
        let family = u16::from_ne_bytes(attribute.array()?);
        let address = Attribute {
            at: attribute.at + 2,
            bytes: &attribute.bytes[2..],
            ..attribute
        };
        let (v4, v6) = (u16::from(AF_INET), u16::from(AF_INET6));
        match family {
            it if it == v4 => Ok(Via(address.array::<4>()?.into())),
            it if it == v6 => Ok(Via(address.array::<16>()?.into())),
            _ => Err(Malformed {
                layer: "next hop of family inet or inet6",
                at: attribute.at,
                need: v4.into(),
                have: family.into(),
            }),
        }
    }
}

impl FieldValue for Via {
    fn shape() -> Shape {
        Shape::Ip
    }

    fn put(&self, out: &mut FieldWriter<'_>) {
        self.0.put(out);
    }

    fn take(bytes: &[u8], reader: &mut FieldReader<'_>) -> Result<Self, InvalidField> {
        IpAddr::take(bytes, reader).map(Self)
    }
}

/// The JSON form of `ip(8)`.
#[derive(Serialize, Deserialize)]
struct ViaJson {
    family: Family,
    host: IpAddr,
}

impl Serialize for Via {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (family, host) = (Family::of(self.0), self.0);
        ViaJson { family, host }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Via {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(ViaJson::deserialize(deserializer)?.host))
    }
}

/// Realms, for accounting and classification: source (0 is none) and destination (`RTA_FLOW`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Realms {
    /// The source realm.
    pub from: u16,
    /// The destination realm.
    pub to: u16,
}

impl Realms {
    /// With the keyword of `ip route`, which differs for one and two realms.
    pub(super) fn words(self) -> String {
        match self {
            Self { from: 0, to } => format!(" realm {to}"),
            Self { from, to } => format!(" realms {from}/{to}"),
        }
    }
}

impl From<Realms> for u32 {
    /// The source realm in the upper half.
    fn from(Realms { from, to }: Realms) -> Self {
        Self::from(from) << 16 | Self::from(to)
    }
}

impl From<u32> for Realms {
    fn from(number: u32) -> Self {
        Self {
            from: (number >> 16) as u16,
            to: number as u16,
        }
    }
}

field_values! {
    Realms: Unsigned(4), |realms| u32::from(*realms).to_ne_bytes(), |bytes| u32::from_ne_bytes(bytes).into();
}

fixed_size! {
    Native: Realms = Number, |realms| u32::from(*realms).to_ne_bytes(), |bytes| u32::from_ne_bytes(bytes).into();
}

impl TextValue for Realms {
    /// `SOURCE/DESTINATION`, or the destination alone: numbers or names.
    fn parse(text: &str, lookup: &mut dyn NameLookup) -> Option<Self> {
        let (from, to) = text.split_once('/').unwrap_or(("0", text));
        let mut realm = |text: &str| {
            let named = lookup.number(NumberNames::Realm, text);
            named.map_or_else(|| c_number(text), |number| number.try_into().ok())
        };
        Some(Self {
            from: realm(from)?,
            to: realm(to)?,
        })
    }

    fn format(&self, _: &mut dyn NameLookup) -> String {
        match self {
            Self { from: 0, to } => to.to_string(),
            Self { from, to } => format!("{from}/{to}"),
        }
    }
}

/// The JSON form of `ip(8)`.
#[derive(Serialize)]
struct RealmsJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    to: String,
}

#[derive(Deserialize)]
struct GivenRealms {
    #[serde(default)]
    from: Option<NumberOrName>,
    to: NumberOrName,
}

impl Serialize for Realms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let from = (self.from != 0).then(|| self.from.to_string());
        let to = self.to.to_string();
        RealmsJson { from, to }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Realms {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let GivenRealms { from, to } = GivenRealms::deserialize(deserializer)?;
        let number =
            |value: NumberOrName| value.to_string().parse().map_err(serde::de::Error::custom);
        Ok(Self {
            from: from.map_or(Ok(0), number)?,
            to: number(to)?,
        })
    }
}
