use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Seg6Encap;
use crate::codec::{Attribute, Malformed, Request, attributes as read_attributes};
use crate::table::{
    BadWord, Be, Code, Entry, Lookup, Native, Shape, Table, Word, Words, attributes, push, whole,
};
use crate::uapi::{
    LWTUNNEL_ENCAP_IP, LWTUNNEL_ENCAP_IP6, LWTUNNEL_ENCAP_MPLS, LWTUNNEL_ENCAP_SEG6,
};

/// What a route puts around each packet (`RTA_ENCAP`, lightweight tunnels).
///
/// Equals `ip route add … encap TYPE …`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Encap {
    /// A stack of MPLS labels.
    Mpls(MplsEncap),
    /// Tunnel data of IPv4, for a link of kind VXLAN, Geneve or GRE that asks for it.
    Ip(IpEncap),
    /// Tunnel data of IPv6.
    Ip6(Ip6Encap),
    /// A segment routing header.
    Seg6(Seg6Encap),
    /// Another.
    Other {
        /// Its number (`LWTUNNEL_ENCAP_*`).
        kind: u16,
        /// Its attributes.
        bytes: Vec<u8>,
    },
}

attributes! {
    /// A stack of MPLS labels around a packet.
    pub struct MplsEncap {
        /// The labels, outermost first.
        dst: Labels = MPLS_IPTUNNEL_DST;
        /// Time to live of the labels.
        "ttl" ttl: u8 = MPLS_IPTUNNEL_TTL;
    }
}

attributes! {
    /// Tunnel data of IPv4.
    pub struct IpEncap {
        /// Number of the tunnel, as a VXLAN's VNI.
        "id" id: u64 as Be = LWTUNNEL_IP_ID;
        /// This end.
        "src" src: Ipv4Addr = LWTUNNEL_IP_SRC;
        /// The other end.
        "dst" dst: Ipv4Addr = LWTUNNEL_IP_DST;
        /// Time to live.
        "ttl" ttl: u8 = LWTUNNEL_IP_TTL;
        /// Type of service.
        "tos" tos: u8 = LWTUNNEL_IP_TOS;
        /// Which options a tunnel header has (`TUNNEL_*`).
        flags: u16 as Be = LWTUNNEL_IP_FLAGS;
    }
}

attributes! {
    /// Tunnel data of IPv6.
    pub struct Ip6Encap {
        /// Number of the tunnel.
        "id" id: u64 as Be = LWTUNNEL_IP6_ID;
        /// This end.
        "src" src: Ipv6Addr = LWTUNNEL_IP6_SRC;
        /// The other end.
        "dst" dst: Ipv6Addr = LWTUNNEL_IP6_DST;
        /// Hop limit.
        "hoplimit" hoplimit: u8 = LWTUNNEL_IP6_HOPLIMIT;
        /// Traffic class.
        "tc" tc: u8 = LWTUNNEL_IP6_TC;
        /// Which options a tunnel header has (`TUNNEL_*`).
        flags: u16 as Be = LWTUNNEL_IP6_FLAGS;
    }
}

impl Encap {
    /// Its number (`LWTUNNEL_ENCAP_*`).
    pub fn number(&self) -> u16 {
        match self {
            Self::Mpls(_) => LWTUNNEL_ENCAP_MPLS,
            Self::Ip(_) => LWTUNNEL_ENCAP_IP,
            Self::Ip6(_) => LWTUNNEL_ENCAP_IP6,
            Self::Seg6(_) => LWTUNNEL_ENCAP_SEG6,
            Self::Other { kind, .. } => *kind,
        }
    }

