//! Link types (`LINKTYPE_*`).

use std::fmt;

use crate::link_type_names::NAMES;

/// The link-layer header type of packets (`LINKTYPE_…`, `DLT_…`).
///
/// # Source
/// <https://www.tcpdump.org/linktypes.html>
#[doc(alias = "DLT")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkType {
    /// BSD loopback: a protocol family in the byte order of the host that captured (`DLT_NULL`).
    Null,
    /// Ethernet (`DLT_EN10MB`).
    Ethernet,
    /// Token Ring (`DLT_IEEE802`).
    TokenRing,
    /// ARCnet as the BSDs give it (`DLT_ARCNET`).
    Arcnet,
    /// Serial line IP with a direction byte (`DLT_SLIP`).
    Slip,
    /// PPP with address and control bytes (`DLT_PPP`).
    Ppp,
    /// FDDI (`DLT_FDDI`).
    Fddi,
    /// PPP in HDLC-like framing, or Cisco HDLC (`DLT_PPP_SERIAL`).
    PppSerial,
    /// PPPoE sessions without the Ethernet header (`DLT_PPP_ETHER`).
    PppEther,
    /// Symantec Enterprise Firewall (`DLT_SYMANTEC_FIREWALL`).
    SymantecFirewall,
    /// ATM with LLC encapsulation (`DLT_ATM_RFC1483`).
    AtmRfc1483,
    /// An IPv4 or IPv6 packet (`DLT_RAW`).
    Raw,
    /// Serial line IP of BSD/OS (`DLT_SLIP_BSDOS`).
    SlipBsdos,
    /// PPP of BSD/OS (`DLT_PPP_BSDOS`).
    PppBsdos,
    /// Cisco HDLC (`DLT_C_HDLC`).
    CiscoHdlc,
    /// 802.11 frames (`DLT_IEEE802_11`).
    Wlan,
    /// Linux classical IP over ATM (`DLT_ATM_CLIP`).
    AtmClip,
    /// Frame Relay with two address bytes (`DLT_FRELAY`).
    FrameRelay,
    /// OpenBSD loopback: a protocol family in network byte order (`DLT_LOOP`).
    Loop,
    /// OpenBSD IPsec: a protocol family in the byte order of the host that captured (`DLT_ENC`).
    Enc,
    /// Linux cooked capture (`DLT_LINUX_SLL`).
    LinuxSll,
    /// Apple LocalTalk (`DLT_LTALK`).
    LocalTalk,
    /// Log of the packet filter of OpenBSD (`DLT_PFLOG`).
    Pflog,
    /// 802.11 frames after a Prism or AVS header (`DLT_PRISM_HEADER`).
    Prism,
    /// IP over Fibre Channel (`DLT_IP_OVER_FC`).
    IpOverFc,
    /// ATM with the pseudo-header of SunATM (`DLT_SUNATM`).
    SunAtm,
    /// 802.11 frames after a radiotap header (`DLT_IEEE802_11_RADIO`).
    Radiotap,
    /// ARCnet as Linux gives it (`DLT_ARCNET_LINUX`).
    ArcnetLinux,
    /// IP over IEEE 1394 (`DLT_APPLE_IP_OVER_IEEE1394`).
    AppleIpOver1394,
    /// SS7 MTP level 2 after a pseudo-header (`DLT_MTP2_WITH_PHDR`).
    Mtp2WithHeader,
    /// SS7 MTP level 2 (`DLT_MTP2`).
    Mtp2,
    /// 802.11 frames after an AVS header (`DLT_IEEE802_11_RADIO_AVS`).
    Avs,
    /// BACnet MS/TP (`DLT_BACNET_MS_TP`).
    BacnetMsTp,
    /// PPP with a direction byte in place of the address (`DLT_PPP_PPPD`).
    PppPppd,
    /// 802.11 frames after a PPI header (`DLT_PPI`).
    Ppi,
    /// Endace ERF records; only their SS7 fields are known (`DLT_ERF`).
    Erf,
    /// Solaris ipnet (`DLT_IPNET`).
    Ipnet,
    /// An IPv4 packet (`DLT_IPV4`).
    Ipv4,
    /// An IPv6 packet (`DLT_IPV6`).
    Ipv6,
    /// Ethernet after a header of Hilscher netANALYZER (`DLT_NETANALYZER`).
    Netanalyzer,
    /// The same, with preamble (`DLT_NETANALYZER_TRANSPARENT`).
    NetanalyzerTransparent,
    /// Linux cooked capture, version 2 (`DLT_LINUX_SLL2`).
    LinuxSll2,
    /// Ethernet with a Broadcom switch tag (`DLT_DSA_TAG_BRCM`).
    DsaBroadcom,
    /// Ethernet with a Marvell switch tag (`DLT_DSA_TAG_DSA`).
    DsaMarvell,
    /// Captures of Juniper routers (`DLT_JUNIPER_…`), by number.
    Juniper(u16),
    /// Any other type, by number. Filters can test the length and single bytes: `len`, `less`, `greater`, `link[…]`.
    Other(u16),
}

