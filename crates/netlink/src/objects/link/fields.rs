//! Values of link attributes: flags, hardware addresses, statistics.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use crate::codec::{Attribute, Malformed, Request};
use crate::schema::{
    AttributeCodec, AttributeSpec, AttributeType, FieldReader, FieldSet, FieldShape, FieldValue,
    FieldWriter, InvalidField, InvalidValue, Native, Nested, Parsed, Shape, attribute_set,
    field_id, field_set_value, field_values, number_enum, specs, text_form,
};
use crate::uapi::{
    IFF_LOOPBACK, IFF_LOWER_UP, IFF_NOARP, IFF_PROMISC, IFF_RUNNING, IFF_UP, IFLA_ALT_IFNAME,
};
use crate::values::interface::MacAddress;

/// Flags of a link (`IFF_*`).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct LinkFlags(pub u32);

impl LinkFlags {
    /// It is administratively up.
    #[doc(alias = "IFF_UP")]
    pub fn is_up(self) -> bool {
        self.0 & IFF_UP != 0
    }

    /// It is up and operational.
    #[doc(alias = "IFF_RUNNING")]
    pub fn is_running(self) -> bool {
        self.0 & IFF_RUNNING != 0
    }

    /// It has a carrier.
    #[doc(alias = "IFF_LOWER_UP")]
    pub fn has_carrier(self) -> bool {
        self.0 & IFF_LOWER_UP != 0
    }

    /// It is a loopback.
    #[doc(alias = "IFF_LOOPBACK")]
    pub fn is_loopback(self) -> bool {
        self.0 & IFF_LOOPBACK != 0
    }

    /// An administrator made it promiscuous. Captures are counted in
    /// [`Link::promiscuity`](crate::Link::promiscuity).
    #[doc(alias = "IFF_PROMISC")]
    pub fn is_promiscuous(self) -> bool {
        self.0 & IFF_PROMISC != 0
    }

    /// It resolves no neighbours.
    #[doc(alias = "IFF_NOARP")]
    pub fn is_without_arp(self) -> bool {
        self.0 & IFF_NOARP != 0
    }
}

number_enum! {
    /// Operational state of a link (RFC 2863).
    pub enum OperState: u8 {
        /// The driver does not report it; usual for loopbacks.
        Unknown = 0, "UNKNOWN";
        /// A component is missing.
        NotPresent = 1, "NOTPRESENT";
        /// It cannot carry packets.
        Down = 2, "DOWN";
        /// The lower link is down.
        LowerLayerDown = 3, "LOWERLAYERDOWN";
        /// It is under test.
        Testing = 4, "TESTING";
        /// It waits for an external event, such as authentication.
        Dormant = 5, "DORMANT";
        /// It can carry packets.
        Up = 6, "UP";
    }
}

/// Maximum length of a hardware address (`MAX_ADDR_LEN`, include/linux/netdevice.h).
const MAX_BYTES: usize = 32;

/// Hardware address of any type of link: 6 bytes for Ethernet, 20 for InfiniBand, an IP address for a tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct HardwareAddress {
    length: u8,
    /// The first `length` bytes are the address; the others are 0.
    bytes: [u8; MAX_BYTES],
}