    fn entries(number: u16) -> &'static [Entry] {
        match number {
            LWTUNNEL_ENCAP_MPLS => MplsEncap::entries(),
            LWTUNNEL_ENCAP_IP => IpEncap::entries(),
            LWTUNNEL_ENCAP_IP6 => Ip6Encap::entries(),
            LWTUNNEL_ENCAP_SEG6 => Seg6Encap::ENTRIES,
            _ => &[],
        }
    }

    /// Makes one whose attributes are read what it is: the kernel says only behind them what they are.
    pub(crate) fn resolve(&mut self, number: u16) -> Result<(), Malformed> {
        let Self::Other { bytes, .. } = self else {
            return Ok(());
        };
        let bytes = std::mem::take(bytes);
        *self = match number {
            LWTUNNEL_ENCAP_MPLS => Self::Mpls(read(&bytes)?),
            LWTUNNEL_ENCAP_IP => Self::Ip(read(&bytes)?),
            LWTUNNEL_ENCAP_IP6 => Self::Ip6(read(&bytes)?),
            LWTUNNEL_ENCAP_SEG6 => Self::Seg6(Seg6Encap::read(&bytes)?),
            kind => Self::Other { kind, bytes },
        };
        Ok(())
    }

    /// Reads the words behind `encap`.
    pub(crate) fn read_words(words: &mut Words<'_>) -> Result<Self, BadWord> {
        let kind: String = words.value("encap")?;
        Ok(match kind.as_str() {
            "mpls" => {
                let labels = words.value("labels")?;
                Self::Mpls(read_table(MplsEncap::new().dst(labels), words)?)
            }
            "ip" => Self::Ip(read_table(IpEncap::new(), words)?),
            "ip6" => Self::Ip6(read_table(Ip6Encap::new(), words)?),
            "seg6" => Self::Seg6(Seg6Encap::read_words(words)?),
            _ => {
                return Err(BadWord {
                    wanted: "encap".to_owned(),
                    found: Some(kind),
                });
            }
        })
    }

    /// As `ip(8)` shows it.
    pub(crate) fn line(&self, lookup: &mut dyn Lookup) -> String {
        match self {
            Self::Mpls(it) => {
                let labels = it.dst.as_ref().map(ToString::to_string);
                format!("mpls  {}{}", labels.unwrap_or_default(), line(it, lookup))
            }
            Self::Ip(it) => format!("ip{}", line(it, lookup)),
            Self::Ip6(it) => format!("ip6{}", line(it, lookup)),
            Self::Seg6(it) => format!("seg6{it}"),
            Self::Other { kind, .. } => kind.to_string(),
        }
    }
}

fn read<T: Table>(bytes: &[u8]) -> Result<T, Malformed> {
    let mut table = T::default();
    for attribute in read_attributes(bytes, 0) {
        table.take(attribute?)?;
    }
    Ok(table)
}

/// Reads fields of `table` for as long as words are its.
fn read_table<T: Table>(mut table: T, words: &mut Words<'_>) -> Result<T, BadWord> {
    words.take_while(|word, words| table.word(word, words))?;
    Ok(table)
}

fn line<T: Table>(table: &T, lookup: &mut dyn Lookup) -> String {
    let mut line = String::new();
    table.show(lookup, &mut |word, value| {
        push(&mut line, format_args!(" {word} {value}"));
    });
    line
}

/// An encapsulation: its number in the attribute before `kind`, and its attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EncapCode;

impl Code<Box<Encap>> for EncapCode {
    const SHAPE: Shape = Shape::Chosen {
        by: |around| Encap::entries(number_of(around)),
    };

    fn put(value: &Box<Encap>, kind: u16, request: &mut Request) {
        request.attribute(kind - 1, &value.number().to_ne_bytes());
        let attributes = |request: &mut Request| match &**value {
            Encap::Mpls(it) => it.put(request),
            Encap::Ip(it) => it.put(request),
            Encap::Ip6(it) => it.put(request),
            Encap::Seg6(it) => it.put(request),
            Encap::Other { bytes, .. } => request.raw(&bytes[..bytes.len().min(1024)]),
        };
        request.nested(kind, &[], attributes);
    }

