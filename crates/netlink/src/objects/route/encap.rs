//! Encapsulation by routes (lightweight tunnels).

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::codec::{Attribute, Malformed, Request, attributes, split};
use crate::schema::{
    Arguments, AttributeCodec, AttributeSet, AttributeSpec, AttributeType, BigEndian, FieldReader,
    FieldSetShape, FieldShape, FieldValue, FieldWriter, InvalidField, InvalidValue, Line,
    NameLookup, Native, NumberOrName, Parsed, Shape, TextValue, attribute_set, field_id,
    field_values, fixed_size, from_number_or_name, number_enum, specs, text_field_values,
    text_form,
};
use crate::uapi::{
    LWTUNNEL_ENCAP_IP, LWTUNNEL_ENCAP_IP6, LWTUNNEL_ENCAP_MPLS, LWTUNNEL_ENCAP_SEG6,
    SEG6_IPTUNNEL_SRH,
};
use crate::values::ds_field::DsField;

/// The encapsulation of a route (`RTA_ENCAP`, lightweight tunnels).
///
/// Equals `ip route add … encap TYPE …`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Encap {
    /// A stack of MPLS labels.
    Mpls(MplsEncap),
    /// IPv4 tunnel metadata, for VXLAN, Geneve and GRE links with `external`.
    Ip(IpEncap),
    /// IPv6 tunnel metadata.
    Ip6(Ip6Encap),
    /// A segment routing header.
    Seg6(Seg6Encap),
    /// Another encapsulation.
    Other {
        /// Its number (`LWTUNNEL_ENCAP_*`).
        kind: u16,
        /// Its attributes.
        bytes: Vec<u8>,
    },
}

attribute_set! {
    /// A stack of MPLS labels.
    pub struct MplsEncap {
        /// The labels, outermost first.
        dst: Labels = MPLS_IPTUNNEL_DST;
        /// Time to live of the labels.
        "ttl" ttl: u8 = MPLS_IPTUNNEL_TTL;
    }
}

/// The DS field of an encapsulation. `ip(8)` reads it in hexadecimal and prints it in decimal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncapTos(pub u8);

impl TextValue for EncapTos {
    fn parse(text: &str, lookup: &mut dyn NameLookup) -> Option<Self> {
        DsField::parse(text, lookup).map(|field| Self(field.0))
    }

    fn format(&self, _: &mut dyn NameLookup) -> String {
        self.0.to_string()
    }
}

fixed_size! {
    Native: EncapTos = Number, |tos| [tos.0], |[bits]| EncapTos(bits);
}

field_values! {
    EncapTos: Unsigned(1), |it| it.0.to_ne_bytes(), |bytes| Self(u8::from_ne_bytes(bytes));
}

attribute_set! {
    /// IPv4 tunnel metadata.
    pub struct IpEncap {
        /// Tunnel id, e.g. the VNI of a VXLAN.
        "id" id: u64 as BigEndian = LWTUNNEL_IP_ID;
        /// Local address.
        "src" src: Ipv4Addr = LWTUNNEL_IP_SRC;
        /// Remote address.
        "dst" dst: Ipv4Addr = LWTUNNEL_IP_DST;
        /// Time to live.
        "ttl" ttl: u8 = LWTUNNEL_IP_TTL;
        /// The DS field.
        "tos" tos: EncapTos = LWTUNNEL_IP_TOS;
        /// Options of the tunnel header (`TUNNEL_*`).
        flags: u16 as BigEndian = LWTUNNEL_IP_FLAGS;
    }
}