impl HardwareAddress {
    /// The address with these bytes; at most 32 are used.
    pub fn new(bytes: &[u8]) -> Self {
        let bytes = &bytes[..bytes.len().min(MAX_BYTES)];
        let mut held = [0; MAX_BYTES];
        held[..bytes.len()].copy_from_slice(bytes);
        Self {
            length: bytes.len() as u8,
            bytes: held,
        }
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// The Ethernet address, if it has 6 bytes.
    pub fn ethernet(&self) -> Option<MacAddress> {
        self.as_bytes().try_into().ok().map(MacAddress)
    }
}

impl From<MacAddress> for HardwareAddress {
    fn from(mac: MacAddress) -> Self {
        Self::new(&mac.0)
    }
}

impl fmt::Display for HardwareAddress {
    /// Hexadecimal bytes; 4 bytes are formatted as an IPv4 address, as in `ip(8)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Ok(ip) = <[u8; 4]>::try_from(self.as_bytes()) {
            return Ipv4Addr::from(ip).fmt(f);
        }
        for (at, byte) in self.as_bytes().iter().enumerate() {
            let colon = if at == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for HardwareAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for HardwareAddress {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Parsed<Self> {
        if let Ok(ip) = text.parse::<Ipv4Addr>() {
            return Ok(Self::new(&ip.octets()));
        }
        let bytes: Option<Vec<u8>> = text
            .split(':')
            .map(|byte| (byte.len() <= 2).then(|| u8::from_str_radix(byte, 16).ok())?)
            .collect();
        match bytes {
            Some(bytes) if bytes.len() <= MAX_BYTES => Ok(Self::new(&bytes)),
            _ => Err(InvalidValue::new("hardware address", Some(text))),
        }
    }
}

text_form!(HardwareAddress);

impl FieldValue for HardwareAddress {
    fn shape() -> Shape {
        Shape::HardwareAddress
    }

    fn put(&self, out: &mut FieldWriter<'_>) {
        out.raw(self.as_bytes());
    }

    fn take(bytes: &[u8], _: &mut FieldReader<'_>) -> Result<Self, InvalidField> {
        if bytes.len() > MAX_BYTES {
            return Err(InvalidField::new("the hardware address is too long"));
        }
        Ok(Self::new(bytes))
    }
}

field_values! {
    LinkFlags: Unsigned(4), |flags| flags.0.to_ne_bytes(), |bytes| Self(u32::from_ne_bytes(bytes));
}

impl AttributeCodec<HardwareAddress> for Native {
    const TYPE: AttributeType = AttributeType::Mac;

    fn encode(value: &HardwareAddress, kind: u16, request: &mut Request) {
        request.attribute(kind, value.as_bytes());
    }

    fn decode(attribute: Attribute<'_>) -> Result<HardwareAddress, Malformed> {
        Ok(HardwareAddress::new(attribute.bytes))
    }
}

attribute_set! {
    /// Settings of protocol families for a link.
    pub struct AfSpec {
        /// IPv6.
        inet6: Inet6Spec as Nested = AF_INET6_SPEC, Flatten;
    }
}

attribute_set! {
    /// IPv6 settings of a link.
    ///
    /// # Source
    /// `inet6_af_policy`, net/ipv6/addrconf.c.
    pub struct Inet6Spec {
        /// How it generates its addresses.
        "addrgenmode" inet6_addr_gen_mode: AddrGenMode = IFLA_INET6_ADDR_GEN_MODE;
    }
}

number_enum! {
    /// How a link generates its IPv6 addresses.
    pub enum AddrGenMode: u8 {
        /// From its hardware address (EUI-64).
        Eui64 = 0, "eui64";
        /// It generates none.
        None = 1, "none";
        /// From a configured secret; stable for each network (RFC 7217).
        StableSecret = 2, "stable_secret";
        /// Like `StableSecret`, with a random secret.
        Random = 3, "random";
    }
}

/// Alternative names of a link, one attribute each.
#[derive(Clone, Copy, Debug)]
pub struct AlternativeNames;

const ENTRIES: &[AttributeSpec] = specs! {
    IFLA_ALT_IFNAME: AttributeType::Text,
};

impl AttributeCodec<Vec<String>> for AlternativeNames {
    const TYPE: AttributeType = AttributeType::Nest {
        skip: 0,
        attributes: || ENTRIES,
    };

    fn encode(value: &Vec<String>, kind: u16, request: &mut Request) {
        request.nested(kind, &[], |request| {
            for name in value {
                request.text(IFLA_ALT_IFNAME, name.as_bytes());
            }
        });
    }

    fn decode(attribute: Attribute<'_>) -> Result<Vec<String>, Malformed> {
        let names = attribute.attributes().filter(|name| {
            name.as_ref()
                .map_or(true, |name| name.kind == IFLA_ALT_IFNAME)
        });
        names.map(|name| Ok(name?.text())).collect()
    }

    fn matches(value: &Vec<String>, wanted: &Vec<String>) -> bool {
        wanted.iter().all(|name| value.contains(name))
    }
}

/// Declares the counters in the order of `struct rtnl_link_stats64`, with their decoder.
macro_rules! counters {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// 64-bit counters of a link since its creation. Drivers support a subset.
        ///
        ///
        /// # Source
        /// `struct rtnl_link_stats64`, `include/uapi/linux/if_link.h`;
        /// Documentation/networking/statistics.rst.
        #[doc(alias = "rtnl_link_stats64")]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        #[non_exhaustive]
        pub struct LinkStatistics {
            $($(#[doc = $doc])* pub $name: u64,)*
            /// Packets dropped because of another host's destination IP address; `None` before Linux 5.19.
            pub rx_otherhost_dropped: Option<u64>,
        }

        const COUNTERS: usize = [$(stringify!($name)),*].len();

        impl FieldSet for LinkStatistics {
            const NAME: &'static str = "LinkStatistics";
            const DOC: &'static str = "64-bit counters of a link since its creation. Read-only.";

            fn fields() -> Vec<FieldShape> {
                vec![
                    $(FieldShape::of::<u64>(stringify!($name), concat!($($doc, "\n"),*)),)*
                    FieldShape::of::<u64>("rx_otherhost_dropped", OTHERHOST_DOC),
                ]
            }

            fn put_fields(&self, out: &mut FieldWriter<'_>) {
                $(out.field(const { field_id(stringify!($name)) }, &self.$name);)*
                if let Some(dropped) = &self.rx_otherhost_dropped {
                    out.field(const { field_id("rx_otherhost_dropped") }, dropped);
                }
            }

            fn take_field(
                &mut self,
                id: u32,
                bytes: &[u8],
                reader: &mut FieldReader<'_>,
            ) -> Result<bool, InvalidField> {
                $(if id == const { field_id(stringify!($name)) } {
                    self.$name = FieldValue::take(bytes, reader)?;
                    return Ok(true);
                })*
                if id == const { field_id("rx_otherhost_dropped") } {
                    self.rx_otherhost_dropped = Some(FieldValue::take(bytes, reader)?);
                    return Ok(true);
                }
                Ok(false)
            }
        }

        impl LinkStatistics {
            /// Decodes `IFLA_STATS64`; ignores counters of newer kernels.
            pub(super) fn parse(attribute: Attribute<'_>) -> Result<Self, Malformed> {
                attribute.array::<{ COUNTERS * 8 }>()?;
                let mut words = attribute.bytes.as_chunks().0.iter().copied().map(u64::from_ne_bytes);
                Ok(Self {
                    $($name: words.next().unwrap_or_default(),)*
                    rx_otherhost_dropped: words.next(),
                })
            }
        }
    };
}

const OTHERHOST_DOC: &str =
    "Packets dropped because of another host's destination IP address. Since Linux 5.19.";

field_set_value!(LinkStatistics);

counters! {
    /// Packets received.
    rx_packets,
    /// Packets transmitted.
    tx_packets,
    /// Bytes received, in good packets.
    rx_bytes,
    /// Bytes transmitted, in good packets.
    tx_bytes,
    /// Bad packets received.
    rx_errors,
    /// Packets that could not be transmitted.
    tx_errors,
    /// Packets received and dropped by the host: no buffer or no protocol.
    rx_dropped,
    /// Packets dropped on transmit.
    tx_dropped,
    /// Multicast packets received.
    multicast,
    /// Collisions.
    collisions,
    /// Packets of a bad length received.
    rx_length_errors,
    /// Overflows of the receiver.
    rx_over_errors,
    /// Packets with a bad CRC received.
    rx_crc_errors,
    /// Packets with a bad frame alignment received.
    rx_frame_errors,
    /// Overflows of the receive FIFO.
    rx_fifo_errors,
    /// Packets the device dropped because the host had no buffer for them.
    rx_missed_errors,
    /// Transmissions aborted.
    tx_aborted_errors,
    /// Transmissions without carrier.
    tx_carrier_errors,
    /// Underflows of the transmit FIFO.
    tx_fifo_errors,
    /// Heartbeat errors of half-duplex Ethernet.
    tx_heartbeat_errors,
    /// Late collisions.
    tx_window_errors,
    /// Compressed packets received.
    rx_compressed,
    /// Compressed packets transmitted.
    tx_compressed,
    /// Packets received on an inactive link of a bond and dropped.
    rx_nohandler,
}

impl AttributeCodec<LinkStatistics> for Native {
    const TYPE: AttributeType = AttributeType::Bytes;

    /// Counters are read-only.
    fn encode(_: &LinkStatistics, _: u16, _: &mut Request) {}

    fn decode(attribute: Attribute<'_>) -> Result<LinkStatistics, Malformed> {
        LinkStatistics::parse(attribute)
    }
}