    /// [`Encap::resolve`] says what it is.
    fn take(attribute: Attribute<'_>) -> Result<Box<Encap>, Malformed> {
        Ok(Box::new(Encap::Other {
            kind: 0,
            bytes: attribute.bytes.to_vec(),
        }))
    }

    fn matches(value: &Box<Encap>, wanted: &Box<Encap>) -> bool {
        match (&**value, &**wanted) {
            (Encap::Mpls(value), Encap::Mpls(wanted)) => value.matches(wanted),
            (Encap::Ip(value), Encap::Ip(wanted)) => value.matches(wanted),
            (Encap::Ip6(value), Encap::Ip6(wanted)) => value.matches(wanted),
            (value, wanted) => value == wanted,
        }
    }

    fn merge(value: &mut Box<Encap>, change: Box<Encap>) {
        *value = change;
    }
}

/// The number of the encapsulation among the attributes of a route or nexthop: each of them has it before
/// the encapsulation, as a number of 16 bits.
fn number_of(around: &[u8]) -> u16 {
    let found = |wanted: u16| {
        let mut attributes = read_attributes(around, 0).flatten();
        let number = attributes.find(|attribute| attribute.kind == wanted)?;
        number.array().map(u16::from_ne_bytes).ok()
    };
    let numbers = [crate::uapi::RTA_ENCAP_TYPE, crate::uapi::NHA_ENCAP_TYPE];
    numbers.into_iter().find_map(found).unwrap_or_default()
}

/// A stack of MPLS labels, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Labels(pub Vec<u32>);

/// Labels of a stack, as the kernel has room for them (`MAX_NEW_LABELS`, net/mpls/internal.h, is 30).
const MOST_LABELS: usize = 30;
/// The last label of a stack has this bit.
const BOTTOM_OF_STACK: u32 = 1 << 8;

impl Code<Labels> for Native {
    const SHAPE: Shape = Shape::Bytes;

    fn put(value: &Labels, kind: u16, request: &mut Request) {
        let labels = &value.0[..value.0.len().min(MOST_LABELS)];
        let last = labels.len().wrapping_sub(1);
        let mut bytes = [0; MOST_LABELS * 4];
        for (at, (label, place)) in labels.iter().zip(bytes.chunks_exact_mut(4)).enumerate() {
            let bottom = if at == last { BOTTOM_OF_STACK } else { 0 };
            place.copy_from_slice(&(label << 12 | bottom).to_be_bytes());
        }
        request.attribute(kind, &bytes[..labels.len() * 4]);
    }

    fn take(attribute: Attribute<'_>) -> Result<Labels, Malformed> {
        let (labels, _) = attribute.bytes.as_chunks::<4>();
        let labels = labels.iter().map(|bytes| u32::from_be_bytes(*bytes) >> 12);
        Ok(Labels(labels.collect()))
    }

    whole!(Labels);
}

impl fmt::Display for Labels {
    /// With strokes between: `100/200`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.pad(&labels.join("/"))
    }
}

impl FromStr for Labels {
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Self, BadWord> {
        let labels = text.split('/').map(|label| {
            let label: Option<u32> = label.parse().ok();
            label.filter(|label| *label < 1 << 20)
        });
        let labels: Option<Vec<_>> = labels.take(MOST_LABELS + 1).collect();
        labels
            .filter(|labels| labels.len() <= MOST_LABELS)
            .map(Self)
            .ok_or_else(|| BadWord {
                wanted: "labels".to_owned(),
                found: Some(text.to_owned()),
            })
    }
}

impl From<Labels> for String {
    fn from(labels: Labels) -> Self {
        labels.to_string()
    }
}

impl TryFrom<String> for Labels {
    type Error = BadWord;

    fn try_from(text: String) -> Result<Self, BadWord> {
        text.parse()
    }
}

impl Word for Labels {
    fn read(text: &str, _: &mut dyn Lookup) -> Option<Self> {
        text.parse().ok()
    }

    fn write(&self, _: &mut dyn Lookup) -> String {
        self.to_string()
    }
}