attribute_set! {
    /// IPv6 tunnel metadata.
    pub struct Ip6Encap {
        /// Tunnel id.
        "id" id: u64 as BigEndian = LWTUNNEL_IP6_ID;
        /// Local address.
        "src" src: Ipv6Addr = LWTUNNEL_IP6_SRC;
        /// Remote address.
        "dst" dst: Ipv6Addr = LWTUNNEL_IP6_DST;
        /// Hop limit.
        "hoplimit" hoplimit: u8 = LWTUNNEL_IP6_HOPLIMIT;
        /// Traffic class.
        "tc" tc: u8 = LWTUNNEL_IP6_TC;
        /// Options of the tunnel header (`TUNNEL_*`).
        flags: u16 as BigEndian = LWTUNNEL_IP6_FLAGS;
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

    fn entries(number: u16) -> &'static [AttributeSpec] {
        match number {
            LWTUNNEL_ENCAP_MPLS => MplsEncap::specs(),
            LWTUNNEL_ENCAP_IP => IpEncap::specs(),
            LWTUNNEL_ENCAP_IP6 => Ip6Encap::specs(),
            LWTUNNEL_ENCAP_SEG6 => Seg6Encap::ENTRIES,
            _ => &[],
        }
    }

    /// Decodes the raw attributes. The kernel sends the type after them.
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

    /// Parses the arguments after `encap`.
    pub(crate) fn read_words(words: &mut Arguments<'_>) -> Parsed<Self> {
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
                return Err(InvalidValue::new("encap", Some(&kind)));
            }
        })
    }

    /// Formats it like `ip(8)`.
    pub(crate) fn line(&self, lookup: &mut dyn NameLookup) -> String {
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

fn read<T: AttributeSet>(bytes: &[u8]) -> Result<T, Malformed> {
    let mut table = T::default();
    for attribute in attributes(bytes, 0) {
        table.decode_attribute(attribute?)?;
    }
    Ok(table)
}

/// Parses fields of `table` until another keyword follows.
fn read_table<T: AttributeSet>(mut table: T, words: &mut Arguments<'_>) -> Parsed<T> {
    words.parse_while(|word, words| table.parse_keyword(word, words))?;
    Ok(table)
}

fn line<T: AttributeSet>(table: &T, lookup: &mut dyn NameLookup) -> String {
    let mut line = Line::default();
    table.format_fields(lookup, &mut |word, value| line.field(word, Some(value)));
    line.0
}

/// An encapsulation: its type in the attribute before `kind`, then its attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EncapCode;

impl AttributeCodec<Box<Encap>> for EncapCode {
    const TYPE: AttributeType = AttributeType::Dependent {
        choose: |around| Encap::entries(number_of(around)),
    };

    fn encode(value: &Box<Encap>, kind: u16, request: &mut Request) {
        request.attribute(kind - 1, &value.number().to_ne_bytes());
        let attributes = |request: &mut Request| match &**value {
            Encap::Mpls(it) => it.encode_attributes(request),
            Encap::Ip(it) => it.encode_attributes(request),
            Encap::Ip6(it) => it.encode_attributes(request),
            Encap::Seg6(it) => it.put(request),
            Encap::Other { bytes, .. } => request.raw(bytes),
        };
        request.nested(kind, &[], attributes);
    }

    /// Keeps the raw attributes; [`Encap::resolve`] decodes them.
    fn decode(attribute: Attribute<'_>) -> Result<Box<Encap>, Malformed> {
        Ok(Box::new(Encap::Other {
            kind: 0,
            bytes: attribute.bytes.to_vec(),
        }))
    }

    fn matches(value: &Box<Encap>, wanted: &Box<Encap>) -> bool {
        match (&**value, &**wanted) {
            (Encap::Mpls(value), Encap::Mpls(wanted)) => value.fields_match(wanted),
            (Encap::Ip(value), Encap::Ip(wanted)) => value.fields_match(wanted),
            (Encap::Ip6(value), Encap::Ip6(wanted)) => value.fields_match(wanted),
            (value, wanted) => value == wanted,
        }
    }
}

/// The type of the encapsulation among the attributes of a route or nexthop.
fn number_of(around: &[u8]) -> u16 {
    let found = |wanted: u16| {
        let mut attributes = attributes(around, 0).flatten();
        let number = attributes.find(|attribute| attribute.kind == wanted)?;
        number.array().map(u16::from_ne_bytes).ok()
    };
    let numbers = [crate::uapi::RTA_ENCAP_TYPE, crate::uapi::NHA_ENCAP_TYPE];
    numbers.into_iter().find_map(found).unwrap_or_default()
}

/// A stack of MPLS labels, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "NumberOrName")]
pub struct Labels(pub Vec<u32>);

/// Maximum number of labels (`MAX_NEW_LABELS`, net/mpls/internal.h, is 30).
const MAX_LABELS: usize = 30;
/// The last label of a stack has this bit.
const BOTTOM_OF_STACK: u32 = 1 << 8;

impl AttributeCodec<Labels> for Native {
    const TYPE: AttributeType = AttributeType::Bytes;

    fn encode(value: &Labels, kind: u16, request: &mut Request) {
        let labels = &value.0[..value.0.len().min(MAX_LABELS)];
        let last = labels.len().wrapping_sub(1);
        let mut bytes = [0; MAX_LABELS * 4];
        for (at, (label, place)) in labels.iter().zip(bytes.chunks_exact_mut(4)).enumerate() {
            let bottom = if at == last { BOTTOM_OF_STACK } else { 0 };
            place.copy_from_slice(&(label << 12 | bottom).to_be_bytes());
        }
        request.attribute(kind, &bytes[..labels.len() * 4]);
    }

    fn decode(attribute: Attribute<'_>) -> Result<Labels, Malformed> {
        let (labels, _) = attribute.bytes.as_chunks::<4>();
        let labels = labels.iter().map(|bytes| u32::from_be_bytes(*bytes) >> 12);
        Ok(Labels(labels.collect()))
    }
}

impl fmt::Display for Labels {
    /// `100/200`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.pad(&labels.join("/"))
    }
}