/// The types with a variant of their own, and their numbers.
const TABLE: [(LinkType, u16); 44] = [
    (LinkType::Null, 0),
    (LinkType::Ethernet, 1),
    (LinkType::TokenRing, 6),
    (LinkType::Arcnet, 7),
    (LinkType::Slip, 8),
    (LinkType::Ppp, 9),
    (LinkType::Fddi, 10),
    (LinkType::PppSerial, 50),
    (LinkType::PppEther, 51),
    (LinkType::SymantecFirewall, 99),
    (LinkType::AtmRfc1483, 100),
    (LinkType::Raw, 101),
    (LinkType::SlipBsdos, 102),
    (LinkType::PppBsdos, 103),
    (LinkType::CiscoHdlc, 104),
    (LinkType::Wlan, 105),
    (LinkType::AtmClip, 106),
    (LinkType::FrameRelay, 107),
    (LinkType::Loop, 108),
    (LinkType::Enc, 109),
    (LinkType::LinuxSll, 113),
    (LinkType::LocalTalk, 114),
    (LinkType::Pflog, 117),
    (LinkType::Prism, 119),
    (LinkType::IpOverFc, 122),
    (LinkType::SunAtm, 123),
    (LinkType::Radiotap, 127),
    (LinkType::ArcnetLinux, 129),
    (LinkType::AppleIpOver1394, 138),
    (LinkType::Mtp2WithHeader, 139),
    (LinkType::Mtp2, 140),
    (LinkType::Avs, 163),
    (LinkType::BacnetMsTp, 165),
    (LinkType::PppPppd, 166),
    (LinkType::Ppi, 192),
    (LinkType::Erf, 197),
    (LinkType::Ipnet, 226),
    (LinkType::Ipv4, 228),
    (LinkType::Ipv6, 229),
    (LinkType::Netanalyzer, 240),
    (LinkType::NetanalyzerTransparent, 241),
    (LinkType::LinuxSll2, 276),
    (LinkType::DsaBroadcom, 281),
    (LinkType::DsaMarvell, 284),
];

/// `LINKTYPE_JUNIPER_…`, except the one whose packets do not have Juniper's magic number.
const JUNIPER: [u16; 22] = [
    130, 131, 132, 133, 134, 135, 136, 137, 164, 167, 168, 178, 179, 180, 181, 183, 194, 200, 232,
    233, 234, 238,
];

const NETBSD_HDLC: u16 = 112;

impl LinkType {
    /// The type with this number in capture files (`LINKTYPE_…`). 112, which NetBSD once used, is also Cisco HDLC.
    pub fn from_number(number: u16) -> Self {
        let number = if number == NETBSD_HDLC { 104 } else { number };
        let row = TABLE.iter().find(|row| row.1 == number);
        match row {
            Some(&(link, _)) => link,
            None if JUNIPER.contains(&number) => Self::Juniper(number),
            None => Self::Other(number),
        }
    }

    /// The type with this name in tcpdump's `-y` option, case-insensitive.
    pub fn from_name(name: &str) -> Option<Self> {
        let row = NAMES.iter().find(|row| row.1.eq_ignore_ascii_case(name));
        row.map(|row| Self::from_number(row.0))
    }

    /// The number in capture files (`LINKTYPE_…`).
    pub fn number(self) -> u16 {
        match self {
            Self::Juniper(number) | Self::Other(number) => number,
            named => {
                let row = TABLE.iter().find(|(link, _)| *link == named);
                // Every variant has a row; a test checks that.
                row.map_or(0, |row| row.1)
            }
        }
    }

    /// The name in tcpdump's `-y` option; `None` if the type has none.
    pub fn name(self) -> Option<&'static str> {
        let number = self.number();
        let row = NAMES.binary_search_by_key(&number, |row| row.0).ok();
        row.map(|at| NAMES[at].1)
    }

    /// Whether the frames are 802.11.
    pub(crate) fn is_wlan(self) -> bool {
        matches!(
            self,
            Self::Wlan | Self::Radiotap | Self::Ppi | Self::Prism | Self::Avs
        )
    }

    /// Whether the frames have the layout of Ethernet frames.
    pub(crate) fn is_ethernet(self) -> bool {
        matches!(
            self,
            Self::Ethernet
                | Self::DsaBroadcom
                | Self::DsaMarvell
                | Self::Netanalyzer
                | Self::NetanalyzerTransparent
        )
    }

    /// Whether offsets of headers have to be computed before the first term.
    pub(crate) fn has_variable_headers(self) -> bool {
        self.is_wlan() || self == Self::Pflog
    }
}

/// The name, or the number of a type without a name.
impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => self.number().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_unique_and_lead_back() {
        assert!(NAMES.is_sorted_by(|one, next| one.0 < next.0));
        for number in 0..=u16::MAX {
            let link = LinkType::from_number(number);
            if number == NETBSD_HDLC {
                assert_eq!(link, LinkType::CiscoHdlc);
                continue;
            }
            assert_eq!(link.number(), number);
            if let Some(name) = link.name() {
                assert_eq!(LinkType::from_name(&name.to_lowercase()), Some(link));
            }
        }
        // A variant without a row would have the number of another one.
        for (link, number) in TABLE {
            assert_eq!(
                (LinkType::from_number(number), link.number()),
                (link, number)
            );
        }
        assert_eq!(LinkType::from_name("EN10MB"), Some(LinkType::Ethernet));
        assert_eq!(LinkType::Other(9999).to_string(), "9999");
    }
}
