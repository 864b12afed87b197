//! Ancillary data of classic BPF: metadata at negative offsets.

/// Packet metadata, for loads at [`Ancillary::BASE`].
///
/// The default is a packet from a file, without metadata. A VLAN tag is then in the bytes: "tag
/// present" is 0, and a program for a live interface looks for the tag there. A load of any other
/// unknown value rejects the packet, like a load outside of the packet.
///
/// # Source
/// `SKF_AD_OFF`, include/uapi/linux/filter.h; `pcap_bpf_aux_data`, libpcap `pcap-int.h`.
#[doc(alias = "SKF_AD_OFF")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ancillary {
    /// `PACKET_HOST` (0), `PACKET_BROADCAST` (1), `PACKET_MULTICAST` (2), `PACKET_OTHERHOST` (3) or
    /// `PACKET_OUTGOING` (4).
    pub packet_type: Option<u8>,
    /// Index of the interface.
    pub interface_index: Option<u32>,
    /// Index of the receive queue.
    pub queue: Option<u32>,
    /// Tag control information of a VLAN tag that the kernel removed from the bytes.
    pub vlan_tag: Option<u16>,
}

impl Ancillary {
    /// Offset of the first ancillary value (`SKF_AD_OFF`, -4096).
    pub const BASE: u32 = libc::SKF_AD_OFF.cast_unsigned();
    pub(super) const PROTOCOL: u32 = Self::offset(libc::SKF_AD_PROTOCOL);
    pub(crate) const PACKET_TYPE: u32 = Self::offset(libc::SKF_AD_PKTTYPE);
    pub(crate) const INTERFACE_INDEX: u32 = Self::offset(libc::SKF_AD_IFINDEX);
    pub(super) const NETLINK_ATTRIBUTE: u32 = Self::offset(libc::SKF_AD_NLATTR);
    pub(super) const NESTED_ATTRIBUTE: u32 = Self::offset(libc::SKF_AD_NLATTR_NEST);
    pub(super) const MARK: u32 = Self::offset(libc::SKF_AD_MARK);
    pub(crate) const QUEUE: u32 = Self::offset(libc::SKF_AD_QUEUE);
    pub(super) const HARDWARE_TYPE: u32 = Self::offset(libc::SKF_AD_HATYPE);
    pub(super) const RECEIVE_HASH: u32 = Self::offset(libc::SKF_AD_RXHASH);
    pub(super) const CPU: u32 = Self::offset(libc::SKF_AD_CPU);
    pub(crate) const XOR_X: u32 = Self::offset(libc::SKF_AD_ALU_XOR_X);
    pub(crate) const VLAN_TAG: u32 = Self::offset(libc::SKF_AD_VLAN_TAG);
    pub(crate) const VLAN_TAG_PRESENT: u32 = Self::offset(libc::SKF_AD_VLAN_TAG_PRESENT);
    pub(super) const PAYLOAD_OFFSET: u32 = Self::offset(libc::SKF_AD_PAY_OFFSET);
    pub(super) const RANDOM: u32 = Self::offset(libc::SKF_AD_RANDOM);
    pub(super) const VLAN_TPID: u32 = Self::offset(libc::SKF_AD_VLAN_TPID);

    const fn offset(value: i32) -> u32 {
        Self::BASE + value.cast_unsigned()
    }

    /// Whether the kernel has an ancillary value at offset `k`.
    pub(super) const fn exists(k: u32) -> bool {
        matches!(
            k,
            Self::PROTOCOL
                | Self::PACKET_TYPE
                | Self::INTERFACE_INDEX
                | Self::NETLINK_ATTRIBUTE
                | Self::NESTED_ATTRIBUTE
                | Self::MARK
                | Self::QUEUE
                | Self::HARDWARE_TYPE
                | Self::RECEIVE_HASH
                | Self::CPU
                | Self::XOR_X
                | Self::VLAN_TAG
                | Self::VLAN_TAG_PRESENT
                | Self::PAYLOAD_OFFSET
                | Self::RANDOM
                | Self::VLAN_TPID
        )
    }

    /// The name of the ancillary value at offset `k`, as in tcpdump.
    pub(super) const fn name(k: u32) -> Option<&'static str> {
        Some(match k {
            Self::PROTOCOL => "proto",
            Self::PACKET_TYPE => "type",
            Self::INTERFACE_INDEX => "ifidx",
            Self::NETLINK_ATTRIBUTE => "nla",
            Self::NESTED_ATTRIBUTE => "nlan",
            Self::MARK => "mark",
            Self::QUEUE => "queue",
            Self::HARDWARE_TYPE => "hatype",
            Self::RECEIVE_HASH => "rxhash",
            Self::CPU => "cpu",
            Self::XOR_X => "xor_x",
            Self::VLAN_TAG => "vlan_tci",
            Self::VLAN_TAG_PRESENT => "vlanp",
            Self::PAYLOAD_OFFSET => "poff",
            Self::RANDOM => "random",
            Self::VLAN_TPID => "vlan_tpid",
            _ => return None,
        })
    }

    /// The value that a load at offset `k` puts into `A`; `None` rejects the packet.
    pub(crate) fn load(&self, k: u32, a: u32, x: u32) -> Option<u32> {
        match k {
            Self::PACKET_TYPE => self.packet_type.map(u32::from),
            Self::INTERFACE_INDEX => self.interface_index,
            Self::QUEUE => self.queue,
            Self::XOR_X => Some(a ^ x),
            Self::VLAN_TAG => Some(u32::from(self.vlan_tag.unwrap_or(0))),
            Self::VLAN_TAG_PRESENT => Some(u32::from(self.vlan_tag.is_some())),
            _ => None,
        }
    }
}