impl FromStr for Labels {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Parsed<Self> {
        let labels = text.split('/').map(|label| {
            let label: Option<u32> = label.parse().ok();
            label.filter(|label| *label < 1 << 20)
        });
        let labels: Option<Vec<_>> = labels.take(MAX_LABELS + 1).collect();
        labels
            .filter(|labels| labels.len() <= MAX_LABELS)
            .map(Self)
            .ok_or_else(|| InvalidValue::new("labels", Some(text)))
    }
}

text_form!(Labels);
from_number_or_name!(Labels);
text_field_values!(Labels);

/// A set with one field: the encapsulation, called like its type.
impl FieldValue for Encap {
    fn shape() -> Shape {
        Shape::Set(FieldSetShape {
            name: "Encap",
            doc: "The encapsulation of a route: one of the fields.",
            fields: || {
                vec![
                    FieldShape::of::<MplsEncap>("mpls", "A stack of MPLS labels."),
                    FieldShape::of::<IpEncap>("ip", "IPv4 tunnel metadata."),
                    FieldShape::of::<Ip6Encap>("ip6", "IPv6 tunnel metadata."),
                    FieldShape::of::<Seg6Encap>("seg6", "A segment routing header."),
                ]
            },
        })
    }

    /// Another encapsulation has no fields.
    fn put(&self, out: &mut FieldWriter<'_>) {
        match self {
            Self::Mpls(it) => out.field(const { field_id("mpls") }, it),
            Self::Ip(it) => out.field(const { field_id("ip") }, it),
            Self::Ip6(it) => out.field(const { field_id("ip6") }, it),
            Self::Seg6(it) => out.field(const { field_id("seg6") }, it),
            Self::Other { .. } => {}
        }
    }

    fn take(bytes: &[u8], reader: &mut FieldReader<'_>) -> Result<Self, InvalidField> {
        let mut encap = None;
        reader.each(bytes, |reader, id, value| {
            encap = Some(match id {
                id if id == const { field_id("mpls") } => {
                    Self::Mpls(FieldValue::take(value, reader)?)
                }
                id if id == const { field_id("ip") } => Self::Ip(FieldValue::take(value, reader)?),
                id if id == const { field_id("ip6") } => {
                    Self::Ip6(FieldValue::take(value, reader)?)
                }
                id if id == const { field_id("seg6") } => {
                    Self::Seg6(FieldValue::take(value, reader)?)
                }
                _ => return Err(InvalidField::new("an unknown encapsulation")),
            });
            Ok(())
        })?;
        encap.ok_or_else(|| InvalidField::new("no encapsulation is given"))
    }
}

impl FieldValue for Seg6Encap {
    fn shape() -> Shape {
        Shape::Set(FieldSetShape {
            name: "Seg6Encap",
            doc: "A segment routing header (RFC 8754).",
            fields: || {
                vec![
                    FieldShape::of::<Seg6Mode>("mode", "Where the header is inserted."),
                    FieldShape::of::<Vec<Ipv6Addr>>(
                        "segs",
                        "The segments, in the order of travel.",
                    ),
                ]
            },
        })
    }

    fn put(&self, out: &mut FieldWriter<'_>) {
        out.field(const { field_id("mode") }, &self.mode);
        out.field(const { field_id("segs") }, &self.segs);
    }

    fn take(bytes: &[u8], reader: &mut FieldReader<'_>) -> Result<Self, InvalidField> {
        let mut encap = Self::new(Seg6Mode::Encap, Vec::new());
        reader.each(bytes, |reader, id, value| {
            if id == const { field_id("mode") } {
                encap.mode = FieldValue::take(value, reader)?;
            } else if id == const { field_id("segs") } {
                encap.segs = FieldValue::take(value, reader)?;
            } else {
                return Err(InvalidField::new(
                    "an unknown field of a segment routing header",
                ));
            }
            Ok(())
        })?;
        Ok(encap)
    }
}

/// Maximum number of segments: the length field has 8 bits and counts 2 per segment.
const MAX_SEGMENTS: usize = 126;
/// Length of the mode and the segment routing header without segments.
const FIXED_BYTES: usize = 12;
/// Routing type of a segment routing header (RFC 8754, section 2).
const ROUTING_TYPE: u8 = 4;

