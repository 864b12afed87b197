use std::fmt;

/// The link-layer header type of packets (`LINKTYPE_…`, `DLT_…`).
///
/// # Source
/// <https://www.tcpdump.org/linktypes.html>
#[doc(alias = "DLT")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkType {
    /// Ethernet (`DLT_EN10MB`).
    Ethernet,
    /// An IPv4 or IPv6 packet (`DLT_RAW`).
    Raw,
    /// An IPv4 packet (`DLT_IPV4`).
    Ipv4,
    /// An IPv6 packet (`DLT_IPV6`).
    Ipv6,
    /// BSD loopback: a protocol family in the byte order of the host that captured (`DLT_NULL`).
    Null,
    /// OpenBSD loopback: a protocol family in network byte order (`DLT_LOOP`).
    Loop,
    /// Linux cooked capture (`DLT_LINUX_SLL`).
    LinuxSll,
    /// Linux cooked capture, version 2 (`DLT_LINUX_SLL2`).
    LinuxSll2,
    /// 802.11 frames (`DLT_IEEE802_11`).
    Wlan,
    /// 802.11 frames after a radiotap header (`DLT_IEEE802_11_RADIO`).
    Radiotap,
    /// 802.11 frames after a PPI header (`DLT_PPI`).
    Ppi,
    /// PPP with address and control bytes (`DLT_PPP`).
    Ppp,
    /// Cisco HDLC (`DLT_C_HDLC`).
    CiscoHdlc,
    /// Serial line IP with a direction byte (`DLT_SLIP`).
    Slip,
    /// ARCnet as Linux gives it (`DLT_ARCNET_LINUX`).
    ArcnetLinux,
    /// BACnet MS/TP (`DLT_BACNET_MS_TP`).
    BacnetMsTp,
    /// SS7 MTP level 2 (`DLT_MTP2`).
    Mtp2,
    /// Ethernet with a Broadcom switch tag (`DLT_DSA_TAG_BRCM`).
    DsaBroadcom,
    /// Ethernet with a Marvell switch tag (`DLT_DSA_TAG_DSA`).
    DsaMarvell,
}

const TABLE: [(LinkType, u32, &str); 19] = [
    (LinkType::Ethernet, 1, "EN10MB"),
    (LinkType::Raw, 101, "RAW"),
    (LinkType::Ipv4, 228, "IPV4"),
    (LinkType::Ipv6, 229, "IPV6"),
    (LinkType::Null, 0, "NULL"),
    (LinkType::Loop, 108, "LOOP"),
    (LinkType::LinuxSll, 113, "LINUX_SLL"),
    (LinkType::LinuxSll2, 276, "LINUX_SLL2"),
    (LinkType::Wlan, 105, "IEEE802_11"),
    (LinkType::Radiotap, 127, "IEEE802_11_RADIO"),
    (LinkType::Ppi, 192, "PPI"),
    (LinkType::Ppp, 9, "PPP"),
    (LinkType::CiscoHdlc, 104, "C_HDLC"),
    (LinkType::Slip, 8, "SLIP"),
    (LinkType::ArcnetLinux, 129, "ARCNET_LINUX"),
    (LinkType::BacnetMsTp, 165, "BACNET_MS_TP"),
    (LinkType::Mtp2, 140, "MTP2"),
    (LinkType::DsaBroadcom, 281, "DSA_TAG_BRCM"),
    (LinkType::DsaMarvell, 284, "DSA_TAG_DSA"),
];

impl LinkType {
    /// The type with this number in capture files (`LINKTYPE_…`); `None` if filters do not support
    /// it.
    pub fn from_number(number: u32) -> Option<Self> {
        let row = TABLE.iter().find(|(_, candidate, _)| *candidate == number);
        row.map(|&(link, ..)| link)
    }

    /// The type with this name in tcpdump's `-y` option, case-insensitive.
    pub fn from_name(name: &str) -> Option<Self> {
        let row = TABLE.iter().find(|row| row.2.eq_ignore_ascii_case(name));
        row.map(|&(link, ..)| link)
    }

    /// The number in capture files (`LINKTYPE_…`).
    pub fn number(self) -> u32 {
        self.row().1
    }

    /// The name in tcpdump's `-y` option.
    pub fn name(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> &'static (Self, u32, &'static str) {
        let row = TABLE.iter().find(|(link, ..)| *link == self);
        // Every variant has a row; a test checks that.
        row.unwrap_or(&TABLE[0])
    }

    /// Whether the frames are 802.11.
    pub(crate) fn is_wlan(self) -> bool {
        matches!(self, Self::Wlan | Self::Radiotap | Self::Ppi)
    }

    /// Whether the frames have the layout of Ethernet frames.
    pub(crate) fn is_ethernet(self) -> bool {
        matches!(self, Self::Ethernet | Self::DsaBroadcom | Self::DsaMarvell)
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