/// A segment routing header (RFC 8754).
///
/// Equals `ip -6 route add … encap seg6 mode MODE segs SEGMENT,…`.
///
/// # Source
/// `struct seg6_iptunnel_encap`, include/uapi/linux/seg6\_iptunnel.h; `seg6_validate_srh`, net/ipv6/seg6.c.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Seg6Encap {
    /// Where the header is inserted.
    pub mode: Seg6Mode,
    /// The segments, in the order of travel.
    pub segs: Vec<Ipv6Addr>,
}

number_enum! {
    /// Where a segment routing header is inserted.
    pub enum Seg6Mode: u32 {
        /// Into the packet.
        Inline = SEG6_IPTUN_MODE_INLINE, "inline";
        /// Into an IPv6 header around the packet.
        Encap = SEG6_IPTUN_MODE_ENCAP, "encap";
        /// Into an IPv6 header around the frame.
        L2encap = SEG6_IPTUN_MODE_L2ENCAP, "l2encap";
        /// Like `Encap`, without the first segment.
        EncapRed = SEG6_IPTUN_MODE_ENCAP_RED, "encap.red";
        /// Like `L2encap`, without the first segment.
        L2encapRed = SEG6_IPTUN_MODE_L2ENCAP_RED, "l2encap.red";
    }
}

impl Seg6Encap {
    pub(super) const ENTRIES: &'static [AttributeSpec] = specs! {
        SEG6_IPTUNNEL_SRH: AttributeType::Bytes,
    };

    /// A header with `segs`, in the order of travel.
    pub fn new(mode: Seg6Mode, segs: Vec<Ipv6Addr>) -> Self {
        Self { mode, segs }
    }

    /// The header lists the segments in reverse. Inline mode reserves one entry for the destination of the packet.
    pub(super) fn put(&self, request: &mut Request) {
        let segments = &self.segs[..self.segs.len().min(MAX_SEGMENTS)];
        let own = usize::from(self.mode == Seg6Mode::Inline);
        let count = segments.len() + own;
        let last = count.saturating_sub(1) as u8;
        let mut bytes = Vec::with_capacity(FIXED_BYTES + 16 * count);
        bytes.extend(u32::from(self.mode).to_ne_bytes());
        bytes.extend([0, 2 * count as u8, ROUTING_TYPE, last, last, 0, 0, 0]);
        bytes.extend(std::iter::repeat_n([0; 16], own).flatten());
        bytes.extend(segments.iter().rev().flat_map(Ipv6Addr::octets));
        request.attribute(SEG6_IPTUNNEL_SRH, &bytes);
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut header: &[u8] = &[];
        for attribute in attributes(bytes, 0) {
            let attribute = attribute?;
            if attribute.kind == SEG6_IPTUNNEL_SRH {
                header = attribute.bytes;
            }
        }
        let (fixed, segments) = split::<FIXED_BYTES>("segment routing header", 0, header)?;
        let [m0, m1, m2, m3, ..] = *fixed;
        let mode = u32::from_ne_bytes([m0, m1, m2, m3]).into();
        let own = usize::from(mode == Seg6Mode::Inline);
        let (segments, _) = segments.as_chunks::<16>();
        let segs = segments.iter().skip(own).rev().copied();
        Ok(Self {
            mode,
            segs: segs.map(Ipv6Addr::from).collect(),
        })
    }

    pub(super) fn read_words(words: &mut Arguments<'_>) -> Parsed<Self> {
        let mut encap = Self::new(Seg6Mode::Encap, Vec::new());
        words.parse_while(|word, words| {
            match word {
                "mode" => encap.mode = words.value(word)?,
                "segs" => encap.segs = read_segments(words)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(encap)
    }
}

fn read_segments(words: &mut Arguments<'_>) -> Parsed<Vec<Ipv6Addr>> {
    let text: String = words.value("segs")?;
    let segments: Result<Vec<_>, _> = text.split(',').map(str::parse).collect();
    match segments {
        Ok(segments) if segments.len() <= MAX_SEGMENTS => Ok(segments),
        _ => Err(InvalidValue::new("segs", Some(&text))),
    }
}

impl fmt::Display for Seg6Encap {
    /// Formats it like `ip(8)`; inline mode shows the entry for the destination of the packet.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = (self.mode == Seg6Mode::Inline).then_some(&Ipv6Addr::UNSPECIFIED);
        let count = self.segs.len() + usize::from(own.is_some());
        write!(f, " mode {} segs {count} [", self.mode)?;
        for segment in self.segs.iter().chain(own) {
            write!(f, " {segment}")?;
        }
        f.write_str(" ]")
    }
}
